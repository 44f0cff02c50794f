"""A status is right through crashes: a new machine that hears the same world publishes the same (design, law 1)."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.machines.pod.builders import POLICY, READY, T0, observed, sandbox, synced, syncs, wanted
from tests.machines.pod.told import RESTART_ON_42, created, done, one, pod, runs, sidecar, unknown

from podherd.machines.pod.instructions import Instruction
from podherd.machines.pod.machine import ShardMachine
from podherd.model.pod import Pod
from podherd.wire.desired import Roster
from podherd.wire.observed import ContainerSeen, ObservedRoster, SandboxSeen

View = tuple[Iterable[SandboxSeen], Iterable[ContainerSeen]]
BOX = [sandbox()]
NEXT = [sandbox("s1", 1, created_at=T0 + 8), sandbox(ready=False)]
NEVER: dict[str, Any] = {"restart": "Never"}
RULED = one("main", restartPolicy="Never", restartPolicyRules=RESTART_ON_42)


def here(*containers: ContainerSeen) -> View:
    return BOX, containers


def moved(seen: ContainerSeen) -> ContainerSeen:
    return runs(seen.name, f"{seen.name}-1", attempt=seen.attempt + 1, sandbox_id="s1", created_at=T0 + 9)


WORLDS: dict[str, tuple[Pod, list[View]]] = {
    "it runs": (pod(), [here(), here(created("main")), here(runs("main"))]),
    "two run": (pod(("a", "b")), [here(runs("a")), here(runs("a"), runs("b"))]),
    "it ended well": (pod(restart="OnFailure"), [here(runs("main")), here(done("main"))]),
    "it ended badly": (pod(**NEVER), [here(runs("main")), here(done("main", 3, message="words"))]),
    "one of two ended": (pod(("a", "b"), **NEVER), [here(runs("a"), runs("b")), here(runs("a"), done("b", 1))]),
    "a rule forbids another run": (pod([RULED]), [here(runs("main")), here(done("main", 41))]),
    "it crashed and runs again": (
        pod(),
        [here(runs("main")), here(done("main", 1)), here(runs("main", "m1", attempt=1), done("main", 1))],
    ),
    "it is in unknown state": (pod(), [here(runs("main")), here(unknown("main"))]),
    "its init container runs": (pod(init=("a", "b")), [here(), here(runs("a"))]),
    "its second init container runs": (pod(init=("a", "b")), [here(runs("a")), here(done("a"), runs("b"))]),
    "its init container failed for good": (pod(init=("a",), **NEVER), [here(runs("a")), here(done("a", 1))]),
    "its init containers are done": (
        pod(init=("a", "b")),
        [here(runs("a")), here(done("a"), done("b")), here(done("a"), done("b"), runs("main"))],
    ),
    "its sidecar runs beside it": (
        pod(init=(sidecar("s"), "i")),
        [here(runs("s")), here(runs("s"), runs("i")), here(runs("s"), done("i"), runs("main"))],
    ),
    "its sidecar runs after it": (
        pod(init=(sidecar("s"),), **NEVER),
        [here(runs("s")), here(runs("s"), runs("main")), here(runs("s"), done("main"))],
    ),
    "it has an ephemeral container": (
        pod(debug=("d",)),
        [here(runs("main")), here(runs("main"), runs("d")), here(runs("main"), done("d", 1))],
    ),
    "its sandbox was replaced": (
        pod(),
        [here(runs("main")), (NEXT, [done("main", 137)]), (NEXT, [moved(runs("main")), done("main", 137)])],
    ),
    "its init containers run in a new sandbox": (
        pod(init=("i",)),
        [
            here(done("i"), runs("main")),
            (NEXT, [done("i"), done("main", 137)]),
            (NEXT, [moved(done("i")), done("i"), done("main", 137)]),
        ],
    ),
    "an API pod of a generation": (
        pod(source="api", metadata={"generation": 2}, readinessGates=[{"conditionType": "g"}]),
        [here(), here(runs("main", user=(1, 2, 3)))],
    ),
}


def drive(shard: ShardMachine, at: float, out: list[Instruction]) -> None:
    """Answer every sync: nothing was done, so that the next view alone says what has changed."""
    for sync in syncs(out):
        drive(shard, at, shard.handle(at, synced(sync, at, did=False)))


def grown(of: Pod, views: list[View]) -> Any:
    """The status of a machine that has seen it all."""
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, Roster((), True), ObservedRoster((), T0))
    drive(shard, T0 + 1, shard.handle(T0 + 1, wanted(of)))
    for at, (boxes, containers) in enumerate(views, start=2):
        drive(shard, T0 + at, shard.handle(T0 + at, observed(T0 + at, boxes, containers)))
    return next(iter(shard.published())).status


def reborn(of: Pod, view: View) -> Any:
    """The status of a machine that hears only how it stands, long after."""
    shard = ShardMachine(POLICY)
    seen = observed(T0 + 99, *view)
    out = shard.handle(T0 + 100, READY, wanted(of), Roster(("u1",), True), seen, ObservedRoster(("u1",), T0 + 99))
    drive(shard, T0 + 100, out)
    return next(iter(shard.published())).status


def without_times(status: Any) -> Any:
    conditions = [{**each, "lastTransitionTime": None} for each in status["conditions"]]
    return {**status, "conditions": conditions}


@pytest.mark.parametrize(("of", "views"), WORLDS.values(), ids=WORLDS)
def test_a_new_machine_says_the_same_when(of: Pod, views: list[View]) -> None:
    assert without_times(reborn(of, views[-1])) == without_times(grown(of, views))


@pytest.mark.parametrize(("of", "views"), WORLDS.values(), ids=WORLDS)
def test_the_same_view_again_says_nothing_new_when(of: Pod, views: list[View]) -> None:
    once = grown(of, views)
    assert grown(of, [*views, views[-1]]) == once
