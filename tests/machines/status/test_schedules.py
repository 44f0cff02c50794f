"""Random lives: whatever fails, lags or dies on the way, in the end the API holds what the node says."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.machines.status.api_model import ApiModel
from tests.machines.status.made import NODE, T0, T1, condition, container, facts, local, static, status

from podherd.errors import ApiError
from podherd.machines.status import StatusMachine
from podherd.machines.status.events import Deleted, Failed, MirrorMade, Outcome, Patched, Woke
from podherd.machines.status.instructions import CreateMirror, DeletePod, PatchStatus, Request, WakeAt
from podherd.machines.status.merge import merge
from podherd.machines.status.restarts import restarts_of
from podherd.wire import codec
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.status import PodForgotten, StatusChanged

NAMES = ("a", "b", "static")
STATUSES = (
    status("Pending", container("waiting")),
    status("Running", container()),
    status("Running", container(), podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}]),
    status("Running", container(), conditions=[condition("Ready", "False", T1, reason="ContainersNotReady")]),
    status("Failed", container(), reason="DeadlineExceeded"),
    status("Failed", container("terminated", exit_code=1), reason="DeadlineExceeded"),
    status("Succeeded", container("terminated")),
)
MEDDLING = ({"message": "mine"}, {"containerStatuses": []}, {"conditions": [condition("theirs", "True")]})
ACTS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(NAMES), st.sampled_from(STATUSES)),
    st.tuples(st.just("land"), st.integers(0, 3), st.sampled_from(("ok", "ok", "lost", "never", "busy"))),
    st.tuples(st.just("watch"), st.integers(1, 4), st.none()),
    st.tuples(st.just("wait"), st.sampled_from((0.5, 3.0, 20.0)), st.none()),
    st.tuples(st.just("meddle"), st.sampled_from(NAMES), st.sampled_from(MEDDLING)),
    st.tuples(st.just("end"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("edit"), st.none(), st.none()),
    st.tuples(st.just("die"), st.none(), st.none()),
)


class World:
    """A node with two API pods and a static one. Requests of a dead machine may land long after it."""

    def __init__(self) -> None:
        self.api = ApiModel()
        self.now = 0.0
        self.machine = StatusMachine(NODE, most=2)
        self.flights: list[tuple[StatusMachine, Request]] = []
        self.wake: float | None = None
        self.statics = [static("s0", "static")]
        self.said: dict[str, StatusChanged] = {}
        for name in NAMES[:2]:
            self.api.create(name)
        self.api.tell(100)
        self.begin()

    def begin(self) -> None:
        """An actor that knows nothing, and all that it is told."""
        self.machine, self.wake = StatusMachine(NODE, most=2), None
        roster = Roster((self.statics[-1].uid,), True)
        self.hear(facts(), *self.api.whole(), self.statics[-1], roster, *self.said.values())

    def hear(self, *events: Any) -> None:
        """One turn; no pod may have two requests of this machine under way."""
        for told in self.machine.handle(self.now, *events):
            if isinstance(told, WakeAt):
                self.wake = told.at
                continue
            mine = {flight.name for machine, flight in self.flights if machine is self.machine}
            assert told.name not in mine, "two at once"
            assert len(mine) < 2, "more than allowed"
            self.flights.append((self.machine, told))

    def act(self, act: str, what: Any, how: Any) -> None:
        """One thing happens."""
        match act:
            case "say":
                self.say(what, how)
            case "land" if self.flights:
                self.land(*self.flights.pop(what % len(self.flights)), how)
            case "watch":
                self.hear(*self.api.tell(what))
            case "wait":
                self.pass_time(what)
            case "meddle":
                self.api.meddle(what, how)
            case "end":
                self.end(what)
            case "edit":
                self.edit()
            case "die":
                self.begin()

    def say(self, name: str, what: Any, *, finished: bool = False) -> None:
        """The shard tells of the pod that has the name."""
        if name == "static":
            changed = local(what, self.statics[-1].uid, name, source="file")
        elif (stored := self.api.pods.get(name)) is not None and not self.is_finished(name):
            changed = local(what, stored.uid, name, finished=finished, deleting=stored.deleting)
        else:
            return
        self.said[changed.uid] = changed
        self.hear(changed)

    def is_finished(self, name: str) -> bool:
        """A pod that is, says no more."""
        stored = self.api.pods.get(name)
        return stored is not None and stored.uid in self.said and self.said[stored.uid].finished

    def end(self, name: str) -> None:
        """A user deletes it; an API pod ends, too."""
        self.api.mark_deleting(name)
        if name != "static":
            self.say(name, STATUSES[-1], finished=True)

    def edit(self) -> None:
        """The manifest changes: another pod under the name."""
        old = self.statics[-1]
        new: Desired = static(f"s{len(self.statics)}", "static")
        self.statics.append(new)
        self.said.pop(old.uid, None)
        self.hear(Gone(old.uid, "ns", "static", "edited"), new, PodForgotten(old.uid, "ns", "static"))

    def pass_time(self, seconds: float) -> None:
        """The clock goes on; the alarm rings."""
        self.now += seconds
        if self.wake is not None and self.wake <= self.now:
            self.wake = None
            self.hear(Woke())

    def land(self, machine: StatusMachine, request: Request, how: str) -> None:
        """ok: done and answered. lost: done, and no answer. never: not done. busy: 429."""
        outcome: Outcome = Failed("ns", request.name, 429, "", "busy", 1.0)
        if how in ("ok", "lost"):
            outcome = self.done(request)
        if how in ("never", "lost"):
            outcome = Failed("ns", request.name, 0, "", "no answer")
        if machine is self.machine:
            self.hear(outcome)

    def done(self, request: Request) -> Outcome:
        """What the server makes of it."""
        name = request.name
        try:
            match request:
                case PatchStatus():
                    stored = self.api.patch(name, request.patch["metadata"], request.patch["status"])
                    body = codec.pack(stored.status)
                    return Patched("ns", name, request.uid, str(stored.version), stored.deleting, body)
                case DeletePod():
                    self.api.delete(name, request.uid)
                    return Deleted("ns", name, request.uid)
                case CreateMirror():
                    stored = self.api.create(name, dict(request.body))
                    return MirrorMade("ns", name, stored.uid, str(stored.version), codec.pack(stored.status))
        except ApiError as error:
            return Failed("ns", name, error.status, error.code, error.reason)

    def settle(self) -> None:
        """Nothing fails any more, and all comes to rest."""
        for _ in range(60):
            while self.flights or self.api.news:
                if self.flights:
                    self.land(*self.flights.pop(0), "ok")
                self.hear(*self.api.tell(1))
            self.pass_time(400.0)
            if not self.flights and not self.api.news and self.wake is None:
                return
        raise AssertionError("does not come to rest")


@given(st.lists(ACTS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_in_the_end_the_api_holds_what_the_node_says(acts: list[tuple[str, Any, Any]]) -> None:
    world = World()
    for act in acts:
        world.act(*act)
    world.settle()
    pods = world.api.pods
    assert pods["static"].mark == world.statics[-1].uid
    assert not pods["static"].deleting
    for name, stored in pods.items():
        said = world.said.get(world.statics[-1].uid if name == "static" else stored.uid)
        if said is None:
            continue
        assert not (said.finished and stored.deleting), f"{name} should be gone"
        rest = merge(stored.status, codec.unpack(said.status), restarts_of(b""), 0.0, stopped=said.stopped)
        assert rest is None, f"{name} differs"


def test_the_model_merges_as_the_real_server_does() -> None:
    api = ApiModel()
    stored = api.create("a")
    api.meddle("a", {"podIPs": [{"ip": "1.1.1.1"}], "reason": "R", "conditions": [condition("theirs", "True")]})
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": T0, "reason": None}
    api.patch(
        "a",
        {"uid": stored.uid},
        {"podIPs": [{"$patch": "replace"}, {"ip": "2.2.2.2"}], "reason": None, "conditions": [ready]},
    )
    assert stored.status == {
        "phase": "Pending", "qosClass": "BestEffort", "podIPs": [{"ip": "2.2.2.2"}],
        "conditions": [condition("theirs", "True"), condition("Ready", "True")],
    }  # fmt: skip
