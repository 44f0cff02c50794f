"""A scripted CRI, a pod, and contexts on a temporary root for the steps."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.containerd import own_containerd
from tests.kit.volumes import unmounted_after

from podherd.cri.client import Cri
from podherd.cri.convert import Host
from podherd.errors import CriError
from podherd.machines.pod.instructions import Plan, Sync
from podherd.model.parse import pod_of
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.steps.cgroup import MOUNT, hierarchies, remove_tree
from podherd.steps.context import Context, Tools
from podherd.steps.pull_limits import Rate
from podherd.steps.pulls import Pulls
from podherd.wire.status import PodEvent

IMAGE = "reg.test/web:1"


@dataclass(repr=False)
class ScriptedCri:
    """Every call is noted and answered at once, unless `fail` or `gate` has its method."""

    images: set[str] = field(default_factory=lambda: {IMAGE})
    fail: dict[str, CriError] = field(default_factory=dict)
    gate: dict[str, asyncio.Event] = field(default_factory=dict)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    ips: tuple[str, ...] = ("10.8.0.2",)
    exec_reply: pb.ExecSyncResponse = field(default_factory=pb.ExecSyncResponse)
    annotations: dict[str, str] = field(default_factory=dict)
    pull_s: dict[str, float] = field(default_factory=dict)
    used_bytes: int = 0

    async def _call(self, method: str, *args: Any) -> None:
        self.calls.append((method, *args))
        self.reached.setdefault(method, asyncio.Event()).set()
        if gate := self.gate.get(method):
            await gate.wait()
        if error := self.fail.get(method):
            raise error

    def methods(self) -> list[str]:
        return [call[0] for call in self.calls]

    async def run_sandbox(self, config: pb.PodSandboxConfig, handler: str = "") -> str:
        await self._call("run_sandbox", config, handler)
        return f"s{config.metadata.attempt}"

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._call("stop_sandbox", sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        await self._call("remove_sandbox", sandbox_id)

    async def sandbox_status(self, sandbox_id: str) -> pb.PodSandboxStatusResponse:
        await self._call("sandbox_status", sandbox_id)
        first, *more = self.ips or ("",)
        network = pb.PodSandboxNetworkStatus(ip=first, additional_ips=[pb.PodIP(ip=ip) for ip in more])
        metadata = pb.PodSandboxMetadata(attempt=int(sandbox_id[1:]))
        return pb.PodSandboxStatusResponse(status=pb.PodSandboxStatus(network=network, metadata=metadata))

    async def create_container(
        self, sandbox_id: str, config: pb.ContainerConfig, sandbox_config: pb.PodSandboxConfig
    ) -> str:
        await self._call("create_container", sandbox_id, config, sandbox_config)
        return f"{config.metadata.name}-{config.metadata.attempt}"

    async def start_container(self, container_id: str) -> None:
        await self._call("start_container", container_id)

    async def stop_container(self, container_id: str, grace_s: int) -> None:
        await self._call("stop_container", container_id, grace_s)

    async def exec_sync(self, container_id: str, command: list[str], timeout_s: int = 0) -> pb.ExecSyncResponse:
        await self._call("exec_sync", container_id, tuple(command), timeout_s)
        return self.exec_reply

    async def container_status(self, container_id: str) -> pb.ContainerStatus:
        await self._call("container_status", container_id)
        return pb.ContainerStatus(id=container_id, annotations=self.annotations)

    async def update_resources(self, container_id: str, resources: pb.LinuxContainerResources) -> None:
        await self._call("update_resources", container_id, resources)

    async def container_stats(self, *, container_id: str) -> list[pb.ContainerStats]:
        used = pb.MemoryUsage(working_set_bytes=pb.UInt64Value(value=self.used_bytes))
        return [pb.ContainerStats(attributes=pb.ContainerAttributes(id=container_id), memory=used)]

    async def remove_container(self, container_id: str) -> None:
        await self._call("remove_container", container_id)

    async def image_status(self, image: str) -> pb.Image | None:
        await self._call("image_status", image)
        return pb.Image(id=f"sha256:{image}", size=1234) if image in self.images else None

    async def pull_image(self, image: str, _sandbox_config: pb.PodSandboxConfig) -> str:
        await self._call("pull_image", image)
        await asyncio.sleep(self.pull_s.get(image, 0))
        self.images.add(image)
        return f"sha256:{image}"


@dataclass(repr=False)
class Bench:
    """A root directory, a scripted runtime and what was recorded."""

    cri: ScriptedCri
    settings: Settings
    tools: Tools
    events: list[PodEvent]
    faults: list[tuple[str, Exception]]
    now: list[float]

    def context(self, plan: Plan, pod: Pod | None = None, plan_id: int = 1) -> Context:
        name, namespace, uid = (pod.name, pod.namespace, pod.uid) if pod else ("web", "shop", "u1")
        return Context(Sync(uid, namespace, name, plan_id, pod, plan), self.tools)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Let the loop run until it holds."""
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110 - files and plain fields have no event to wait for
                await asyncio.sleep(0.001)

    def told(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of every event."""
        return [(event.type, event.reason, event.message) for event in self.events]

    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]


@pytest.fixture
def cri() -> ScriptedCri:
    return ScriptedCri()


@pytest.fixture
def bench(cri: ScriptedCri, tmp_path: Path) -> Iterator[Bench]:
    settings = Settings(
        node_name="n1",
        root_dir=tmp_path / "root",
        runtime_endpoint="unix:///nowhere",
        pod_logs_dir=tmp_path / "log" / "pods",
        cgroup_root="/podherd-test-none",
    )
    events: list[PodEvent] = []
    faults: list[tuple[str, Exception]] = []
    now = [1000.0]
    files = ThreadPoolExecutor(1)
    host = Host(memory_bytes=1 << 30, ips=("192.0.2.7",))
    tools = Tools(
        cri=cri,  # type: ignore[arg-type]
        settings=settings,
        pulls=Pulls(cri, 1, Rate(0, 1, lambda: now[0]), lambda: now[0]),  # type: ignore[arg-type]
        files=files,
        clock=lambda: now[0],
        record=events.append,
        unexpected=lambda step, error: faults.append((step, error)),
        cgroup_driver="cgroupfs",
        host=lambda: host,
    )
    yield Bench(cri, settings, tools, events, faults, now)
    files.shutdown()


def make_pod(spec: dict[str, Any] | None = None, *containers: dict[str, Any], **metadata: Any) -> Pod:
    """A defaulted pod `shop/web` with uid `u1`; without containers it has one, `web`."""
    whole = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "Default",
        **(spec or {}),
        "containers": [container(**one) for one in containers or ({"name": "web"},)],
    }
    for kind in ("initContainers", "ephemeralContainers"):
        whole[kind] = [container(**one) for one in whole.get(kind, ())]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"uid": "u1", "name": "web", "namespace": "shop", **metadata},
        "spec": whole,
    }
    return pod_of(body)


def container(**fields: Any) -> dict[str, Any]:
    """A defaulted v1.Container."""
    return {
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
        **fields,
    }


@pytest.fixture(name="make_pod")
def _make_pod() -> Any:
    return make_pod


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A real containerd; its pods' cgroups stand below a root of their own."""
    with own_containerd("steps") as runtime:
        yield runtime.endpoint
    for hierarchy in hierarchies(MOUNT):
        remove_tree(f"{hierarchy}/podherd-test-none")


@pytest.fixture
async def real(bench: Any, endpoint: str, tmp_path: Path) -> AsyncIterator[Any]:
    """The bench on that containerd; whatever its pods mounted is gone afterwards."""
    cri = bench.tools.cri = bench.cri = Cri(endpoint)
    bench.tools.pulls = Pulls(cri, 1, Rate(0, 1, bench.tools.clock), bench.tools.clock)
    with unmounted_after(tmp_path):
        yield bench
    await cri.close()
