"""Random schedules of a whole pretend node against the machine's laws; and seeded faults that the laws must catch."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.machines.pod.world import NAMES, World

from podherd.machines.pod import advance, plan, restart
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.record import Record
from podherd.machines.pod.sandbox import SandboxNeed, sandbox_need
from podherd.model.pod import Pod
from podherd.wire.node import RuntimeState
from podherd.wire.observed import SandboxSeen

Step = tuple[str, int]


def _runtime_state(world: World, number: int) -> None:
    world.network, world.runtime_up = bool(number & 1), number % 4 != 2
    world.feed(RuntimeState(world.runtime_up, world.network, "down", ""))


def _tick(world: World, number: int) -> None:
    world.deliver_overtaken()
    world.now += 2.0**number
    world.fire_wakes()


def _sources(world: World, number: int) -> None:
    for _ in range(min(1 + number % 3, len(world.source_lane))):
        world.feed(world.source_lane.popleft())


def _restart_pleg(world: World, number: int) -> None:
    world.deliver_overtaken()
    world.restart_pleg(number // 6)


def _break_image(world: World, number: int) -> None:
    world.image_broken = number % 3 == 0


STEPS: dict[str, Callable[[World, int], Any]] = {
    "want": lambda world, n: world.want(NAMES[n % 2], n // 2),
    "drop": lambda world, n: world.drop(NAMES[n % 2]),
    "restore": lambda world, n: world.restore(NAMES[n % 2]),
    "sources": _sources,
    "seen": lambda world, _: world.deliver_seen(),
    "seen again": lambda world, n: world.deliver_old(n),
    "relist": lambda world, _: world.relist(),
    "finish": lambda world, n: world.finish(n),
    "crash": lambda world, n: world.happen(n, lambda held: world.exit(held, 1)),
    "end well": lambda world, n: world.happen(n, lambda held: world.exit(held, 0)),
    "sandbox dies": lambda world, n: world.happen(
        n, lambda held: world.kill_sandbox(held, held.sandboxes[-1].id) if held.sandboxes else None
    ),
    "pause dies": lambda world, n: world.happen(n, world.stop_pause),
    "lose": lambda world, n: world.happen(n, world.lose),
    "vanish": lambda world, n: world.happen(n, world.vanish),
    "tick": _tick,
    "image": _break_image,
    "runtime": _runtime_state,
    "restart shard": lambda world, n: world.restart_shard(bool(n % 2), n // 6),
    "restart pleg": _restart_pleg,
    "garble": lambda world, n: world.garble(NAMES[n % 2]),
    "drain": lambda world, n: world.drain() if n == 15 else None,
}
OFTEN = ["sources", "seen", "relist", "finish", "finish", "seen", "relist", "seen again", "tick"]
SCHEDULES = st.lists(
    st.tuples(st.sampled_from([*STEPS, *OFTEN]), st.integers(min_value=0, max_value=15)), min_size=40, max_size=200
)


def run(schedule: list[Step]) -> World:
    world = World()
    for step, number in [("want", 1), ("want", 0), *schedule]:
        STEPS[step](world, number % 8 if step == "tick" else number)
        world.fire_wakes()
    world.settle()
    world.check_settled()
    return world


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEDULES)
def test_the_laws_hold_under_any_schedule(schedule: list[Step]) -> None:
    run(schedule)


@settings(max_examples=50, deadline=None)
@given(SCHEDULES)
def test_a_settled_node_stays_as_it_is(schedule: list[Step]) -> None:
    world = run(schedule)
    before = world.syncs
    for _ in range(3):
        world.now += 100
        world.fire_wakes()
    assert world.syncs == before


def _is_broken(schedule: list[Step]) -> bool:
    try:
        run(schedule)
    except AssertionError:
        return True
    return False


def _schedules(count: int) -> Iterator[list[Step]]:
    """The same random schedules every time."""
    for seed in range(count):
        dice = Random(seed)
        yield [(dice.choice([*STEPS, *OFTEN]), dice.randrange(16)) for _ in range(dice.randrange(20, 200))]


def _only_ready(pod: Pod, sandboxes: tuple[SandboxSeen, ...]) -> SandboxNeed:
    return sandbox_need(pod, [each for each in sandboxes if each.ready])


def _throws(*_: object) -> None:
    raise RuntimeError("a fault")


FAULTS: dict[str, tuple[object, str, object]] = {
    "a view older than the last deed counts": (
        Record,
        "fresh",
        property(lambda self: self.known_at is not None),
    ),
    "editions of one pod do not wait": (advance, "must_wait", lambda *_: False),
    "an ending pod is left as it is": (advance, "_end", lambda *_: Plan()),
    "the restart policy is not kept": (restart, "may_restart", lambda *_: True),
    "a lost run is forgotten": (Record, "_remember_lost", lambda *_: None),
    "a running container is started again": (plan, "judge", lambda *_: restart.START),
    "a listed pod without a view counts as absent": (Herd, "knows_runtime", lambda self: self.roster_at is not None),
    "a decision throws": (advance, "plan", _throws),
    "an event throws": (Record, "want", _throws),
    "a drain is over before anything is known": (Herd, "knows_runtime", lambda _herd: True),
    "a drain is over at once": (Herd, "is_ours", lambda *_: False),
    "a dead sandbox is overlooked": (plan, "sandbox_need", _only_ready),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong)
    assert any(_is_broken(schedule) for schedule in _schedules(600))


def test_without_a_fault_the_same_schedules_hold() -> None:
    assert not any(_is_broken(schedule) for schedule in _schedules(200))
