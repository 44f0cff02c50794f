"""The addresses of a pod and of its host, as its status tells them (kubelet behaviour, section 6.2)."""

from typing import Any

from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.model.pod import Pod


def addresses(record: Record, pod: Pod, policy: Policy) -> dict[str, Any]:
    """hostIP and podIP with their lists: at most one address per family, the node's primary family first."""
    found: dict[str, Any] = {}
    hosts = policy.host_ips
    if hosts:
        found["hostIP"] = hosts[0]
        found["hostIPs"] = [{"ip": ip} for ip in hosts]
    sandbox = record.sandboxes[0] if record.sandboxes else None
    if sandbox is not None and (ips := _one_per_family(hosts if pod.host_network else sandbox.ips, hosts)):
        found["podIP"] = ips[0]
        found["podIPs"] = [{"ip": ip} for ip in ips]
    return found


def _one_per_family(ips: tuple[str, ...], hosts: tuple[str, ...]) -> list[str]:
    if len(ips) == 1:
        return [ips[0]] if ips[0] else []
    families: dict[bool, str] = {}
    for ip in ips:
        if ip:
            families.setdefault(_is_v6(ip), ip)
    primary = bool(hosts) and _is_v6(hosts[0])
    return [families[family] for family in (primary, not primary) if family in families]


def _is_v6(ip: str) -> bool:
    return ":" in ip
