"""Every actor of an agent on the synchronous bus: real machines, the shells' pure parts, and no loop of their own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from tests.flow.bus import Lane
from tests.flow.laws import CRASH_LOOP_MAX_S, law
from tests.flow.performer import Performer
from tests.flow.timeline import Life, Timer

from podherd.actors.pod_shard import status_of
from podherd.journal.inputs import events_of
from podherd.machines import node_events, node_instructions, node_machine
from podherd.machines.capacity import Amounts
from podherd.machines.node import Facts
from podherd.machines.pod import events as pod_events
from podherd.machines.pod import instructions as told
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Drained, Hello
from podherd.wire.desired import Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts, PlegHealth
from podherd.wire.routes import NODE, PLEG, POD_SHARD, SERVER, SOURCES, STATUS
from podherd.wire.status import PodOver

if TYPE_CHECKING:
    from tests.flow.world import World

IPS = ("192.0.2.1",)
POLICY = Policy(
    node_name="n1", host_ips=IPS, crash_loop_max_s=CRASH_LOOP_MAX_S, image_backoff_max_s=40.0
)  # fmt: skip


class Actor:
    """One name on the bus; `life` is its present incarnation."""

    hello_to: ClassVar[tuple[str, ...]] = ()

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.up = False
        self.life = Life(world.timeline)
        self._lanes: dict[str, Lane] = {}
        world.bus.receivers[name] = self

    def start(self) -> None:
        if self.up:
            return
        self.up = True
        self.life = Life(self.world.timeline)
        self._lanes = {}
        self.world.note(self.name, "starts")
        self.boot()
        for role in self.hello_to:
            self.send_role(role, Hello(self.name))

    def boot(self) -> None:
        """Make the machine and begin the actor's own work."""

    def crash(self, away_s: float) -> None:
        """Everything in memory is lost, what is in flight is cut; it begins anew after a while."""
        if not self.up:
            return
        self.up = False
        self.world.note(self.name, "dies")
        self.life.end()
        self.world.timeline.after(away_s, self.start)

    def send(self, receiver: str, message: codec.Message) -> None:
        if (lane := self._lanes.get(receiver)) is None:
            lane = self._lanes[receiver] = Lane(self.world.bus, self.life, self.name, receiver, self.world.timeline)
        lane.put(message)

    def send_role(self, role: str, message: codec.Message) -> None:
        for peer in self.world.peers(role):
            self.send(peer, message)

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        raise TypeError(f"{self.name} hears nothing of {sender}: {messages}")

    @property
    def unsent(self) -> int:
        return sum(map(len, self._lanes.values())) if self.up else 1


class ShardActor(Actor):
    """As `actors/pod_shard`."""

    hello_to = (SOURCES, PLEG, NODE, SERVER)

    def boot(self) -> None:
        self.machine = ShardMachine(POLICY)
        self.flights: dict[str, Performer] = {}
        self._alarms: dict[str, tuple[float, Timer]] = {}
        self._late: list[pod_events.Event] = []
        self._meeting = False
        self._heard_at = 0.0
        behind = [self.world.behind(uid) for uid in sorted(self.world.dirs)]
        mine = [left for left in behind if self.world.shard_of(left.name) is self]
        if self.world.tells_left_behind:
            self._turn(list(mine))

    def crash(self, away_s: float) -> None:
        if self.up:
            self.world.laws.life_ends(self.life)
        super().crash(away_s)

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        for message in messages:
            if isinstance(message, Hello):
                self._greet(message.actor)
        self._turn(events_of(self.name, messages))
        for message in messages:
            if isinstance(message, Ask):
                self.send(sender, self._answer(message))

    def _greet(self, actor: str) -> None:
        if actor == SOURCES:
            for uid in self.machine.over():
                self.send(SOURCES, PodOver(uid))
            return
        for publish in self.machine.published():
            self.send(actor, status_of(publish))

    def _answer(self, question: Ask) -> Answer:
        args = codec.unpack(question.args)
        found = self.machine.find(args["namespace"], args["name"])
        if found is None:
            return Answer(question.id, b"", "no such pod on this node")
        return Answer(question.id, codec.pack({"pod": found[0].body}))

    def _turn(self, events: list[Any]) -> None:
        late, self._late = self._late, []
        if not (late or events):
            return
        if self.world.wall() < self._heard_at:
            self.world.laws.clock_stepped()
        self._heard_at = self.world.wall()
        self._heed(events)
        for instruction in self.machine.handle(self.world.wall(), *late, *events):
            self.world.note(self.name, instruction)
            self._perform(instruction)

    def _heed(self, events: Iterable[Any]) -> None:
        """What the laws must know of what the shard has heard."""
        ended = self.world.laws.ended
        for event in events:
            self.world.note(self.name, event)
            if isinstance(event, Gone) and self.machine.pod(event.uid) is not None:
                ended.setdefault(event.uid, self.life)
            elif isinstance(event, Roster) and event.complete:
                known = [uid for uid in self.world.specs if self.machine.pod(uid) is not None]
                ended.update({uid: self.life for uid in known if uid not in event.uids})
            elif isinstance(event, pod_events.Wanted):
                self.world.specs[event.pod.uid] = event.pod
                if event.refused or "deletionTimestamp" in event.pod.body["metadata"]:
                    ended.setdefault(event.pod.uid, self.life)
            elif isinstance(event, Evict) and self.machine.pod(event.uid) is not None:
                self.world.laws.tried.add("evict")
                ended.setdefault(event.uid, self.life)

    def _perform(self, instruction: told.Instruction) -> None:
        match instruction:
            case told.Sync(uid):
                law(uid not in self.flights, "two syncs of one pod in flight")
                self.world.laws.synced(instruction)
                self.flights[uid] = Performer(self.world, self.life, instruction, self._synced)
                self.flights[uid].begin()
            case told.CancelSync(uid, plan_id):
                if uid in self.flights and self.flights[uid].sync.plan_id == plan_id:
                    self.flights[uid].cancel()
            case told.Publish():
                self.world.laws.published(instruction)
                self.send_role(SERVER, status_of(instruction))
                self.send_role(STATUS, status_of(instruction))
            case told.Over(uid):
                self.world.laws.over(uid)
                self.send_role(SOURCES, PodOver(uid))
            case told.Record(event):
                self.send_role(SERVER, event)
            case told.LookAgain(reinspect):
                self.send_role(PLEG, reinspect)
            case told.WakeAt(uid, at):
                self._set_alarm(uid, at)
            case told.AllStopped():
                self.send_role(SERVER, Drained(self.name))
            case told.Forget(uid, namespace, name):
                self.world.laws.forgotten(uid)
                if (alarm := self._alarms.pop(uid, None)) is not None:
                    alarm[1].cancel()
                self.send_role(SERVER, codec.status.PodForgotten(uid, namespace, name))
                self.send_role(STATUS, codec.status.PodForgotten(uid, namespace, name))
            case told.Fault(_, error):
                raise AssertionError("the machine threw") from error

    def _set_alarm(self, uid: str, at: float) -> None:
        """A clock that is set does not move the timer; one that rings early is set again."""
        if (old := self._alarms.get(uid)) is not None:
            old[1].cancel()
        timer = self.life.after(at - self.world.wall(), lambda: self._ring(uid, at))
        self._alarms[uid] = at, timer

    def _ring(self, uid: str, at: float) -> None:
        if self.world.wall() < at - 1e-3:
            self._set_alarm(uid, at)
            return
        del self._alarms[uid]
        self._turn([pod_events.Woke(uid)])

    def _synced(self, synced: pod_events.Synced) -> None:
        del self.flights[synced.uid]
        self.world.note(self.name, synced)
        self._late.append(synced)
        if any(not isinstance(result, pod_events.Started) for result in synced.results):
            self._meet(seen_away=False)
        self.life.after(0.0, lambda: self._turn([]))

    def _meet(self, seen_away: bool) -> None:
        """After a failure: is the runtime there? One that was away and is back makes the machine try at once."""
        if self.world.runtime.away:
            if not self._meeting or seen_away:
                self._meeting = True
                self.life.after(1.0, lambda: self._meet(seen_away=True))
        elif seen_away:
            self._meeting = False
            self._turn([pod_events.RuntimeBack()])


class NodeActor(Actor):
    """As `actors/node`."""

    def boot(self) -> None:
        info = {"operatingSystem": "linux", "architecture": "amd64"}
        facts = Facts("n1", "n1", IPS, Amounts(2, 1 << 30, 1 << 34, 110), info)
        self._machine = node_machine.NodeMachine(facts, "cgroupfs")
        self._watch()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:  # noqa: ARG002
        for message in messages:
            if isinstance(message, PlegHealth):
                self._turn(message)
            elif isinstance(message, Hello):
                shard = message.actor.startswith(POD_SHARD)
                self._turn(node_events.ShardStarted(message.actor) if shard else node_events.ServerStarted())

    def _watch(self) -> None:
        runtime = self.world.runtime
        network = "" if runtime.network else "no CNI plugin"
        looked = node_events.Looked("containerd://2", "", network, "")
        self._turn(node_events.NotLooked() if runtime.away else looked, node_events.Addresses(IPS))
        self.life.after(5.0, self._watch)

    def _turn(self, *events: node_events.Event) -> None:
        for told_ in self._machine.handle(self.world.wall(), *events):
            match told_:
                case node_instructions.TellShards(state):
                    self.send_role(POD_SHARD, state)
                case node_instructions.TellShard(actor, state):
                    self.send(actor, state)
                case node_instructions.TellFacts(actor, facts):
                    self._tell_facts(actor, facts)
                case node_instructions.TellServer(node):
                    self.send_role(SERVER, node)

    def _tell_facts(self, actor: str, facts: NodeFacts) -> None:
        """To shards; the sources of this world admit every pod."""
        for shard in self.world.peers(POD_SHARD):
            if actor in ("", shard):
                self.send(shard, facts)


def with_api(roster: Roster, uids: Iterable[str]) -> Roster:
    """The roster of all sources, the API server's pods among them."""
    return replace(roster, uids=(*roster.uids, *uids))
