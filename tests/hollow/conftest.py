"""A runtime on a virtual clock; a served runtime with a real gRPC client; messages as a kubelet sends them."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from cri_api.v1 import api_pb2 as api
from cri_api.v1 import api_pb2_grpc as stubs

from podherd.hollow.control import Control
from podherd.hollow.records import Container, Sandbox
from podherd.hollow.runtime import Runtime
from podherd.hollow.server import HollowServer, Options
from podherd.hollow.timers import Timers

IMAGE = "registry.local/app:1"
S = 1_000_000_000


class VirtualClock:
    """Wall time that moves only when a test says so, and then runs what is due on the way."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * S
        self.timers = Timers(lambda: self.now_ns, self._woken)
        self._due: int | None = None

    def _woken(self, when_ns: int) -> None:
        self._due = when_ns

    def pass_s(self, seconds: float) -> None:
        """Let time pass, stopping at each timer."""
        end = self.now_ns + int(seconds * S)
        while self._due is not None and self._due <= end:
            self.now_ns, self._due = max(self.now_ns, self._due), None
            self.timers.run_due()
        self.now_ns = end


def pod_config(name: str = "web", attempt: int = 0, host: bool = False, **more: Any) -> api.PodSandboxConfig:
    """A pod in namespace default."""
    options = api.NamespaceOption(network=api.NODE if host else api.POD)
    context = api.LinuxSandboxSecurityContext(namespace_options=options)
    labels = {"io.kubernetes.pod.name": name, "app": "web"}
    more = {"labels": labels, **more}
    return api.PodSandboxConfig(
        metadata=api.PodSandboxMetadata(name=name, namespace="default", uid=f"uid-{name}", attempt=attempt),
        linux=api.LinuxPodSandboxConfig(security_context=context),
        **more,
    )


def container_config(name: str = "app", attempt: int = 0, image: str = IMAGE, **more: Any) -> api.ContainerConfig:
    """A container."""
    more = {"labels": {"io.kubernetes.container.name": name}, **more}
    return api.ContainerConfig(
        metadata=api.ContainerMetadata(name=name, attempt=attempt), image=api.ImageSpec(image=image), **more
    )


def marks(**actions: str) -> dict[str, str]:
    """Annotations: `exit_after="1"` is hollow.podherd.io/exit-after."""
    return {f"hollow.podherd.io/{action.replace('_', '-')}": value for action, value in actions.items()}


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait, at most 20 s, for something that another process or task brings about."""
    async with asyncio.timeout(20):
        while not await condition():  # noqa: ASYNC110  # nothing here can set an event
            await asyncio.sleep(0.005)


class Node:
    """A runtime without a server: the short way through reserve and commit."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.runtime = Runtime(self.clock.timers, Random(7))
        self.runtime.images.add(IMAGE)
        self.events: list[tuple[int, str]] = []
        self.runtime.ledger.tell = lambda kind, object_id, _sandbox: self.events.append((kind, object_id))

    def sandbox(self, config: api.PodSandboxConfig | None = None) -> Sandbox:
        """A ready sandbox."""
        request = api.RunPodSandboxRequest(config=config or pod_config())
        sandbox = self.runtime.sandboxes.reserve(request)
        self.runtime.sandboxes.commit(sandbox)
        return sandbox

    def container(self, sandbox: Sandbox, config: api.ContainerConfig | None = None) -> Container:
        """A created container."""
        pod = pod_config(sandbox.name, sandbox.attempt)
        request = api.CreateContainerRequest(
            pod_sandbox_id=sandbox.id, config=config or container_config(), sandbox_config=pod
        )
        container = self.runtime.containers.reserve(request)
        self.runtime.containers.commit(container)
        return container

    def started(self, sandbox: Sandbox, config: api.ContainerConfig | None = None) -> Container:
        """A running container."""
        container = self.container(sandbox, config)
        self.runtime.containers.commit_start(self.runtime.containers.begin_start(container.id))
        return container

    def status(self, container: Container) -> api.ContainerStatus:
        """As ContainerStatus gives it."""
        return api.ContainerStatus.FromString(container.status())


@pytest.fixture
def node() -> Node:
    """A runtime on a virtual clock."""
    return Node()


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory whose path is short enough for a socket."""
    place = Path(tempfile.mkdtemp(prefix="hollow-", dir="/tmp"))
    yield place
    shutil.rmtree(place)


@dataclass
class Served:
    """A served runtime and its clients."""

    server: HollowServer
    channel: grpc.aio.Channel
    runtime: Any
    images: Any
    control: Control

    async def sandbox(self, config: api.PodSandboxConfig | None = None) -> str:
        """RunPodSandbox; its id."""
        request = api.RunPodSandboxRequest(config=config or pod_config())
        return str((await self.runtime.RunPodSandbox(request, timeout=20)).pod_sandbox_id)

    async def container(
        self, sandbox_id: str, config: api.ContainerConfig | None = None, pod: api.PodSandboxConfig | None = None
    ) -> str:
        """CreateContainer; its id."""
        request = api.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=config or container_config(), sandbox_config=pod or pod_config()
        )
        return str((await self.runtime.CreateContainer(request, timeout=20)).container_id)

    async def start(self, container_id: str) -> None:
        """StartContainer."""
        await self.runtime.StartContainer(api.StartContainerRequest(container_id=container_id), timeout=20)

    async def status(self, container_id: str) -> api.ContainerStatus:
        """ContainerStatus."""
        request = api.ContainerStatusRequest(container_id=container_id)
        return (await self.runtime.ContainerStatus(request, timeout=20)).status

    async def stat(self, name: str, value: object) -> None:
        """Wait until a figure of Stats is this."""

        async def met() -> bool:
            return bool((await self.control.stats())[name] == value)

        await until(met)

    async def running(self, pod: api.PodSandboxConfig | None = None, name: str = "app") -> tuple[str, str]:
        """A pod with one running container: both ids."""
        sandbox_id = await self.sandbox(pod)
        container_id = await self.container(sandbox_id, container_config(name), pod)
        await self.start(container_id)
        return sandbox_id, container_id


@pytest.fixture
async def served(room: Path) -> AsyncIterator[Served]:
    """A server on this loop, with IMAGE preloaded."""
    server = HollowServer(Options(socket=room / "cri.sock", images=(IMAGE,)))
    await server.start()
    channel = grpc.aio.insecure_channel(server.options.endpoint)
    control = Control(server.options.endpoint)
    yield Served(server, channel, stubs.RuntimeServiceStub(channel), stubs.ImageServiceStub(channel), control)
    await control.close()
    await channel.close()
    await server.stop()
