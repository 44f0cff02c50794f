"""Messages to frames and back: a frame is one msgpack array `[version, sender, [[kind, [field…]]…]]`.

A message is its fields in order; nested messages (ContainerSeen in Observed) are arrays too, rebuilt by the
field's declared type. Unknown extra fields of a newer sender are refused: the versions differ first.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import msgpack

from podherd.errors import WireError
from podherd.wire import api, control, desired, evict, node, objects, observed, status

VERSION = 1
Message: TypeAlias = Any
"""Any dataclass of a lane file; the union would say no more than the registry below."""

_NESTED = (observed.SandboxSeen, observed.ContainerSeen, node.Taint, objects.Ref)
_KINDS: tuple[type, ...] = (
    desired.Desired, desired.Gone, desired.Roster,
    observed.Observed, observed.ObservedRoster, observed.Reinspect,
    status.StatusChanged, status.PodForgotten, status.PodEvent, status.SourceProblem,
    control.Hello, control.Ask, control.Answer, control.Drain, control.Drained,
    node.PlegHealth, node.NodeState, node.RuntimeState,
    api.ApiPod, api.ApiPodGone, api.ApiRoster,
    objects.Needs, objects.ObjectState,
    evict.Evict,
    status.PodOver, status.NodeEvent,
    node.NodeFacts, node.VolumesInUse,
)  # fmt: skip


class Batch(NamedTuple):
    """What one frame holds."""

    sender: str
    messages: list[Message]


def _packer(kind: type) -> Callable[[Any], Any]:
    names = [f.name for f in fields(kind)]
    if not names:
        return lambda _message: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda message: (get(message),)


def _nested_kind(hint: Any) -> type | None:
    inner = get_args(hint)[0] if get_origin(hint) is tuple else None
    return inner if inner in _NESTED else None


def _unpacker(kind: type) -> Callable[[tuple[Any, ...]], Any]:
    hints = get_type_hints(kind)
    nested = [_nested_kind(hints[f.name]) for f in fields(kind)]
    if not any(nested):
        return lambda values: kind(*values)

    def unpack(values: tuple[Any, ...]) -> Any:
        pairs = zip(nested, values, strict=True)
        return kind(*(tuple(inner(*item) for item in value) if inner else value for inner, value in pairs))

    return unpack


_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_PACK = {kind: _packer(kind) for kind in (*_KINDS, *_NESTED)}
_UNPACK = [_unpacker(kind) for kind in _KINDS]


def _nested(value: Any) -> Any:
    try:
        return _PACK[type(value)](value)
    except KeyError:
        raise TypeError(f"{type(value).__name__} cannot travel in a frame") from None


def encode(sender: str, messages: Iterable[Message]) -> bytes:
    """One frame with these messages in order. Raises WireError for a type or value that no lane carries."""
    try:
        body = [(_NUMBER[type(m)], _PACK[type(m)](m)) for m in messages]
        return msgpack.packb((VERSION, sender, body), default=_nested)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise WireError(f"frame of {sender}", f"cannot be encoded: {error}") from error


def decode(frame: bytes) -> Batch:
    """The sender and messages of one frame. Raises WireError for anything that `encode` did not write."""
    try:
        version, sender, body = msgpack.unpackb(frame, use_list=False, strict_map_key=False)
        if version != VERSION:
            raise WireError(f"frame of {sender}", f"version {version}, this actor reads {VERSION}", "restart the agent")
        return Batch(sender, [_UNPACK[number](values) for number, values in body])
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise WireError("frame", f"cannot be decoded: {error}") from error


def pack(value: Any) -> bytes:
    """A bare value (an API object, the arguments of a question) as msgpack."""
    return msgpack.packb(value)


def unpack(data: bytes) -> Any:
    """The value that `pack` wrote."""
    return msgpack.unpackb(data, strict_map_key=False)
