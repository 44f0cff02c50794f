"""A machine on a virtual clock, driven by a pretend shell whose runtime the test sets."""

from collections.abc import Callable

import pytest

from podherd.machines.pleg import events as heard
from podherd.machines.pleg import instructions as told
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.native.changes import ABSENT, CONTAINER, SANDBOX, Change
from podherd.wire.node import PlegHealth
from podherd.wire.observed import ContainerSeen, Observed, ObservedRoster, SandboxSeen

Pods = dict[str, dict[str, str]]


def box(ident: str, ready: bool = True, ips: tuple[str, ...] = ("10.0.0.1",)) -> SandboxSeen:
    return SandboxSeen(ident, 0, ready, 1.0, False, ips)


def container(ident: str, state: str) -> ContainerSeen:
    return ContainerSeen(ident, "web", "box", 0, state, 1.0, 1.0, 0.0, 0, "", "", "img", "img", {})


class Shell:
    """Performs instructions at a virtual time. `pods`: state by id of each pod in the runtime."""

    def __init__(self, rules: Rules) -> None:
        self.machine = PlegMachine(rules)
        self.now = 1000.0
        self.pods: Pods = {}
        self.listed: Pods = {}
        self.list_s = 0.0
        self.look_s: Callable[[str], float] = lambda _uid: 0.0
        self.deadline_s = 10.0
        self.list_fails = ""
        self.told: list[tuple[float, Observed]] = []
        self.rosters: list[tuple[float, int, ObservedRoster]] = []
        self.health: list[PlegHealth] = []
        self.relists: list[float] = []
        self.looks: list[tuple[float, str, str]] = []
        self.flying: dict[str, int] = {}
        self.most_flying: dict[str, int] = {}
        self._due: list[tuple[float, int, Callable[[], heard.Event]]] = []
        self._alarm: float | None = None
        self._serial = 0

    def hear(self, *events: heard.Event) -> None:
        for instruction in self.machine.handle(self.now, *events):
            self._perform(instruction)

    def run(self, seconds: float) -> None:
        """Let virtual time pass."""
        end = self.now + seconds
        while True:
            times = [due[0] for due in self._due] + ([self._alarm] if self._alarm is not None else [])
            if not times or min(times) > end:
                break
            self.now = max(self.now, min(times))
            self._step()
        self.now = end

    def _step(self) -> None:
        if self._alarm is not None and self._alarm <= self.now:
            self._alarm = None
            self.hear(heard.Woke())
            return
        self._due.sort(key=lambda due: due[:2])
        self.hear(self._due.pop(0)[2]())

    def _later(self, seconds: float, answer: Callable[[], heard.Event]) -> None:
        self._serial += 1
        self._due.append((self.now + seconds, self._serial, answer))

    def _perform(self, instruction: told.Instruction) -> None:
        match instruction:
            case told.Relist(at):
                self.relists.append(self.now)
                held = {uid: dict(states) for uid, states in self.pods.items()}
                self._later(self.list_s, lambda: self._relisted(at, held))
            case told.Locate(uid, at):
                held = {uid: dict(self.pods.get(uid, {}))}
                self._look("locate", uid, lambda: heard.Located(uid, at, held[uid]))
            case told.Inspect(uid, namespace, name, at, _):
                self._look("inspect", uid, lambda: heard.Inspected(self.view(uid, namespace, name, at)))
            case told.Tell(observed):
                self.told.append((self.now, observed))
            case told.TellRoster(shard, roster):
                self.rosters.append((self.now, shard, roster))
            case told.TellHealth(health):
                self.health.append(health)
            case told.WakeAt(at):
                self._alarm = at

    def _look(self, what: str, uid: str, answer: Callable[[], heard.Event]) -> None:
        self.looks.append((self.now, what, uid))
        self.flying[uid] = self.flying.get(uid, 0) + 1
        self.most_flying[uid] = max(self.most_flying.get(uid, 0), self.flying[uid])
        seconds = self.look_s(uid)

        def ended() -> heard.Event:
            self.flying[uid] -= 1
            if seconds < self.deadline_s:
                return answer()
            return heard.LookFailed(uid, "the runtime has not answered within 10 s")

        self._later(min(seconds, self.deadline_s), ended)

    def _relisted(self, at: float, held: Pods) -> heard.Event:
        if self.list_fails:
            return heard.RelistFailed(self.list_fails)
        changes = []
        for uid in sorted({*self.listed, *held}):
            old, new = self.listed.get(uid, {}), held.get(uid, {})
            for ident in sorted({*old, *new}):
                before, after = old.get(ident, ABSENT), new.get(ident, ABSENT)
                kind = SANDBOX if (before or after) in ("ready", "notready") else CONTAINER
                if before != after:
                    changes.append(Change(kind, ident, uid, "ns", uid, before, after))
        self.listed = held
        return heard.Relisted(at, changes, 1, 1)

    def view(self, uid: str, namespace: str, name: str, at: float) -> Observed:
        """What an inspection finds now."""
        states = self.pods.get(uid, {})
        boxes = tuple(
            box(i, s == "ready", ("10.0.0.1",) if s == "ready" else ()) for i, s in states.items() if "ready" in s
        )
        held = tuple(container(i, s) for i, s in states.items() if "ready" not in s)
        return Observed(uid, namespace, name, at, boxes, held)

    def last(self, uid: str) -> Observed:
        """What was told of a pod last."""
        return [observed for _, observed in self.told if observed.uid == uid][-1]

    def tells(self, uid: str) -> list[Observed]:
        return [observed for _, observed in self.told if observed.uid == uid]

    def inspections(self, uid: str) -> int:
        return sum(1 for _, what, looked in self.looks if looked == uid and what == "inspect")


@pytest.fixture
def shell() -> Shell:
    return Shell(Rules(shards=2, relist_s=1.0))


@pytest.fixture
def started(shell: Shell) -> Shell:
    """One that has listed an empty runtime."""
    shell.hear(heard.Woke())
    shell.run(0.5)
    return shell
