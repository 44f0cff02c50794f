"""The node actor: is the runtime well, what is this node; tells shards and server, answers what images there are."""

import asyncio
import os
from pathlib import Path
from typing import Any, ClassVar

from cri_api.v1 import api_pb2 as pb

from podherd import __version__
from podherd.actors.node_api import NodeApi
from podherd.actors.shell import Shell
from podherd.cri.client import Cri
from podherd.errors import CriError, PodherdError
from podherd.host import (
    architecture,
    cgroup_v1,
    cpu_count,
    hugepages,
    memory_bytes,
    node_ips,
    storage_bytes,
    swap_bytes,
)
from podherd.machines import node_machine as machine
from podherd.machines.capacity import DEFAULT_EVICTION, Amounts, Reserve
from podherd.machines.node import Facts, Handler, Image, condition_trouble
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Hello
from podherd.wire.node import PlegHealth, VolumesInUse
from podherd.wire.routes import EVENTS, POD_SHARD, SERVER, SOURCES, STATUS, role_of
from podherd.wire.status import NodeEvent

STATUS_EVERY_S = 5.0
STATUS_WITHIN_S = 10.0
IMAGES_EVERY_S = 30.0
KUBELET = "v1.37.2"
"""The kubelet that this one behaves as: clients of the API compare the node's version with others."""
CGROUP_V1 = "Cgroup v1 support is in maintenance mode, please migrate to Cgroup v2"


class NodeActor(Shell):
    """Asks the runtime every few seconds; what changed is told at once."""

    hello_to: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        settings = self.settings
        reporting = None
        if settings.serves_api:
            reporting = machine.Reporting(settings.node_status_update_s, settings.node_status_report_s)
        self._machine = machine.NodeMachine(facts_of(settings), settings.cgroup_driver, reporting)
        self._api: NodeApi | None = None
        self._images_at = float("-inf")
        self._driver_known = False
        self._logged = ("", "")
        self._cri: Cri | None = None

    async def start(self) -> None:
        """Begin to watch the runtime."""
        settings = self.settings
        cri = self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        self.keep_journal(self._machine)
        await super().start()
        self._turn(*(machine.FactsWanted(peer) for peer in self._readers()))
        self.spawn(self._watch(cri), "runtime status", vital=True)
        if settings.serves_api:
            self._api = NodeApi(settings, self._machine.object, self._turn, self.clock, self.log)
            self._emit("Normal", "Starting", "Starting kubelet.")
            if cgroup_v1():
                self._emit("Warning", "CgroupV1", CGROUP_V1)
            for what, work in self._api.works():
                self.spawn(work, what, vital=what != "register the Node")

    async def stop(self) -> None:
        """Leave the runtime."""
        await super().stop()
        if self._api is not None:
            await self._api.close()
        if self._cri is not None:
            await self._cri.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """PLEG health changes the node; a Hello wants what was told; the server asks for images."""
        for message in messages:
            match message:
                case PlegHealth() | VolumesInUse():
                    self._turn(message)
                case Hello():
                    self._turn(_started(message.actor))
                case Ask():
                    self.spawn(self._answer(sender, message), message.what)

    def _turn(self, *events: machine.Event) -> None:
        now = self.clock()
        answer = self._machine.handle(now, *events)
        self.journal.turn(now, events, b"", answer)
        for told in answer:
            match told:
                case machine.TellShards(state):
                    self.send_role(POD_SHARD, state)
                case machine.TellShard(actor, state):
                    self.send(actor, state)
                case machine.TellServer(node):
                    self.send_role(SERVER, node)
                case machine.TellFacts(actor, facts):
                    for receiver in (actor,) if actor else self._readers():
                        self.send(receiver, facts)
                case machine.Emit(event):
                    self.send_role(EVENTS, event)
                case machine.Report(status):
                    if self._api is not None:
                        self._api.report(status)

    def _readers(self) -> tuple[str, ...]:
        """Whoever needs the facts of the node."""
        return tuple(peer for role in (SOURCES, POD_SHARD, STATUS, EVENTS) for peer in self.bus.peers(role))

    def _emit(self, kind: str, reason: str, message: str) -> None:
        self.send_role(EVENTS, NodeEvent(self.clock(), kind, reason, message))

    async def _watch(self, cri: Cri) -> None:
        """Wait for a runtime, then ask how it is, for ever. One that is refused may be another at the next try."""
        while (refused := await self._refusal(cri)) is not None:
            self._turn(refused)
            await asyncio.sleep(STATUS_EVERY_S)
        while True:
            self._turn(await self._look(cri), machine.Addresses(self.settings.node_ips or node_ips()))
            if self._api is not None:
                await self._look_at_images(cri)
            await asyncio.sleep(STATUS_EVERY_S)

    async def _look_at_images(self, cri: Cri) -> None:
        """The list is for people and schedulers: an old one does no harm."""
        now = asyncio.get_running_loop().time()
        if now - self._images_at < IMAGES_EVERY_S:
            return
        try:
            images = await cri.list_images()
        except CriError:
            return
        self._images_at = now
        found = [Image((*image.repo_digests, *image.repo_tags), image.size) for image in images]
        self._turn(machine.Images(tuple(sorted(found, key=lambda each: -each.size_bytes))))

    async def _refusal(self, cri: Cri) -> machine.Refused | None:
        try:
            await cri.wait_ready(lambda error: self.log.warning("runtime away", reason=error.reason))
        except PodherdError as error:
            self._log_once("runtime refused", str(error))
            return machine.Refused(str(error))
        return None

    async def _look(self, cri: Cri) -> machine.Looked | machine.NotLooked:
        """A look without an answer changes nothing: the runtime is down once this has lasted for a while."""
        driver = ""
        try:
            async with asyncio.timeout(STATUS_WITHIN_S):
                version = await cri.version()
                status = await cri.status()
                conditions = status.status.conditions
                if not self._driver_known:
                    driver = await cri.cgroup_driver(self.settings.cgroup_driver)
        except (CriError, TimeoutError) as error:
            self._driver_known = False  # who answers next may be another runtime
            self._log_once("runtime status unknown", getattr(error, "reason", "") or "no answer in time")
            return machine.NotLooked()
        self._driver_known = True
        self._logged = ("", "")
        name = f"{version.runtime_name}://{version.runtime_version}"
        runtime, network = _trouble(conditions, "RuntimeReady"), _trouble(conditions, "NetworkReady")
        handlers = tuple(
            Handler(each.name, each.features.recursive_read_only_mounts, each.features.user_namespaces)
            for each in status.runtime_handlers
        )
        groups = status.features.supplemental_groups_policy
        return machine.Looked(name, runtime, network, driver, handlers, groups)

    def _log_once(self, event: str, reason: str) -> None:
        if (event, reason) != self._logged:
            self._logged = (event, reason)
            self.log.warning(event, reason=reason)

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


def _started(actor: str) -> machine.Event:
    """Who has begun anew: a shard, the server, or another that needs the facts of the node."""
    role = role_of(actor)
    if role == POD_SHARD:
        return machine.ShardStarted(actor)
    return machine.ServerStarted() if role == SERVER else machine.FactsWanted(actor)


def _trouble(conditions: Any, kind: str) -> str:
    for condition in conditions:
        if condition.type == kind:
            return condition_trouble(kind, condition.status, condition.reason, condition.message)
    return condition_trouble(kind, False, "", "the runtime does not tell")


def _image(image: pb.Image) -> dict[str, Any]:
    """As `podherd get images` shows it."""
    return {
        "id": image.id,
        "repoTags": list(image.repo_tags),
        "repoDigests": list(image.repo_digests),
        "size": image.size,
        "pinned": image.pinned,
    }


def facts_of(settings: Settings) -> Facts:
    """This machine as it is now."""
    system = os.uname()
    info = {
        "machineID": _first_line("/etc/machine-id"),
        "systemUUID": _first_line("/sys/class/dmi/id/product_uuid"),
        "bootID": _first_line("/proc/sys/kernel/random/boot_id"),
        "kernelVersion": system.release,
        "osImage": _os_image(),
        "kubeletVersion": f"{KUBELET}+podherd-{__version__}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": architecture(),
    }
    hostname = settings.hostname_override or settings.node_name
    return Facts(
        node_name=settings.node_name,
        hostname=hostname,
        ips=settings.node_ips or node_ips(),
        amounts=_amounts(settings),
        info=info,
        reserve=_reserve(settings),
        given_labels=settings.node_labels,
        taints=settings.node_taints,
        port=settings.port,
        provider_id=settings.provider_id,
        attach_detach=settings.controller_attach_detach,
        most_images=settings.node_status_max_images,
        swap_bytes=swap_bytes(),
    )


def _amounts(settings: Settings) -> Amounts:
    cpus, pods = cpu_count(), settings.pods_capacity
    if settings.pods_per_core:
        pods = min(pods, settings.pods_per_core * cpus)
    return Amounts(cpus, memory_bytes(), storage_bytes(settings.root_dir), pods, hugepages())


def _reserve(settings: Settings) -> Reserve:
    eviction = dict(settings.eviction_hard) or (DEFAULT_EVICTION if settings.serves_api else {})
    return Reserve(dict(settings.kube_reserved), dict(settings.system_reserved), eviction)


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().partition("\n")[0].strip()
    except OSError:
        return ""


def _os_image() -> str:
    """PRETTY_NAME of os-release(5)."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return "Linux"
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), "Linux")
