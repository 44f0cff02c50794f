"""The words of a node's conditions and of the events that tell their turns, as the kubelet's (section 7). Pure."""

from collections.abc import Sequence

READY = "Ready"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
KINDS = (*PRESSURES, READY)
"""In the order in which a new Node gets them."""
SHUTTING_DOWN = "node is shutting down"

_WORDS = {
    ("MemoryPressure", True): ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("MemoryPressure", False): ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", True): ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("DiskPressure", False): ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", True): ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ("PIDPressure", False): ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}  # fmt: skip


def pressure_words(kind: str, on: bool) -> tuple[str, str]:
    """Reason and message."""
    return _WORDS[kind, on]


def ready_words(troubles: Sequence[str]) -> tuple[str, str]:
    """Reason and message; several troubles are joined as Go joins errors."""
    if not troubles:
        return "KubeletReady", "kubelet is posting ready status"
    each = list(dict.fromkeys(troubles))
    return "KubeletNotReady", each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def turn_reason(kind: str, on: bool) -> str:
    """Reason of the event that tells that a condition has turned: `NodeReady`, `NodeHasNoDiskPressure`."""
    if kind == READY:
        return "NodeReady" if on else "NodeNotReady"
    return f"Node{_WORDS[kind, on][0].removeprefix('Kubelet')}"


def runtime_words(kind: str, status: bool, reason: str, message: str) -> str:
    """A CRI condition that is not true, in the kubelet's words; `kind` is RuntimeReady or NetworkReady."""
    if status:
        return ""
    what = "container runtime network not ready" if kind == "NetworkReady" else "container runtime not ready"
    return f"{what}: {kind}=false reason:{reason} message:{message}"
