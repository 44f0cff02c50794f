"""Every event and instruction of every machine survives the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from tests.kit.pods import pod

from podherd.errors import WireError
from podherd.journal import kinds
from podherd.machines import node_events, node_instructions
from podherd.machines.pleg import events as pleg_events
from podherd.machines.pleg import instructions as pleg_instructions
from podherd.machines.pod import events as pod_events
from podherd.machines.pod import instructions as pod_instructions
from podherd.machines.pod.policy import Policy
from podherd.machines.sources import events as sources_events
from podherd.machines.sources import instructions as sources_instructions
from podherd.model.pod import Pod
from podherd.native.changes import Change
from podherd.steps.deeds import Deed

UNIONS: tuple[UnionType, ...] = (
    pod_events.Event, pod_events.StepResult, pod_instructions.Instruction,
    sources_events.Event, sources_instructions.Instruction,
    pleg_events.Event, pleg_instructions.Instruction,
    node_events.Event, node_instructions.Instruction,
)  # fmt: skip
EVERY = sorted({kind for union in UNIONS for kind in get_args(union)} | {Policy, Deed}, key=str)
WITH_BODIES = (
    pod_instructions.Sync,
    pod_instructions.Plan,
    pod_instructions.KillContainer,
    pod_instructions.Publish,
)


def sample(hint: Any, number: int) -> Any:
    """A value of this type; every second one has its optional parts."""
    if hint is Pod:
        return pod(name=f"pod-{number}")
    if hint is Change:
        return Change("container", f"c{number}", "u", "ns", "web", "running", "exited")
    if isinstance(hint, type) and is_dataclass(hint):
        return instance(hint, number)
    if hint is Exception:
        return ValueError(f"no {number}")
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (tuple, Sequence):
        return tuple(sample(inner[0], number + each) for each in range(2))
    if origin in (dict, Mapping):
        return {f"k\udce9{number}": sample(inner[1], number), "list": sample(inner[1], number)}
    if inner:
        return sample(inner[number % len(inner)], number)
    plain: dict[Any, Any] = {
        str: f"word {number} \udce9", bytes: b"\xff\x00", int: 2**40 + number, float: 1.5 + number,
        bool: bool(number % 2), type(None): None, Any: {"deep": [number, None, {"x": 1.25}]},
    }  # fmt: skip
    return plain[hint]


def instance(kind: type, number: int) -> Any:
    hints = get_type_hints(kind)
    return kind(**{field.name: sample(hints[field.name], number) for field in fields(kind)})


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: f"{kind.__module__.rpartition('.')[0][17:]}.{kind.__name__}")
def test_every_event_and_instruction_comes_back_as_it_was(kind: type) -> None:
    for number in range(4):
        it = instance(kind, number)
        back = kinds.built(kinds.plain(it))
        if kind is pod_instructions.Fault:
            assert back == replace(it, error=f"ValueError: no {number}")
        elif kind in WITH_BODIES:  # lists in an API object come back as tuples
            expected = replace(it, pod=None) if kind is pod_instructions.Sync else it
            assert kinds.plain(back) == kinds.plain(expected)
        else:
            assert back == it


def test_a_plan_that_differs_only_in_its_reason_is_another_one_in_the_journal() -> None:
    first, second = pod_instructions.Plan(why="a"), pod_instructions.Plan(why="b")
    assert kinds.plain(first) != kinds.plain(second)


def test_what_is_not_registered_is_refused() -> None:
    with pytest.raises(TypeError, match="object is not registered"):
        kinds.plain(object())


@pytest.mark.parametrize("array", [(9999, "x"), ("x",), (), 7])
def test_a_kind_that_is_not_known_is_an_error_of_the_journal(array: Any) -> None:
    with pytest.raises(WireError):
        kinds.built(array)
