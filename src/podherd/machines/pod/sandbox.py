"""Whether a pod needs a new sandbox (kubelet behaviour, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from podherd.model.pod import Pod
from podherd.wire.observed import SandboxSeen


@dataclass(frozen=True, slots=True)
class SandboxNeed:
    """why: empty when the newest sandbox `id` serves; else the text of the condition, and the new one's attempt."""

    why: str
    id: str
    attempt: int


def sandbox_need(pod: Pod, sandboxes: Sequence[SandboxSeen]) -> SandboxNeed:
    """Judge the newest of `sandboxes` (newest first)."""
    if not sandboxes:
        return SandboxNeed("no pod sandbox exists", "", 0)
    newest = sandboxes[0]
    return SandboxNeed(_why(pod, newest, sandboxes), newest.id, newest.attempt + 1)


def _why(pod: Pod, newest: SandboxSeen, sandboxes: Sequence[SandboxSeen]) -> str:
    if len(sandboxes) > 1 and sum(sandbox.ready for sandbox in sandboxes) > 1:
        return "multiple pod sandboxes are ready and need to be reconciled"
    if not newest.ready:
        return "pod sandbox is not ready"
    if newest.host_network != pod.host_network:
        return "network namespace mode changed and sandbox needs to be recreated"
    if newest.ips and not newest.ips[0] and not pod.host_network:
        return "pod sandbox has no IP address"
    return ""
