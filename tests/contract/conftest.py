"""Both runtimes behind one door: what a test of the contract may use."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.containerd import own_containerd
from tests.kit.hollow import own_hollow

from podherd.agent.provision import BUSYBOX, PAUSE
from podherd.cri.client import Cri
from podherd.errors import CriError

UNTIL_S = 20.0
RUNTIMES = ("hollow", "containerd")


@dataclass(frozen=True)
class Runtime:
    """A running runtime. kill and start: take it down hard and bring it back. pid: of the process that serves."""

    name: str
    endpoint: str
    kill: Callable[[], None]
    start: Callable[[], None]
    pid: Callable[[], int]


def _open(name: str, stack: ExitStack) -> Runtime:
    if name == "containerd":
        real = stack.enter_context(own_containerd("contract"))
        return Runtime(name, real.endpoint, real.kill9, real.start, lambda: real.pid or 0)
    hollow = stack.enter_context(own_hollow("--image", BUSYBOX, "--image", PAUSE))
    return Runtime(name, hollow.endpoint, hollow.kill9, hollow.start, lambda: hollow.pid)


@pytest.fixture(scope="session", params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """Each runtime in turn, up for all tests of the suite."""
    with ExitStack() as stack:
        yield _open(request.param, stack)


@pytest.fixture
async def cri(runtime: Runtime) -> AsyncIterator[Cri]:
    """A client of it."""
    client = Cri(runtime.endpoint)
    yield client
    await client.close()


@dataclass
class Pods:
    """Makes pods on the runtime and takes them away after the test."""

    cri: Cri
    logs: Path
    made: list[str] = field(default_factory=list)
    configs: dict[str, pb.PodSandboxConfig] = field(default_factory=dict)

    def config(self, name: str, **more: Any) -> pb.PodSandboxConfig:
        """A sandbox with the pod network."""
        return pb.PodSandboxConfig(
            metadata=pb.PodSandboxMetadata(name=name, namespace="contract", uid=f"uid-{name}", attempt=0),
            log_directory=str(self.logs / name),
            labels={"io.kubernetes.pod.uid": f"uid-{name}", "app": name},
            annotations={"note": "kept as given"},
            linux=pb.LinuxPodSandboxConfig(),
            **more,
        )

    async def sandbox(self, name: str, config: pb.PodSandboxConfig | None = None) -> str:
        """A running sandbox."""
        config = config or self.config(name)
        sandbox_id = await self.cri.run_sandbox(config)
        self.made.append(sandbox_id)
        self.configs[sandbox_id] = config
        return sandbox_id

    async def container(self, sandbox_id: str, *command: str, name: str = "main", attempt: int = 0) -> str:
        """A created container of the sample image; without a command it sleeps and heeds SIGTERM."""
        config = pb.ContainerConfig(
            metadata=pb.ContainerMetadata(name=name, attempt=attempt),
            image=pb.ImageSpec(image=BUSYBOX),
            command=command or ("sh", "-c", 'trap "exit 7" TERM; sleep 600 & wait'),
            labels={"io.kubernetes.container.name": name},
            annotations={"io.kubernetes.container.hash": "abc"},
            log_path=f"{name}/{attempt}.log",
            linux=pb.LinuxContainerConfig(),
        )
        sandbox = self.configs[sandbox_id]
        (Path(sandbox.log_directory) / name).mkdir(parents=True, exist_ok=True)
        return await self.cri.create_container(sandbox_id, config, sandbox)

    async def running(self, name: str) -> tuple[str, str]:
        """Ids of a sandbox and of its one running container."""
        sandbox_id = await self.sandbox(name)
        container_id = await self.container(sandbox_id)
        await self.cri.start_container(container_id)
        return sandbox_id, container_id

    async def clear(self) -> None:
        """Stop and remove every sandbox that was made; those that are gone are fine."""
        for sandbox_id in self.made:
            try:
                await self.cri.stop_sandbox(sandbox_id)
                await self.cri.remove_sandbox(sandbox_id)
            except CriError as error:
                if error.code != "NOT_FOUND":
                    raise


@pytest.fixture
async def pods(cri: Cri, tmp_path: Path) -> AsyncIterator[Pods]:
    """Pods of one test."""
    some = Pods(cri, tmp_path)
    yield some
    await some.clear()


async def until_state(cri: Cri, container_id: str, state: pb.ContainerState.ValueType) -> pb.ContainerStatus:
    """The container's status once it is in this state."""
    async with asyncio.timeout(UNTIL_S):
        while True:
            status = await cri.container_status(container_id)
            if status.state == state:
                return status
            await asyncio.sleep(0.02)
