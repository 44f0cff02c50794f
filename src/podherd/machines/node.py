"""What the node's status says: its Ready condition and its v1.Node (kubelet behaviour, sections 4 and 7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from podherd.wire.node import PlegHealth, RuntimeState

PLEG_UNHEALTHY_S = 180.0
RUNTIME_DOWN_S = 30.0
"""A runtime that was last well longer ago than this is down."""
MAX_PODS = 10_000
"""Capacity for pods that the node reports; the kubelet's default is 110."""
NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Facts:
    """This machine, read once. info: v1.NodeSystemInfo fields that never change while the agent runs."""

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
    runtime_ok_at: float = NEVER
    not_ready: str = ""
    """Why the runtime itself says that it is not ready, in the kubelet's words."""
    no_network: str = ""
    pleg: PlegHealth | None = None
    _ready: bool | None = None
    _turned_at: float = field(default=0.0)

    def runtime_state(self, now: float) -> RuntimeState:
        """What the shards must know: may sandboxes be made."""
        down = self._runtime_trouble(now)
        return RuntimeState(not down, not self.no_network, down or self.no_network, self.cgroup_driver)

    def _runtime_trouble(self, now: float) -> str:
        if self.runtime_ok_at == NEVER:
            return "container runtime status check may not have completed yet"
        if now - self.runtime_ok_at > RUNTIME_DOWN_S:
            return "container runtime is down"
        return self.not_ready

    def _pleg_trouble(self, now: float) -> str:
        if self.pleg is None:
            return "PLEG is not healthy: pleg has yet to be successful"
        silent_s = now - self.pleg.last_relist_at
        if silent_s <= PLEG_UNHEALTHY_S:
            return ""
        return f"PLEG is not healthy: pleg was last seen active {_duration(silent_s)} ago; threshold is 3m0s"

    def troubles(self, now: float) -> list[str]:
        """Everything that keeps the node from being ready."""
        return [why for why in (self._runtime_trouble(now), self._pleg_trouble(now), self.no_network) if why]

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
            "lastHeartbeatTime": _time(now),
            "lastTransitionTime": _time(self._turned_at),
        }


def condition_trouble(kind: str, status: bool, reason: str, message: str) -> str:
    """A CRI condition that is not true, in the kubelet's words; `kind` is RuntimeReady or NetworkReady."""
    if status:
        return ""
    what = "container runtime network not ready" if kind == "NetworkReady" else "container runtime not ready"
    return f"{what}: {kind}=false reason:{reason} message:{message}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _duration(seconds: float) -> str:
    """As Go prints a duration: `3m5s`, `1h0m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s" if minutes else f"{rest}s"
