"""Conversion with everything at its plainest."""

from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import Host, container_config, sandbox_config
from podherd.model.pod import Pod
from podherd.model.settings import Settings

HOST = Host(
    memory_bytes=8 << 30, cpu_milli=4000, resolv_conf="nameserver 9.9.9.9\n", ips=("192.0.2.10", "2001:db8::10")
)


def settings(**more: Any) -> Settings:
    """Settings of a test node."""
    return Settings(node_name="n1", root_dir=Path("/var/lib/podherd"), runtime_endpoint="unix:///run/x.sock", **more)


def container_of(
    pod: Pod, host: Host = HOST, node: Settings | None = None, index: int = 0, **more: Any
) -> pb.ContainerConfig:
    """The CRI config of one container of the pod, attempt 0."""
    every = (*pod.containers, *pod.init_containers, *pod.ephemeral_containers)
    more = {"host": host, "attempt": 0, "image_ref": "sha256:1", **more}
    return container_config(pod, every[index], settings=node or settings(), **more)


def sandbox_of(pod: Pod, host: Host = HOST, node: Settings | None = None, **more: Any) -> pb.PodSandboxConfig:
    """The CRI config of the pod's sandbox, attempt 0."""
    return sandbox_config(pod, 0, node or settings(), host=host, **more)


@pytest.fixture
def image() -> pb.Image:
    """An image that names no user."""
    return pb.Image(id="sha256:1")
