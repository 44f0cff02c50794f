"""`python -m podherd.hollow.measure [--pods N]`: CPU of the hollow server per call, and the time of its list calls."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import uvloop
from cri_api.v1 import api_pb2 as api

from podherd.hollow.child import start_child
from podherd.hollow.control import Control

IMAGE = "registry.k8s.io/pause:3.10"
_IN_FLIGHT = 32
_LISTS = 50
_RUNTIME = "/runtime.v1.RuntimeService/"


class Load:
    """A node's worth of pods, each with so many containers, with labels and annotations as a kubelet writes them."""

    def __init__(self, endpoint: str, pods: int, containers: int) -> None:
        self.pods = [_pod(n) for n in range(pods)]
        self.containers = containers
        self.sandbox_ids: list[str] = []
        self.container_ids: list[str] = []
        self._channel = grpc.aio.insecure_channel(endpoint, options=(("grpc.max_receive_message_length", -1),))

    async def call(self, method: str, requests: Sequence[bytes]) -> list[bytes]:
        """All of these calls, 32 in flight; the replies in order."""
        ask: Any = self._channel.unary_unary(f"{_RUNTIME}{method}")
        replies = [b""] * len(requests)
        waiting = iter(range(len(requests)))

        async def lane() -> None:
            for n in waiting:
                replies[n] = await ask(requests[n])

        await asyncio.gather(*(lane() for _ in range(_IN_FLIGHT)))
        return replies

    async def run_sandboxes(self) -> int:
        """RunPodSandbox of every pod; the number of calls, as of all below."""
        requests = [api.RunPodSandboxRequest(config=pod).SerializeToString() for pod in self.pods]
        replies = await self.call("RunPodSandbox", requests)
        self.sandbox_ids = [api.RunPodSandboxResponse.FromString(reply).pod_sandbox_id for reply in replies]
        return len(replies)

    async def sandbox_statuses(self) -> int:
        """PodSandboxStatus of every pod."""
        return len(await self.call("PodSandboxStatus", [_id(one) for one in self.sandbox_ids]))

    async def create(self) -> int:
        """CreateContainer of every container."""
        pairs = zip(self.sandbox_ids, self.pods, strict=True)
        requests = [_create(sandbox, pod, n) for sandbox, pod in pairs for n in range(self.containers)]
        replies = await self.call("CreateContainer", requests)
        self.container_ids = [api.CreateContainerResponse.FromString(reply).container_id for reply in replies]
        return len(replies)

    async def start(self) -> int:
        """StartContainer of every container."""
        return len(await self.call("StartContainer", [_id(one) for one in self.container_ids]))

    async def statuses(self) -> int:
        """ContainerStatus of every container."""
        return len(await self.call("ContainerStatus", [_id(one) for one in self.container_ids]))

    async def list_sandboxes(self) -> int:
        """ListPodSandbox, one after another."""
        return await self._lists("ListPodSandbox")

    async def list_containers(self) -> int:
        """ListContainers, one after another."""
        return await self._lists("ListContainers")

    async def _lists(self, method: str) -> int:
        ask: Any = self._channel.unary_unary(f"{_RUNTIME}{method}")
        for _ in range(_LISTS):
            await ask(b"")
        return _LISTS

    async def close(self) -> None:
        """Leave the socket."""
        await self._channel.close()


def _pod(n: int) -> api.PodSandboxConfig:
    uid = f"00000000-0000-4000-8000-{n:012d}"
    name = f"web-{n:05d}"
    return api.PodSandboxConfig(
        metadata=api.PodSandboxMetadata(name=name, namespace="default", uid=uid),
        hostname=name,
        log_directory=f"/var/log/pods/default_{name}_{uid}",
        labels={
            "app": "web",
            "io.kubernetes.pod.name": name,
            "io.kubernetes.pod.namespace": "default",
            "io.kubernetes.pod.uid": uid,
        },
        annotations={"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": f"{n:032x}"},
        linux=api.LinuxPodSandboxConfig(cgroup_parent=f"/kubepods/besteffort/pod{uid}"),
    )


def _create(sandbox_id: str, pod: api.PodSandboxConfig, n: int) -> bytes:
    name = f"container-{n}"
    own = "io.kubernetes.container."
    config = api.ContainerConfig(
        metadata=api.ContainerMetadata(name=name),
        image=api.ImageSpec(image=IMAGE, user_specified_image=IMAGE),
        log_path=f"{name}/0.log",
        labels={**{key: value for key, value in pod.labels.items() if key != "app"}, f"{own}name": name},
        annotations={
            f"{own}hash": "1c2d3e4f",
            f"{own}restartCount": "0",
            f"{own}terminationMessagePath": "/dev/termination-log",
            f"{own}terminationMessagePolicy": "File",
            "io.kubernetes.pod.terminationGracePeriod": "30",
        },
    )
    return api.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=pod).SerializeToString()


def _id(object_id: str) -> bytes:
    return api.StartContainerRequest(container_id=object_id).SerializeToString()


async def _measure(pods: int, containers: int, options: Sequence[str], say: Callable[[str], Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="hollow-") as room:
        child = await start_child(Path(room) / "cri.sock", "--image", IMAGE, *options)
        load = Load(child.endpoint, pods, containers)
        try:
            async with Control(child.endpoint) as control:
                await _rows(load, control, say)
        finally:
            await load.close()
            await child.stop()


async def _rows(load: Load, control: Control, say: Callable[[str], Any]) -> None:
    say(f"{'call':<18}{'calls':>8}{'server CPU us':>15}{'wall us':>10}\n")
    steps = (
        load.run_sandboxes, load.sandbox_statuses, load.create, load.start, load.statuses,
        load.list_sandboxes, load.list_containers,
    )  # fmt: skip
    for step in steps:
        cpu_s, begun_s = (await control.stats())["cpu_s"], time.perf_counter()
        calls = await step()
        wall_us = (time.perf_counter() - begun_s) / calls * 1e6
        cpu_us = ((await control.stats())["cpu_s"] - cpu_s) / calls * 1e6
        say(f"{step.__name__:<18}{calls:>8}{cpu_us:>15.1f}{wall_us:>10.1f}\n")


def main() -> int:
    """Print one row per call."""
    parser = argparse.ArgumentParser(prog="python -m podherd.hollow.measure", description=__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--containers", type=int, default=2, help="per pod")
    parser.add_argument("--shuffle", action="store_true")
    given = parser.parse_args()
    options = ("--shuffle",) if given.shuffle else ()
    uvloop.run(_measure(given.pods, given.containers, options, sys.stdout.write))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
