"""What happens to a world: steps by name and number, random schedules by seed, and how one is run."""

import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from tests.flow.laws import LawBrokenError
from tests.flow.rest import check_rest, settle
from tests.flow.script import VARIANTS, api_body, ephemeral
from tests.flow.world import BACKUP, Manifest, World

NAMES = ("web", "job", "db")
LANES = (
    ("sources", "pod_shard-0"), ("sources", "pod_shard-1"), ("pleg", "pod_shard-0"), ("pleg", "pod_shard-1"),
    ("pod_shard-0", "pleg"), ("pod_shard-1", "pleg"), ("node", "pod_shard-0"), ("pod_shard-0", "server"),
    ("pod_shard-1", "sources"), ("pod_shard-1", "server"),
)  # fmt: skip
ACTORS = ("pod_shard-0", "pod_shard-1", "pleg", "sources", "node", "server", "status")
REFUSAL = "OutOfcpu", "Node didn't have enough resource: cpu"
Deed = Callable[[World, int], Any]


class Step(NamedTuple):
    """After `gap_s` do this; the number chooses on what."""

    gap_s: float
    name: str
    number: int


def _path(number: int) -> str:
    return f"/m/{NAMES[number % 3]}.json"


def _want(world: World, number: int) -> None:
    world.write(_path(number), Manifest(NAMES[number % 3], number % VARIANTS))


def _want_own_uid(world: World, number: int) -> None:
    name = NAMES[number % 3]
    world.write(_path(number), Manifest(name, number % VARIANTS, f"own-{name}"))


def _restore(world: World, number: int) -> None:
    if (was := world.was.get(_path(number))) is not None:
        world.write(_path(number), was)


def _garble(world: World, number: int) -> None:
    if _path(number) in world.files:
        world.write(_path(number), None)


def _backup(world: World, number: int) -> None:
    path = _path(number) + BACKUP
    if path in world.files:
        world.delete(path)
    else:
        world.write(path, Manifest(NAMES[number % 3], number // 3 % VARIANTS))


def _url(world: World, number: int) -> None:
    world.set_url([Manifest("url", number % VARIANTS)] if number % 4 else [])


def _api(world: World, number: int) -> None:
    """Make the API's pod, or change it: an image, an ephemeral container, a deletion."""
    if not world.api:
        return _api_new(world, number)
    uid, body = next(iter(world.api.items()))
    body = {**body, "metadata": dict(body["metadata"]), "spec": dict(body["spec"])}
    spec, metadata = body["spec"], body["metadata"]
    if number % 5 == 0:
        world.drop_api(uid)
        return None
    if number % 5 == 1:
        metadata |= {"deletionTimestamp": "2027-01-15T08:00:00Z", "deletionGracePeriodSeconds": number % 7}
    elif number % 5 == 2:
        first, *others = spec["containers"]
        spec["containers"] = [{**first, "image": f"reg.test/app:{number % 3}"}, *others]
    else:
        known = spec.get("ephemeralContainers", ())
        new = ephemeral(number, spec["containers"][0]["name"])
        spec["ephemeralContainers"] = [*known, *([] if new["name"] in {each["name"] for each in known} else [new])]
    return world.set_api(body)


def _api_new(world: World, number: int) -> None:
    """A name that is still in the runtime is not used again: the API server would not have let go of it."""
    uid = f"api-{number}-{int(world.timeline.now)}"
    if number % 7 == 0:
        world.refusals[uid] = REFUSAL
    world.set_api(api_body(f"api{number % 2}", uid, number % VARIANTS))


def _refuse(world: World, number: int) -> None:
    for uid in list(world.api)[: number % 2]:
        world.refuse(uid, REFUSAL)


def _evict(world: World, number: int) -> None:
    if uids := sorted(world.names.keys() & world.specs.keys()):
        world.evict(uids[number % len(uids)], (-1, 0, 1, 4)[number % 4])


def _crash(world: World, number: int) -> None:
    world.actors[ACTORS[number % len(ACTORS)]].crash(world.dice.uniform(0.5, 4.0))


def _crash_all(world: World, number: int) -> None:
    for name in ACTORS:
        world.actors[name].crash(world.dice.uniform(0.5, 4.0 + number % 5))


def _slow_lane(world: World, number: int) -> None:
    lane = LANES[number % len(LANES)]
    world.bus.delays[lane] = world.dice.choice((0.3, 2.0, 9.0, 40.0))
    world.timeline.after(world.dice.uniform(3.0, 30.0), lambda: world.bus.delays.pop(lane, None))


def _rough_bus(world: World, number: int) -> None:
    world.bus.p_lost, world.bus.p_twice = number % 3 * 0.1, number % 4 * 0.1

    def calm() -> None:
        world.bus.p_lost = world.bus.p_twice = 0.0

    world.timeline.after(world.dice.uniform(5.0, 30.0), calm)


def _rough_runtime(world: World, number: int) -> None:
    runtime, seconds = world.runtime, world.dice.uniform(3.0, 20.0)
    runtime.p_slow, runtime.p_fail = number % 3 * 0.2, number % 4 * 0.12
    world.roughen(seconds)

    def calm() -> None:
        runtime.p_slow = runtime.p_fail = 0.0

    world.timeline.after(seconds, calm)


def _away(world: World, number: int) -> None:
    seconds = world.dice.choice((0.5, 5.0, 20.0, 50.0))
    world.runtime.away = True
    world.roughen(seconds)

    def back() -> None:
        world.runtime.away = False
        if number % 8 == 0:
            _wipe(world, number)

    world.timeline.after(seconds, back)


def _wipe(world: World, _number: int) -> None:
    world.runtime.wipe()


def _no_network(world: World, _number: int) -> None:
    world.runtime.network = False
    world.timeline.after(world.dice.uniform(3.0, 20.0), lambda: setattr(world.runtime, "network", True))


def _no_image(world: World, number: int) -> None:
    image = f"reg.test/app:{number % 3}"
    world.runtime.images.discard(image)
    world.runtime.lacking.add(image)
    world.timeline.after(world.dice.uniform(5.0, 40.0), lambda: world.runtime.lacking.discard(image))


def _kill(world: World, number: int) -> None:
    if (proc := world.any_proc(number, "running")) is not None:
        world.runtime.end(proc, number % 3)


def _shim(world: World, number: int) -> None:
    if (proc := world.any_proc(number, "running")) is not None:
        world.runtime.lose_shim(proc, unknown=bool(number % 2))


def _box(world: World, number: int) -> None:
    """A sandbox dies, with or without what is in it."""
    boxes = [box for box in world.runtime.boxes.values() if box.ready]
    if not boxes:
        return
    box = boxes[number % len(boxes)]
    box.ready = False
    for proc in world.runtime.inside(box):
        if number % 2:
            world.runtime.end(proc, 137)


def _lose(world: World, number: int) -> None:
    """A container is removed behind our back, dead or alive."""
    if (proc := world.any_proc(number, "exited", "running")) is not None:
        world.runtime.end(proc, 137)
        world.runtime.lose(proc)


def _clock(world: World, number: int) -> None:
    world.step_clock((-3600.0, -30.0, -2.0, 5.0, 200.0)[number % 5])


STEPS: dict[str, tuple[int, Deed]] = {
    "want": (10, _want),
    "want own uid": (2, _want_own_uid),
    "drop": (4, lambda world, number: world.delete(_path(number))),
    "restore": (4, _restore),
    "garble": (2, _garble),
    "backup": (2, _backup),
    "url": (3, _url),
    "url away": (1, lambda world, number: setattr(world, "url_away", number % 3 == 0)),
    "url slow": (1, lambda world, number: setattr(world, "url_delay_s", number % 3 * 8.0)),
    "api": (7, _api),
    "evict": (3, _evict),
    "refuse": (1, _refuse),
    "crash": (10, _crash),
    "crash all": (2, _crash_all),
    "slow lane": (6, _slow_lane),
    "rough bus": (3, _rough_bus),
    "rough runtime": (4, _rough_runtime),
    "runtime away": (2, _away),
    "wipe": (1, _wipe),
    "no network": (1, _no_network),
    "no image": (2, _no_image),
    "kill": (4, _kill),
    "shim": (2, _shim),
    "box": (3, _box),
    "lose": (2, _lose),
    "clock": (1, _clock),
    "hints": (1, lambda world, number: setattr(world, "p_hint", number % 3 * 0.5)),
    "drain": (0, lambda world, _number: world.drain()),
}
_NAMES = [name for name, (weight, _) in STEPS.items() for _ in range(weight)]


def schedule_of(seed: int) -> list[Step]:
    """Two pods to begin with, then anything."""
    dice = Random(f"schedule {seed}")
    steps = [Step(0.0, "want", dice.randrange(1000)), Step(0.0, "want", dice.randrange(1000))]
    for _ in range(dice.randrange(5, 45)):
        gap_s = dice.choice((0.0, 0.05, 0.3, dice.expovariate(0.5), dice.expovariate(0.1)))
        steps.append(Step(gap_s, dice.choice(_NAMES), dice.randrange(1000)))
    if dice.random() < 0.04:
        steps.append(Step(1.0, "drain", 0))
    return steps


def run(seed: int, schedule: list[Step], tracing: bool = False) -> World:
    """The world after the schedule, at rest. Raises AssertionError where a law is broken; `world` hangs on it."""
    world = World(seed, tracing)
    try:
        world.begin()
        for step in schedule:
            world.timeline.run_until(world.timeline.now + step.gap_s)
            world.note("-", step)
            STEPS[step.name][1](world, step.number)
        settle(world)
        check_rest(world)
    except AssertionError as error:
        error.world = world  # type: ignore[attr-defined]
        raise
    return world


def failure_of(seed: int, schedule: list[Step]) -> str:
    """What breaks, empty when all laws hold."""
    try:
        run(seed, schedule)
    except LawBrokenError as error:
        return str(error) or "broken"
    except AssertionError as error:
        return f"{error}: {error.__cause__!r}"
    return ""


def kind_of(failure: str) -> str:
    """A failure without names and numbers."""
    return re.sub(r"\d\S*|'.*'|\b[a-k]\b", "", failure.split(":")[0])


def shrunk(seed: int, schedule: list[Step], tries: int = 200) -> list[Step]:
    """A shorter schedule that fails in the same way, found by leaving out ever smaller parts."""
    kind = kind_of(failure_of(seed, schedule))
    size = max(1, len(schedule) // 2)
    while size and tries:
        for start in range(0, len(schedule), size):
            shorter = schedule[:start] + schedule[start + size :]
            tries -= 1
            if kind_of(failure_of(seed, shorter)) == kind:
                schedule = shorter
                break
            if not tries:
                break
        else:
            size //= 2
    return schedule


def report(seed: int) -> str:
    """The failure of a seed with a short schedule and the end of its story."""
    schedule = shrunk(seed, schedule_of(seed))
    world: World | None = None
    try:
        run(seed, schedule, tracing=True)
        failure = "it fails no more"
    except AssertionError as error:
        world, failure = error.world, failure_of(seed, schedule)  # type: ignore[attr-defined]
    story = world.trace[-60:] if world is not None else []
    steps = "\n".join(map(repr, schedule))
    return "\n".join([f"seed {seed}: {failure}", steps, *story, f"seed {seed}: {failure}"])
