"""Which container of a pod a person means, for logs, exec and attach."""

from typing import Any

from podherd.server import pod_table
from podherd.server.replies import NotFoundError
from podherd.wire.status import StatusChanged

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
KINDS = ("containers", "initContainers", "ephemeralContainers")
"""Lists of containers in a pod's spec; a sidecar is an init container."""
NOTE_HEADER = "X-Podherd-Note"
"""Carries the note of `choose` to the person."""


def choose(pod: dict[str, Any], wanted: str, row: StatusChanged) -> tuple[str, str]:
    """The container to use, and a note when it was chosen for the user. NotFoundError names those there are.

    pod: the v1.Pod, or nothing where its shard does not know it: then the names come from the status.
    """
    names, regular = _names(pod.get("spec") or {}, ""), _names(pod.get("spec") or {}, "", ("containers",))
    if not names:
        status = pod_table.status_of(row)
        names, regular = _names(status, "Statuses"), _names(status, "Statuses", ("containers",))
    if wanted or not names:
        if wanted not in names:
            there_are = f"it has: {', '.join(names)}" if names else ""
            raise NotFoundError(f"container {wanted}", f"pod {row.name} has no such container", there_are)
        return wanted, ""
    default = ((pod.get("metadata") or {}).get("annotations") or {}).get(DEFAULT_CONTAINER, "")
    if default in names:
        return default, ""
    first = (regular or names)[0]
    return first, f'Defaulted container "{first}" out of: {", ".join(names)}' if len(names) > 1 else ""


def _names(lists: dict[str, Any], ending: str, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """Names in `initContainers`… of a spec, or with the ending `Statuses` in `initContainerStatuses`… of a status."""
    keys = [kind.removesuffix("s") + ending if ending else kind for kind in kinds]
    return [container["name"] for key in keys for container in lists.get(key) or ()]


def spec_of(pod: dict[str, Any], name: str) -> dict[str, Any]:
    """The v1.Container of this name, empty when the pod does not tell."""
    spec = pod.get("spec") or {}
    found: dict[str, Any] = next((one for kind in KINDS for one in spec.get(kind) or () if one["name"] == name), {})
    return found
