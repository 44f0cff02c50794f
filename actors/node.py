"""The node actor: is the runtime well, what is this node; tells shards and server, answers what images there are."""

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from cri_api.v1 import api_pb2 as pb

from podherd.actors.node_api import NodeApi
from podherd.actors.node_csi import NodeCsi
from podherd.actors.node_facts import facts_of
from podherd.actors.node_runtime import RuntimeLook
from podherd.actors.shell import Shell
from podherd.cri.client import Cri
from podherd.errors import CriError
from podherd.host import cgroup_v1, node_ips
from podherd.machines import node_events as heard
from podherd.machines import node_instructions as told
from podherd.machines.node_machine import NodeMachine
from podherd.machines.node_report import Reporting
from podherd.machines.shutdown import (
    ActivePod,
    AskPods,
    EndPod,
    HoldShutDown,
    LetShutDown,
    WakeAt,
    groups_of,
    needed_s,
)
from podherd.wire import codec
from podherd.wire.control import ACTIVE_PODS, Answer, Ask, Hello
from podherd.wire.node import PlegHealth, VolumesInUse
from podherd.wire.routes import EVENTS, POD_SHARD, SERVER, SOURCES, STATUS, role_of
from podherd.wire.status import NodeEvent

if TYPE_CHECKING:
    from podherd.actors.shutdown_delay import ShutdownDelay

STATUS_EVERY_S = 5.0
CGROUP_V1 = (
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to "
    "cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1"
)
"""The kubelet's words."""


class NodeActor(Shell):
    """Asks the runtime every few seconds; what changed is told at once."""

    hello_to: ClassVar[tuple[str, ...]] = (POD_SHARD,)

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        settings = self.settings
        reporting = None
        if settings.serves_api:
            reporting = Reporting(settings.node_status_update_s, settings.node_status_report_s)
        self._groups = groups_of(
            settings.shutdown_grace_s, settings.shutdown_grace_critical_s, settings.shutdown_grace_by_priority
        )
        shards = tuple(self.bus.peers(POD_SHARD))
        self._machine = NodeMachine(facts_of(settings), settings.cgroup_driver, reporting, self._groups, shards)
        self._api: NodeApi | None = None
        self._csi: NodeCsi | None = None
        self._delay: ShutdownDelay | None = None
        self._question = 0
        self._cri: Cri | None = None

    async def start(self) -> None:
        """Begin to watch the runtime."""
        settings = self.settings
        cri = self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        self.keep_journal(self._machine)
        await super().start()
        self._turn(*(heard.FactsWanted(peer) for peer in self._readers()))
        self.spawn(self._watch(RuntimeLook(cri, settings.cgroup_driver, self.log)), "runtime status", vital=True)
        if settings.serves_api:
            self._serve()
        if self._groups:
            # Here, since most nodes have no use for D-Bus.
            from podherd.actors.shutdown_delay import ShutdownDelay

            self._delay = ShutdownDelay(needed_s(self._groups), self._turn, self.log)
            self.spawn(self._delay.run(), "watch for a shutdown of the machine")

    def _serve(self) -> None:
        """Begin to tell the API server of the node."""
        self._api = NodeApi(self.settings, self._machine.object, self._turn, self.clock, self.log)
        self._csi = NodeCsi(self.settings, self._turn, self.log)
        self._emit("Normal", "Starting", "Starting kubelet.")
        if cgroup_v1():
            self._emit("Warning", "CgroupV1", CGROUP_V1)
        for what, work in self._api.works():
            self.spawn(work, what, vital=what != "register the Node")
        for what, work in self._csi.works():
            self.spawn(work, what, vital=True)

    async def stop(self) -> None:
        """Leave the runtime."""
        await super().stop()
        if self._delay is not None:
            self._delay.release()
        if self._api is not None:
            await self._api.close()
        if self._csi is not None:
            await self._csi.close()
        if self._cri is not None:
            await self._cri.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """PLEG health changes the node; a Hello wants what was told; the server asks for images."""
        for message in messages:
            match message:
                case PlegHealth() | VolumesInUse():
                    self._turn(message)
                case Answer():
                    self._hear_pods(sender, message)
                case Hello():
                    self._turn(_started(message.actor))
                case Ask():
                    self.spawn(self._answer(sender, message), message.what)

    def _turn(self, *events: heard.Event) -> None:
        now = self.clock()
        answer = self._machine.handle(now, *events)
        self.journal.turn(now, events, b"", answer)
        for instruction in answer:
            self._do(instruction)

    def _do(self, instruction: told.Instruction) -> None:
        match instruction:
            case told.TellShards(state):
                self.send_role(POD_SHARD, state)
            case told.TellShard(actor, state):
                self.send(actor, state)
            case told.TellServer(node):
                self.send_role(SERVER, node)
            case told.TellFacts(actor, facts):
                for receiver in (actor,) if actor else self._readers():
                    self.send(receiver, facts)
            case told.Emit(event):
                self.send_role(EVENTS, event)
            case told.Report(status, labels) if self._api is not None:
                self._api.report(status, labels)
            case _:
                self._shut_down(instruction)

    def _shut_down(self, instruction: told.Instruction) -> None:
        """What a shutdown of the machine asks for."""
        match instruction:
            case AskPods(shard):
                self._question += 1
                self.send(shard, Ask(self._question, ACTIVE_PODS, b""))
            case EndPod(shard, order):
                self.log.info("pod ends with the machine", pod=f"{order.namespace}/{order.name}", grace_s=order.grace_s)
                self.send(shard, order)
            case WakeAt(at):
                self.wake_at(at, lambda: self._turn(heard.Woke()))
            case LetShutDown() if self._delay is not None:
                self._delay.release()
            case HoldShutDown() if self._delay is not None:
                self.spawn(self._delay.hold(), "hold the next shutdown back")

    def _hear_pods(self, shard: str, answer: Answer) -> None:
        """One that was not answered is asked again."""
        if not answer.error:
            pods = tuple(ActivePod(*each) for each in codec.unpack(answer.body))
            self._turn(heard.ActivePods(shard, pods))

    def _readers(self) -> tuple[str, ...]:
        """Whoever needs the facts of the node."""
        return tuple(peer for role in (SOURCES, POD_SHARD, STATUS, EVENTS) for peer in self.bus.peers(role))

    def _emit(self, kind: str, reason: str, message: str) -> None:
        self.send_role(EVENTS, NodeEvent(self.clock(), kind, reason, message))

    async def _watch(self, look: RuntimeLook) -> None:
        """Wait for a runtime, then ask how it is, for ever. One that is refused may be another at the next try."""
        while (refused := await look.refusal()) is not None:
            self._turn(refused)
            await asyncio.sleep(STATUS_EVERY_S)
        while True:
            self._turn(await look.look(), heard.Addresses(self.settings.node_ips or node_ips()))
            if self._api is not None and (images := await look.images()) is not None:
                self._turn(images)
            await asyncio.sleep(STATUS_EVERY_S)

    async def _answer(self, asker: str, question: Ask) -> None:
        body, error = b"", ""
        if question.what == "images" and self._cri is not None:
            try:
                body = codec.pack([_image(image) for image in await self._cri.list_images()])
            except CriError as failed:
                error = str(failed)
        else:
            error = f"the node actor knows nothing of {question.what!r}"
        self.send(asker, Answer(question.id, body, error))


def _started(actor: str) -> heard.Event:
    """Who has begun anew: a shard, the server, or another that needs the facts of the node."""
    role = role_of(actor)
    if role == POD_SHARD:
        return heard.ShardStarted(actor)
    return heard.ServerStarted() if role == SERVER else heard.FactsWanted(actor)


def _image(image: pb.Image) -> dict[str, Any]:
    """As `podherd get images` shows it."""
    return {
        "id": image.id,
        "repoTags": list(image.repo_tags),
        "repoDigests": list(image.repo_digests),
        "size": image.size,
        "pinned": image.pinned,
    }
