"""The node actor: is the runtime well, what is this node; tells shards and server, answers what images there are."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Any, ClassVar

from cri_api.v1 import api_pb2 as pb

from podherd import __version__
from podherd.actors.shell import Shell
from podherd.cri.client import Cri
from podherd.errors import CriError, PodherdError
from podherd.host import architecture, cpu_count, memory_bytes, node_ips
from podherd.machines import node_machine as machine
from podherd.machines.node import Facts, condition_trouble
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Hello
from podherd.wire.node import PlegHealth
from podherd.wire.routes import POD_SHARD, SERVER

STATUS_EVERY_S = 5.0
STATUS_WITHIN_S = 10.0


class NodeActor(Shell):
    """Asks the runtime every few seconds; what changed is told at once."""

    hello_to: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        self._machine = machine.NodeMachine(facts_of(self.settings), self.settings.cgroup_driver)
        self._driver_known = False
        self._logged = ("", "")
        self._cri: Cri | None = None

    async def start(self) -> None:
        """Begin to watch the runtime."""
        settings = self.settings
        cri = self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        self.keep_journal(self._machine)
        await super().start()
        self.spawn(self._watch(cri), "runtime status", vital=True)

    async def stop(self) -> None:
        """Leave the runtime."""
        await super().stop()
        if self._cri is not None:
            await self._cri.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """PLEG health changes the node; a Hello wants what was told; the server asks for images."""
        for message in messages:
            match message:
                case PlegHealth():
                    self._turn(message)
                case Hello():
                    shard = message.actor in self.bus.peers(POD_SHARD)
                    self._turn(machine.ShardStarted(message.actor) if shard else machine.ServerStarted())
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

    async def _watch(self, cri: Cri) -> None:
        """Wait for a runtime, then ask how it is, for ever. One that is refused may be another at the next try."""
        while (refused := await self._refusal(cri)) is not None:
            self._turn(refused)
            await asyncio.sleep(STATUS_EVERY_S)
        while True:
            self._turn(await self._look(cri), machine.Addresses(node_ips()))
            await asyncio.sleep(STATUS_EVERY_S)

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
                conditions = (await cri.status()).status.conditions
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
        return machine.Looked(name, runtime, network, driver)

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
        "kubeletVersion": f"podherd-{__version__}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": architecture(),
    }
    hostname = settings.hostname_override or socket.gethostname().lower()
    return Facts(settings.node_name, hostname, node_ips(), cpu_count(), memory_bytes(), info)


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
