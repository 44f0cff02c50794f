"""Every message of every lane survives the wire; what is not one of ours is refused."""

import contextlib
import dataclasses
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podherd.errors import WireError
from podherd.wire import codec, routes
from podherd.wire.control import Drain, Hello
from podherd.wire.desired import Desired, Roster
from podherd.wire.observed import Observed

KINDS = sorted({kind for kinds in routes.ROUTES.values() for kind in kinds}, key=lambda kind: kind.__name__)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a message field's declared type."""
    if dataclasses.is_dataclass(hint):
        return messages_of(hint)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    if get_origin(hint) is dict:
        return st.dictionaries(values_of(str), values_of(str), max_size=3)
    return {
        str: st.text(max_size=8),
        bytes: st.binary(max_size=8),
        bool: st.booleans(),
        int: st.integers(-(2**63), 2**63 - 1),
        float: st.floats(allow_nan=False),
    }[hint]


def messages_of(kind: type) -> st.SearchStrategy[Any]:
    """Any message of this kind."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in dataclasses.fields(kind)})


@given(st.lists(st.one_of([messages_of(kind) for kind in KINDS]), max_size=5))
def test_every_message_of_every_route_comes_out_as_it_went_in(messages: list[Any]) -> None:
    batch = codec.decode(codec.encode("pleg", messages))
    assert batch == ("pleg", messages)


@given(st.binary(max_size=64))
def test_any_other_bytes_are_a_wire_error_or_a_frame(data: bytes) -> None:
    with contextlib.suppress(WireError):
        codec.decode(data)


def test_a_cut_frame_is_refused_at_every_length() -> None:
    frame = codec.encode("sources", [Desired("u", "ns", "n", "file", b"body", "cause"), Roster(("u",), True)])
    for end in range(len(frame)):
        with pytest.raises(WireError):
            codec.decode(frame[:end])


def test_a_frame_of_another_version_is_refused_with_both_versions() -> None:
    frame = codec.pack([codec.VERSION + 1, "pleg", []])
    with pytest.raises(WireError, match=f"version {codec.VERSION + 1}, this actor reads {codec.VERSION}"):
        codec.decode(frame)


def test_a_value_that_no_lane_carries_is_refused_by_name() -> None:
    with pytest.raises(WireError, match="object"):
        codec.encode("pleg", [Observed("u", "ns", "n", 1.0, (object(),), ())])  # type: ignore[arg-type]
    with pytest.raises(WireError):
        codec.encode("pleg", ["not a message"])


def test_a_route_that_is_not_in_the_table_is_refused() -> None:
    routes.check("pod_shard-3", "pleg", Hello)
    with pytest.raises(WireError, match="no route for Drain"):
        routes.check("pod_shard-3", "pleg", Drain)
    with pytest.raises(WireError, match="no route"):
        routes.check("node", "sources", Hello)
