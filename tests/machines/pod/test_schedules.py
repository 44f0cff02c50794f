"""Random schedules of a whole pretend node against the machine's laws; and seeded faults that the laws must catch."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.machines.pod.shapes import DEBUG, HOOKED, INIT, LATE, PAIRS, PLAIN, RULED, SHAPES, SIDECARS
from tests.machines.pod.world import NAMES, World

from podherd.machines.pod import advance, deadline, init, init_order, plan, restart, stop_order
from podherd.machines.pod.decision import Case
from podherd.machines.pod.hear import Hear
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.init_order import Turn
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.machines.pod.record import RUNNING, Record
from podherd.machines.pod.sandbox import SandboxNeed, sandbox_need
from podherd.model.pod import Container, Pod
from podherd.wire.node import RuntimeState
from podherd.wire.observed import ContainerSeen, SandboxSeen

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
    "crash": lambda world, n: world.happen(n, lambda held: world.exit(held, 1, n // 2)),
    "init ends": lambda world, _: world.end_inits(),
    "end well": lambda world, n: world.happen(n, lambda held: world.exit(held, 0, n // 2)),
    "sandbox dies": lambda world, n: world.happen(
        n, lambda held: world.kill_sandbox(held, held.sandboxes[-1].id) if held.sandboxes else None
    ),
    "pause dies": lambda world, n: world.happen(n, world.stop_pause),
    "lose": lambda world, n: world.happen(n, world.lose),
    "vanish": lambda world, n: world.happen(n, world.vanish),
    "round": lambda world, _: world.round(),
    "tick": _tick,
    "image": _break_image,
    "runtime": _runtime_state,
    "restart shard": lambda world, n: world.restart_shard(bool(n % 2), n // 6),
    "restart pleg": _restart_pleg,
    "garble": lambda world, n: world.garble(NAMES[n % 2]),
    "drain": lambda world, n: world.drain() if n == 15 else None,
}
OFTEN = [
    "round",
    "round",
    "round",
    "init ends",
    "sources",
    "seen",
    "relist",
    "finish",
    "finish",
    "seen",
    "relist",
    "seen again",
    "tick",
]
SCHEDULES = st.lists(
    st.tuples(st.sampled_from([*STEPS, *OFTEN]), st.integers(min_value=0, max_value=15)), min_size=40, max_size=200
)


def run(schedule: list[Step], shapes: Sequence[int] = range(len(SHAPES))) -> World:
    world = World(shapes)
    for step, number in [("want", 1), ("want", 0), *schedule]:
        STEPS[step](world, number % 8 if step == "tick" else number)
        world.fire_wakes()
    world.settle()
    world.check_settled()
    return world


FOUND: dict[str, list[Step]] = {
    # The pretend node took a late view of a forgotten pod as the proof of a run that the next life had to respect.
    "a pod of the same uid comes back while it is cleared away": [
        ("drop", 1),
        ("garble", 8),
        ("restart shard", 9),
        ("seen", 10),
        ("want", 3),
        ("sources", 11),
        ("restart shard", 1),
        ("end well", 9),
        ("seen", 14),
        ("sandbox dies", 14),
        ("relist", 10),
        ("drop", 15),
        ("sources", 14),
        ("seen", 6),
        ("crash", 4),
        ("seen", 4),
        ("sources", 8),
        ("relist", 11),
        ("finish", 0),
        ("seen", 2),
        ("restore", 5),
    ],
    "a late view of a forgotten pod comes before its next life": [
        ("want", 5),
        ("restart shard", 11),
        ("sources", 1),
        ("seen", 12),
        ("drop", 13),
        ("restart shard", 3),
        ("sandbox dies", 0),
        ("restart shard", 7),
        ("sources", 10),
        ("seen", 9),
        ("lose", 6),
        ("relist", 14),
        ("seen", 2),
        ("finish", 9),
        ("restore", 3),
        ("tick", 10),
    ],
}


@pytest.mark.parametrize("found", FOUND)
def test_what_was_found_stays_mended(found: str) -> None:
    run(FOUND[found], PLAIN)


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


def _is_broken(schedule: list[Step], shapes: Sequence[int] = range(len(SHAPES))) -> bool:
    try:
        run(schedule, shapes)
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


def _anywhere(record: Record, container: Container) -> ContainerSeen | None:
    return record.newest.get(container.name)


def _debug_again(case: Case, _decision: object) -> list[StartContainer]:
    newest, attempts = case.record.newest, case.record.attempts
    return [
        StartContainer(each.name, attempts.get(each.name, -1) + 1)
        for each in case.pod.ephemeral_containers
        if each.name not in newest or newest[each.name].state != RUNNING
    ]


FAULTS: dict[str, tuple[Sequence[int], object, str, object]] = {
    "a view older than the last deed counts": (
        PLAIN,
        Record,
        "fresh",
        property(lambda self: self.known_at is not None),
    ),
    "editions of one pod do not wait": (PLAIN, advance, "must_wait", lambda *_: False),
    "an ending pod is left as it is": (PLAIN, advance, "_end", lambda *_: Plan()),
    "the restart policy is not kept": (PLAIN, restart, "may_restart", lambda *_: True),
    "a lost run is forgotten": (PAIRS, Record, "_remember_lost", lambda *_: None),
    "a running container is started again": (PLAIN, plan, "judge", lambda *_: restart.START),
    "a listed pod without a view counts as absent": (
        PLAIN,
        Herd,
        "knows_runtime",
        lambda self: self.roster_at is not None,
    ),
    "a decision throws": (PLAIN, advance, "plan", _throws),
    "an event throws": (PLAIN, Record, "want", _throws),
    "a drain is over before anything is known": (PLAIN, Herd, "knows_runtime", lambda _herd: True),
    "a drain is over at once": (PLAIN, Herd, "is_ours", lambda *_: False),
    "a dead sandbox is overlooked": (PLAIN, plan, "sandbox_need", _only_ready),
    "the app does not wait for init containers": (INIT, plan, "initialised", lambda *_: True),
    "init containers run again beside the app": (INIT, init_order, "here", lambda *_: None),
    "an app of an old sandbox proves initialisation": (INIT, init, "here", _anywhere),
    "sidecars are not restarted": (SIDECARS, plan, "keep_sidecars", lambda *_: Turn(ready=True)),
    "sidecars do not wait for the app": (SIDECARS, stop_order, "turns", lambda *_: {}),
    "a hook runs whenever a container is stopped": (HOOKED, stop_order, "may_hook", lambda *_: True),
    "every order has the whole grace": (PLAIN, advance, "note_kills", lambda *_: None),
    "the deadline is overlooked": (LATE, deadline, "deadline_at", lambda *_: None),
    "a rule restarts only its own container": (RULED, plan, "restart_all", lambda *_: None),
    "a restart of all goes on for ever": (RULED, Record, "_drop_restarted", lambda *_: None),
    "an ephemeral container is restarted": (DEBUG, plan, "ephemeral_starts", _debug_again),
    "directories that are left behind stay": (PLAIN, Hear, "left_behind", lambda *_: []),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes, where, name, wrong = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong)
    assert any(_is_broken(schedule, shapes) for schedule in _schedules(600))


def test_without_a_fault_the_same_schedules_hold() -> None:
    assert not any(_is_broken(schedule) for schedule in _schedules(200))
