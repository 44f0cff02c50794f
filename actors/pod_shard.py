"""The pod shard actor: wire messages to the pod machine's events, its instructions to deeds. It decides nothing."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from podherd.actors.alarms import Alarms
from podherd.actors.shell import Shell
from podherd.cri.client import Cri
from podherd.cri.convert import Host
from podherd.errors import CriError, PodherdError
from podherd.journal.inputs import events_of
from podherd.journal.journal import NoJournal
from podherd.machines.pod import events as heard
from podherd.machines.pod import instructions as told
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.model.status import TERMINAL
from podherd.steps import left_behind, runtime_features
from podherd.steps.context import Tools
from podherd.steps.deeds import unnoted
from podherd.steps.host_facts import HostFacts
from podherd.steps.in_use import InUse, held_before
from podherd.steps.known_objects import KnownObjects
from podherd.steps.lanes import Lanes
from podherd.steps.pulls import of_shard
from podherd.wire import codec
from podherd.wire.control import ACTIVE_PODS, Answer, Ask, Drained, Hello
from podherd.wire.node import NodeFacts, RuntimeState, VolumesInUse
from podherd.wire.objects import ObjectState
from podherd.wire.routes import EVENTS, NODE, OBJECTS, PLEG, SERVER, SOURCES, STATUS, role_of
from podherd.wire.status import PodEvent, PodForgotten, PodOver, StatusChanged

FILE_THREADS = 16


class PodShardActor(Shell):
    """One shard of all pods. Everything that comes in the same turn of the loop goes into one call of the machine."""

    hello_to: ClassVar[tuple[str, ...]] = (SOURCES, PLEG, NODE, SERVER, OBJECTS)

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        self._facts = HostFacts(self.settings)
        self._policy = policy_of(self.settings, self._facts.now())
        self._machine = ShardMachine(self._policy)
        self._alarms = Alarms(self.clock, self._woke)
        self._files = ThreadPoolExecutor(FILE_THREADS, thread_name_prefix="files")
        self._late: list[heard.Event] = []
        self._turn_due = False
        self._cri: Cri | None = None
        self._meeting: asyncio.Task[None] | None = None
        self._met = False
        self._in_use = InUse(lambda names: self.send_role(NODE, VolumesInUse(self.name, names)))
        self._perform: dict[type, Callable[[Any], None]] = {
            told.Publish: self._publish,
            told.Over: lambda over: self.send_role(SOURCES, PodOver(over.uid)),
            told.Record: lambda told_: self._tell_event(told_.event),
            told.LookAgain: lambda told_: self.send_role(PLEG, told_.reinspect),
            told.WakeAt: lambda told_: self._alarms.set(told_.uid, told_.at),
            told.AllStopped: lambda _told: self.send_role(SERVER, Drained(self.name)),
            told.Forget: self._forget,
            told.Fault: lambda fault: self.log.error("fault", uid=fault.uid, exc_info=fault.error),
        }

    async def start(self) -> None:
        """Connect, in this loop, to a runtime that may be away, and say hello."""
        self.keep_journal(self._machine)
        settings = self.settings
        cri = self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        self._tools = self._make_tools(cri)
        lanes = self._lanes = Lanes(self._tools, self.spawn, self._synced)
        self._perform[told.Sync] = lanes.put
        self._perform[told.CancelSync] = lambda cancel: lanes.cancel(cancel.uid, cancel.plan_id)
        self._meet()
        await super().start()
        self.spawn(self._look_back(), "directories left behind", vital=settings.serves_api)
        if settings.serves_api:
            self.spawn(self._republish(), "publish CSI volumes again", vital=True)

    def _meet(self) -> None:
        """Ask, unless somebody is asking already, whether the runtime is there."""
        if self._cri is not None and (self._meeting is None or self._meeting.done()):
            self._meeting = self.spawn(self._meet_runtime(self._cri), "wait for the runtime")

    async def _look_back(self) -> None:
        """Tell the machine whose directories stand here from before."""
        shard = int(self.name.rpartition("-")[2])
        found = await asyncio.get_running_loop().run_in_executor(
            self._files, left_behind.find, self.settings, shard, self.clock()
        )
        for path in found.nameless:
            self.log.warning("directory of no known pod", path=path, mend="look into it and remove it")
        if self.settings.serves_api:
            uids = [pod.uid for pod in found.pods]
            loop = asyncio.get_running_loop()
            self._in_use.begin(await loop.run_in_executor(self._files, held_before, self.settings, uids))
        self._turn(list(found.pods))

    async def _republish(self) -> None:
        """At the pace of the kubelet's syncs (kubelet behaviour, section 13.1)."""
        while True:
            await asyncio.sleep(self.settings.sync_s)
            if (objects := self._tools.objects) is not None:
                self._late += map(heard.RepublishDue, objects.republished())
                self._turn([])

    def _make_tools(self, cri: Cri) -> Tools:
        settings, clock = self.settings, self.clock
        return Tools(
            cri=cri,
            settings=settings,
            pulls=of_shard(cri, settings, clock),
            files=self._files,
            clock=clock,
            record=self._record,
            unexpected=lambda step, error: self.log.error("step failed", step=step, exc_info=error),
            cgroup_driver=settings.cgroup_driver,
            host=self._facts.now,
            note=unnoted if isinstance(self.journal, NoJournal) else self.journal.deed,
            objects=KnownObjects(partial(self.send_role, OBJECTS), self._in_use.use) if settings.serves_api else None,
        )

    def _record(self, event: PodEvent) -> None:
        self.journal.event(event)
        self._tell_event(event)

    def _tell_event(self, event: PodEvent) -> None:
        self.send_role(SERVER, event)
        self.send_role(EVENTS, event)

    def _tell_both(self, message: StatusChanged | PodForgotten) -> None:
        self.send_role(SERVER, message)
        self.send_role(STATUS, message)

    async def _meet_runtime(self, cri: Cri) -> None:
        """Say why syncs fail for as long as the runtime is away, then learn its name and what it can, for statuses.

        A runtime that was away and is back makes the machine try at once what failed meanwhile.
        """
        reasons: list[str] = []

        def told_why(error: CriError) -> None:
            reasons.append(error.reason)
            self.log.warning("runtime away", reason=error.reason)

        try:
            version = await cri.wait_ready(told_why)
        except PodherdError as error:
            self.log.error("runtime refused", error=str(error))
            return
        self._met = True
        handlers = await self._recursive_handlers(cri)
        self._use(replace(self._policy, runtime_name=version.runtime_name, recursive_read_only=handlers))
        if reasons:
            self.log.info("runtime back", runtime=version.runtime_name, version=version.runtime_version)
            self._turn([heard.RuntimeBack()])

    async def _recursive_handlers(self, cri: Cri) -> tuple[str, ...]:
        try:
            return await runtime_features.recursive_read_only(cri)
        except CriError as error:
            self.log.warning("runtime features unknown", reason=error.reason)
            return self._policy.recursive_read_only

    async def stop(self) -> None:
        """End every sync where it stands; what runs goes on running."""
        self._alarms.close()
        await super().stop()
        if self._cri is not None:
            await self._tools.pulls.close()
            await self._tools.credentials.close()
            await self._cri.close()
        self._files.shutdown(wait=False, cancel_futures=True)

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """One call of the machine for the whole frame, questions after it."""
        if role_of(sender) == OBJECTS:
            self.frame = b""  # secrets are nothing for a journal, and the machine hears of them by their pods alone
        questions: list[Ask] = []
        for message in messages:
            match message:
                case Ask():
                    questions.append(message)
                case Hello():
                    self._greet(message.actor)
                case RuntimeState():
                    self._use_node(message)
                case NodeFacts():
                    self._use_facts(message)
                case ObjectState() if self._tools.objects is not None:
                    self._late += map(heard.ObjectsChanged, self._tools.objects.take(message))
        events = events_of(self.name, messages)
        self._want_objects(events)
        self._turn(events)
        for question in questions:
            self.send(sender, self._answer(question))

    def _want_objects(self, events: list[heard.Event]) -> None:
        """What pods that may run refer to is asked for at once, so that it is there when they start."""
        if (objects := self._tools.objects) is None:
            return
        for event in events:
            if isinstance(event, heard.Wanted) and not event.refused and may_run(event.pod):
                objects.want(event.pod)

    def _use_node(self, state: RuntimeState) -> None:
        """What later steps and statuses take from the node."""
        self._tools.cgroup_driver = state.cgroup_driver or self.settings.cgroup_driver
        if state.host_ips and state.host_ips != self._policy.host_ips:
            self._facts.use_ips(state.host_ips)
            self._use(replace(self._policy, host_ips=state.host_ips))
        if state.runtime_ready and not self._met:
            self._meet()  # one that was refused may have given way to another

    def _use_facts(self, facts: NodeFacts) -> None:
        """What steps take from the node; pods that wait for drivers or attached volumes may go on."""
        before, self._tools.node = self._tools.node, facts
        self._facts.use_allocatable(facts.allocatable)
        if self._tools.objects is not None:
            self._tools.objects.attached(facts.volumes_attached)
        if before is None or _volumes_of(before) != _volumes_of(facts):
            self._late.append(heard.NodeVolumesChanged())

    def _use(self, policy: Policy) -> None:
        self._policy = policy
        self.journal.use(self.clock(), policy)
        self._machine.use(policy)

    def _turn(self, events: list[heard.Event]) -> None:
        late, self._late = self._late, []
        if late or events:
            now = self.clock()
            answer = self._machine.handle(now, *late, *events)
            self.journal.turn(now, late if self.frame else (*late, *events), self.frame, answer)
            for instruction in answer:
                self._do(instruction)

    def _do(self, instruction: told.Instruction) -> None:
        """One instruction; a fault in it costs no other pod's. A Sync that could not begin is answered all the same."""
        try:
            self._perform[type(instruction)](instruction)
        except Exception as error:
            self.log.error("instruction not performed", kind=type(instruction).__name__, exc_info=error)
            if isinstance(instruction, told.Sync):
                self._not_begun(instruction, f"fault in the agent: {type(error).__name__}: {error}")

    def _not_begun(self, sync: told.Sync, why: str) -> None:
        now = self.clock()
        self._record(PodEvent(sync.uid, sync.namespace, sync.name, "", now, "Warning", "FailedSync", why))
        failed = (heard.StepFailed("sync", why),)
        self._synced(heard.Synced(sync.uid, sync.plan_id, now, failed, did=False))

    def _synced(self, synced: heard.Synced) -> None:
        """A sync is answered; those that end in the same turn of the loop are handled together."""
        self._late.append(synced)
        if any(not isinstance(result, heard.Started) for result in synced.results):
            self._meet()
        if not self._turn_due:
            self._turn_due = True
            asyncio.get_running_loop().call_soon(self._turn_of_late)

    def _turn_of_late(self) -> None:
        self._turn_due = False
        self._turn([])

    def _woke(self, uids: list[str]) -> None:
        self._turn([heard.Woke(uid) for uid in uids])

    def _publish(self, publish: told.Publish) -> None:
        if publish.finished:
            self._drop_objects(publish.uid)
        self._tell_both(status_of(publish))

    def _forget(self, forget: told.Forget) -> None:
        self._alarms.drop(forget.uid)
        self._drop_objects(forget.uid)
        self._tell_both(PodForgotten(forget.uid, forget.namespace, forget.name))

    def _drop_objects(self, uid: str) -> None:
        """The pod needs and holds nothing any more."""
        self._in_use.drop(uid)
        if self._tools.objects is not None:
            self._tools.objects.drop(uid)

    def _greet(self, actor: str) -> None:
        """Tell an actor that has begun anew what it should know of every pod."""
        match role_of(actor):
            case role if role in (SERVER, STATUS):
                self._tell_all(actor)
            case role if role == SOURCES:
                for uid in self._machine.over():
                    self.send(actor, PodOver(uid))
            case role if role == NODE:
                self._in_use.again()
            case role if role == OBJECTS and self._tools.objects is not None:
                for needs in self._tools.objects.needs():
                    self.send(actor, needs)

    def _tell_all(self, actor: str) -> None:
        """Every status."""
        for publish in self._machine.published():
            try:
                self.send(actor, status_of(publish))
            except Exception as error:
                self.log.error("status not sent", uid=publish.uid, exc_info=error)

    def _answer(self, question: Ask) -> Answer:
        if question.what == ACTIVE_PODS:
            return Answer(question.id, codec.pack([*self._machine.active()]))
        if question.what != "pod":
            return Answer(question.id, b"", f"a pod shard knows nothing of {question.what!r}")
        try:
            args = codec.unpack(question.args)
            found = self._machine.find(args["namespace"], args["name"])
            if found is None:
                return Answer(question.id, b"", "no such pod on this node")
            pod, cause = found
            return Answer(question.id, codec.pack({"pod": pod.body, "cause": cause}))
        except Exception as error:
            self.log.error("question not answered", exc_info=error)
            return Answer(question.id, b"", f"fault in the agent: {type(error).__name__}")


def may_run(pod: Pod) -> bool:
    """Whether the API server does not yet say that the pod has ended."""
    return (pod.body.get("status") or {}).get("phase") not in TERMINAL


def _volumes_of(facts: NodeFacts) -> tuple[Any, ...]:
    """What volumes may wait for."""
    return facts.csi_sockets, set(facts.volumes_attached), set(facts.volumes_in_use)


def policy_of(settings: Settings, host: Host) -> Policy:
    """The machine's part of the settings and of what this machine is."""
    return Policy(
        node_name=settings.node_name,
        host_ips=host.ips,
        allowed_unsafe_sysctls=settings.allowed_unsafe_sysctls,
        kernel=host.kernel,
        sync_s=settings.sync_s,
        crash_loop_max_s=settings.crash_loop_max_s,
    )


def status_of(publish: told.Publish) -> StatusChanged:
    """The machine's status as it travels."""
    return StatusChanged(
        publish.uid,
        publish.namespace,
        publish.name,
        publish.status.get("phase", ""),
        publish.source,
        publish.deleting,
        publish.created_at,
        codec.pack(publish.status),
        publish.sidecars,
        publish.finished,
        publish.stopped,
    )
