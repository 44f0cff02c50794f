"""What the node's status says: its Ready condition and its v1.Node (kubelet behaviour, sections 4 and 7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.machines.pleg.health import pleg_trouble
from podherd.machines.times import NEVER_AT
from podherd.model.status import rfc3339
from podherd.wire.node import PlegHealth, RuntimeState

RUNTIME_DOWN_S = 30.0
"""A runtime that was last well longer ago than this is down."""
MAX_PODS = 10_000
"""Capacity for pods that the node reports; the kubelet's default is 110."""


@dataclass(frozen=True, slots=True)
class Facts:
    """This machine. info: v1.NodeSystemInfo fields that never change while the agent runs; the ips may."""

    node_name: str
    hostname: str
    ips: tuple[str, ...]
    cpus: int
    memory_bytes: int
    info: Mapping[str, str]

    @property
    def labels(self) -> dict[str, str]:
        """The labels that every node has."""
        os_and_arch = {"os": self.info["operatingSystem"], "arch": self.info["architecture"]}
        named = {
            f"{prefix}/{key}": value
            for prefix in ("kubernetes.io", "beta.kubernetes.io")
            for key, value in os_and_arch.items()
        }
        return {"kubernetes.io/hostname": self.hostname, **named}


@dataclass(slots=True)
class Node:
    """The node as the agent knows it. Times are epoch seconds of the shell's clock."""

    facts: Facts
    cgroup_driver: str
    runtime_version: str = ""
    runtime_ok_at: float = NEVER_AT
    not_ready: str = ""
    """Why the runtime itself says that it is not ready, in the kubelet's words."""
    no_network: str = ""
    pleg: PlegHealth | None = None
    _ready: bool | None = None
    _turned_at: float = field(default=0.0)

    def runtime_state(self, now: float) -> RuntimeState:
        """What the shards must know: may they sync (section 2.1), may sandboxes be made.

        A PLEG that has not spoken to this actor yet is no trouble: a shard waits for its roster anyway.
        """
        down = self._runtime_trouble(now) or (pleg_trouble(self.pleg, now) if self.pleg else "")
        reason = down or self.no_network
        return RuntimeState(not down, not self.no_network, reason, self.cgroup_driver, self.facts.ips)

    def _runtime_trouble(self, now: float) -> str:
        if self.runtime_ok_at == NEVER_AT:
            return "container runtime status check may not have completed yet"
        if now - self.runtime_ok_at > RUNTIME_DOWN_S:
            return "container runtime is down"
        return self.not_ready

    def troubles(self, now: float) -> list[str]:
        """Everything that keeps the node from being ready."""
        return [why for why in (self._runtime_trouble(now), pleg_trouble(self.pleg, now), self.no_network) if why]

    def object(self, now: float) -> dict[str, Any]:
        """The v1.Node."""
        troubles = self.troubles(now)
        facts = self.facts
        resources = {"cpu": str(facts.cpus), "memory": f"{facts.memory_bytes // 1024}Ki", "pods": str(MAX_PODS)}
        addresses = [{"type": "InternalIP", "address": ip} for ip in facts.ips]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": facts.node_name, "labels": facts.labels},
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [self._ready_condition(troubles, now)],
                "addresses": [*addresses, {"type": "Hostname", "address": facts.hostname}],
                "nodeInfo": {**facts.info, "containerRuntimeVersion": self.runtime_version},
            },
        }

    def _ready_condition(self, troubles: list[str], now: float) -> dict[str, str]:
        ready = not troubles
        if ready != self._ready:
            self._ready, self._turned_at = ready, now
        joined = troubles[0] if len(troubles) == 1 else f"[{', '.join(troubles)}]"
        return {
            "type": "Ready",
            "status": "True" if ready else "False",
            "reason": "KubeletReady" if ready else "KubeletNotReady",
            "message": "kubelet is posting ready status" if ready else joined,
            "lastHeartbeatTime": rfc3339(now),
            "lastTransitionTime": rfc3339(self._turned_at),
        }


def condition_trouble(kind: str, status: bool, reason: str, message: str) -> str:
    """A CRI condition that is not true, in the kubelet's words; `kind` is RuntimeReady or NetworkReady."""
    if status:
        return ""
    what = "container runtime network not ready" if kind == "NetworkReady" else "container runtime not ready"
    return f"{what}: {kind}=false reason:{reason} message:{message}"
