"""What a manifest may ask for and this version does not do: one table, read by people and by the parser.

A row is deleted by the change that makes its feature work. REFUSE where ignoring the field would let the pod behave
wrongly or less safely than it says; WARN where the pod is still right without it. Everything else in the API either
works or has no meaning on a node without an API server.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from podherd.model.problem import Problem

Test = Callable[[Any, Mapping[str, Any]], bool]
"""Does the row speak of this value? Its parent mapping comes along."""


class Effect(Enum):
    """What happens to a pod that uses the field."""

    REFUSE = "refused"
    WARN = "warned of"


class Row(NamedTuple):
    """One field: where (`[]` is each item), what happens, what to say; `when` narrows it to some values."""

    path: str
    effect: Effect
    note: str
    when: Test = lambda value, _parent: bool(value)


_KUBE_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_NO_VOLUME = (
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker",
    "gcePersistentDisk", "gitRepo", "glusterfs", "iscsi", "nfs", "photonPersistentDisk", "portworxVolume", "quobyte",
    "rbd", "scaleIO", "storageos", "vsphereVolume",
)  # fmt: skip
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _given(_value: Any, _parent: Mapping[str, Any]) -> bool:
    return True


def _on_disk(_value: Any, parent: Mapping[str, Any]) -> bool:
    return not parent.get("medium")


def _has_device(value: Any, _parent: Mapping[str, Any]) -> bool:
    return any(name not in _KUBE_RESOURCES and not name.startswith("hugepages-") for name in value)


TABLE: tuple[Row, ...] = (
    Row("spec.containers[].volumeDevices", Effect.REFUSE, "block volumes"),
    Row("spec.containers[].resources.claims", Effect.REFUSE, "resource claims"),
    *(Row(f"spec.volumes[].{kind}", Effect.REFUSE, f"{kind} volumes", _given) for kind in _NO_VOLUME),
    Row("spec.resourceClaims", Effect.REFUSE, "resource claims"),
    Row("spec.schedulingGates", Effect.REFUSE, "scheduling gates"),
    Row("spec.os.name", Effect.REFUSE, "Windows pods", lambda value, _parent: value == "windows"),
    *(Row(f"spec.containers[].{probe}", Effect.WARN, "probes: the container counts as started and ready once it runs",
          _given) for probe in _PROBES),
    Row("spec.containers[].resources.limits", Effect.WARN, "device plugins: the container gets no device",
        _has_device),
    Row("spec.volumes[].emptyDir.sizeLimit", Effect.WARN, "enforcing a size on disk", _on_disk),
    Row("spec.topologySpreadConstraints", Effect.WARN, "spreading: the pod runs here"),
)  # fmt: skip


def findings(pod: Mapping[str, Any]) -> tuple[list[Problem], list[str]]:
    """The refused fields as problems, and one warning for each field that is only warned of."""
    refused: list[Problem] = []
    warnings: list[str] = []
    for path, row in _used(pod, _tree(), ""):
        if row.effect is Effect.REFUSE:
            refused.append(Problem(path, f"not supported yet: {row.note}", "leave it out, or use a later version"))
        else:
            warnings.append(f"{path}: not supported yet: {row.note}")
    return refused, warnings


class _Branch(NamedTuple):
    rows: list[Row]
    fields: dict[str, "_Branch"]


@cache
def _tree() -> _Branch:
    """The table by field, so that a pod is walked along its own fields only; init containers have the same rows."""
    root = _Branch([], {})
    for row in TABLE:
        branch = root
        for name in row.path.split("."):
            branch = branch.fields.setdefault(name, _Branch([], {}))
        branch.rows.append(row)
    spec = root.fields["spec"].fields
    spec["initContainers[]"] = spec["containers[]"]
    return root


def _used(value: Mapping[str, Any], branch: _Branch, path: str) -> Iterator[tuple[str, Row]]:
    for name, below in branch.fields.items():
        field = name.removesuffix("[]")
        if field not in value:
            continue
        item, here = value[field], f"{path}.{field}" if path else field
        for row in below.rows:
            if row.when(item, value):
                yield here, row
        if field != name:
            for index, one in enumerate(item):
                yield from _used(one, below, f"{here}[{index}]")
        elif below.fields:
            yield from _used(item, below, here)
