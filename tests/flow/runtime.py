"""A pretend container runtime in virtual time. It asserts at every deed what may never happen (`laws`)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from tests.flow.script import Program
from tests.flow.timeline import Cancelled, Latch, Timeline, wait

from podherd.errors import CriError

if TYPE_CHECKING:
    from tests.flow.laws import Laws

T = TypeVar("T")
LIVE = ("running", "unknown")


@dataclass(eq=False)
class Box:
    """A pod sandbox. done: init containers that ended well in it; began: containers that were started in it."""

    id: str
    uid: str
    name: str
    attempt: int
    created_at: float
    host_network: bool
    source: str
    ready: bool = True
    ip: str = ""
    done: set[str] = field(default_factory=set)
    began: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Proc:
    """A container. since: the timeline when it began to run. always: it shall run for ever once all is well.

    lost_at: when it was taken away behind the agent's back.
    """

    id: str
    box: Box
    name: str
    kind: str
    attempt: int
    image: str
    annotations: dict[str, str]
    program: Program
    always: bool
    created_at: float
    ended: Latch
    state: str = "created"
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""
    since: float = 0.0
    ended_at: float = 0.0
    by_itself: bool = False
    lost_at: float = inf


class Runtime:
    """away: no call is answered. p_slow, p_fail: the weather. calm: programs that fail do so no more."""

    def __init__(self, timeline: Timeline, wall: Callable[[], float], dice: Random, laws: "Laws") -> None:
        self.timeline = timeline
        self.boxes: dict[str, Box] = {}
        self.procs: dict[str, Proc] = {}
        self.images: set[str] = set()
        self.lacking: set[str] = set()
        self.away = self.calm = False
        self.network = True
        self.p_slow = self.p_fail = 0.0
        self.changes = 0
        self.told: Callable[[str, object], None] = lambda _what, _result: None
        self.on_stopped: Callable[[str, str], None] = lambda _uid, _id: None
        self._wall = wall
        self._dice = dice
        self._laws = laws
        self._serial = 0

    def ident(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}{self._serial}"

    # Calls: their time, their failures, and what is left of one that is cut off.

    async def call(self, what: str, effect: Callable[[], T]) -> T:
        """The effect comes at the end; a call that is cut off has it or has it not. Raises CriError."""
        if self.away:
            await wait(None, 0.01)
            raise CriError(what, "UNAVAILABLE", "the runtime is away")
        fault = self._dice.random() < self.p_fail and self._dice.choice(("before", "after"))
        try:
            await wait(None, self._latency_s())
        except (GeneratorExit, Cancelled):
            self._laws.tried.add("cut off")
            if self._dice.random() < 0.5 and not self.away:
                self._quietly(effect)
            raise
        if self.away or fault == "before":
            raise CriError(what, "UNAVAILABLE", "the runtime stumbled")
        result = effect()
        if not what.startswith(("List", "Status")):
            self.told(what, result)
        if fault:
            raise CriError(what, "DEADLINE_EXCEEDED", "no answer in time")
        return result

    def _latency_s(self) -> float:
        if self._dice.random() < self.p_slow:
            return self._dice.uniform(0.3, 6.0)
        return 0.004 + 0.02 * self._dice.random()

    @staticmethod
    def _quietly(effect: Callable[[], Any]) -> None:
        try:
            effect()
        except CriError:
            return

    # Sandboxes.

    def make_box(self, uid: str, name: str, attempt: int, host_network: bool, source: str) -> str:
        if not self.network and not host_network:
            raise CriError(name, "UNKNOWN", "no network")
        if any(box.uid == uid and box.attempt == attempt for box in self.boxes.values()):
            raise CriError(name, "UNKNOWN", "the name is reserved")
        box = Box(self.ident("s"), uid, name, attempt, self._wall(), host_network, source)
        box.ip = "192.0.2.1" if host_network else f"10.0.0.{self._serial % 250 + 1}"
        self._laws.box_made(box, self.boxes.values())
        self.boxes[box.id] = box
        return box.id

    def stop_box(self, box_id: str) -> None:
        box = self._box(box_id)
        for proc in self.inside(box):
            if proc.state in LIVE:
                self._laws.stopped_by_box(proc)
                self.end(proc, 137)
        box.ready = False

    def remove_box(self, box_id: str) -> None:
        box = self._box(box_id)
        for proc in self.inside(box):
            self._laws.removed(proc)
            del self.procs[proc.id]
        del self.boxes[box_id]

    def inside(self, box: Box) -> list[Proc]:
        return [proc for proc in self.procs.values() if proc.box is box]

    def of(self, uid: str) -> list[Proc]:
        return [proc for proc in self.procs.values() if proc.box.uid == uid]

    def _box(self, box_id: str) -> Box:
        if (box := self.boxes.get(box_id)) is None:
            raise CriError(box_id, "NOT_FOUND", "no such sandbox")
        return box

    # Containers.

    def make_proc(self, box_id: str, **what: Any) -> str:
        box = self._box(box_id)
        if not box.ready:
            raise CriError(box_id, "FAILED_PRECONDITION", "the sandbox is not ready")
        for other in self.of(box.uid):
            if (other.name, other.attempt) == (what["name"], what["attempt"]):
                raise CriError(other.name, "UNKNOWN", "the name is reserved")
        latch = Latch(self.timeline)
        proc = Proc(id=self.ident("c"), box=box, created_at=self._wall(), ended=latch, **what)
        self.procs[proc.id] = proc
        return proc.id

    def start(self, proc_id: str) -> None:
        proc = self._proc(proc_id)
        if proc.state != "created" or not proc.box.ready:
            raise CriError(proc_id, "FAILED_PRECONDITION", "cannot be started")
        self._laws.starting(proc)
        proc.state, proc.started_at, proc.since = "running", self._wall(), self.timeline.now
        proc.box.began.add(proc.name)
        if (life_s := proc.program.life_s) is not None:
            self.timeline.after(life_s, lambda: self._lived(proc))

    def _lived(self, proc: Proc) -> None:
        code = proc.program.code(proc.attempt)
        if proc.state != "running" or (self.calm and proc.always):
            return
        proc.by_itself = True
        self.end(proc, 0 if self.calm else code)

    def end(self, proc: Proc, code: int) -> None:
        """The process is dead."""
        if proc.state == "exited":
            return
        self.changes += 1
        proc.state, proc.exit_code, proc.reason = "exited", code, "Error" if code else "Completed"
        proc.finished_at, proc.ended_at = self._wall(), self.timeline.now
        if not code:
            proc.box.done.add(proc.name)
        self.told("ended", f"{proc.id} {proc.name} of {proc.box.name}: {code}")
        self._laws.ended_proc(proc)
        proc.ended.set()
        self.on_stopped(proc.box.uid, proc.id)

    def lose_shim(self, proc: Proc, unknown: bool) -> None:
        """The shim dies and the process with it; the runtime then knows its end, or does not."""
        if proc.state == "running":
            self.end(proc, 255)
            if unknown:
                proc.state, proc.finished_at, proc.exit_code, proc.reason = "unknown", 0.0, 0, ""

    async def stop(self, proc_id: str, timeout_s: float) -> None:
        """SIGTERM, then SIGKILL after the timeout. Raises CriError."""
        await self.call("StopContainer", lambda: self._term(self._proc(proc_id)))
        proc = self.procs.get(proc_id)
        if proc is None or proc.state != "running" or await wait(proc.ended, timeout_s):
            return
        if self.away:
            raise CriError(proc_id, "UNAVAILABLE", "the runtime went away")
        self.end(proc, 137)

    def _term(self, proc: Proc) -> None:
        if proc.state == "unknown":
            self.end(proc, 255)
        term_s = proc.program.term_s
        if proc.state == "running" and term_s is not None:
            self.timeline.after(term_s, lambda: self.end(proc, 143))

    def remove(self, proc_id: str) -> None:
        proc = self._proc(proc_id)
        self._laws.removed(proc)
        del self.procs[proc_id]

    def _proc(self, proc_id: str) -> Proc:
        if (proc := self.procs.get(proc_id)) is None:
            raise CriError(proc_id, "NOT_FOUND", "no such container")
        return proc

    def lose(self, proc: Proc) -> None:
        """The container is gone, and what is known of its end."""
        proc.lost_at = self.timeline.now
        del self.procs[proc.id]

    def wipe(self) -> None:
        """Everything that it held is gone."""
        for proc in list(self.procs.values()):
            proc.ended.set()
            proc.state = "exited"
            self.lose(proc)
        self.boxes, self.images = {}, set()
