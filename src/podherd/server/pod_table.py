"""What the server knows of each pod: the last StatusChanged by uid. Bodies stay packed until someone asks."""

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from podherd.model.status import TERMINAL
from podherd.wire import codec
from podherd.wire.status import PodForgotten, StatusChanged


class PodTable:
    """Pods by uid; an edited static pod is two of them under one name until the old one is gone."""

    def __init__(self) -> None:
        self._rows: dict[str, StatusChanged] = {}
        self._doubted: dict[str, float] = {}
        self._phases: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, changed: StatusChanged) -> None:
        """Take the newest status of a pod."""
        if before := self._rows.get(changed.uid):
            self._phases[before.phase] -= 1
        self._phases[changed.phase] += 1
        self._rows[changed.uid] = changed
        self._doubted.pop(changed.uid, None)

    def forget(self, gone: PodForgotten) -> None:
        """Nothing is left of the pod."""
        if before := self._rows.pop(gone.uid, None):
            self._phases[before.phase] -= 1
        self._doubted.pop(gone.uid, None)

    def doubt(self, uids: Iterator[str], at: float) -> None:
        """The owner of these pods restarted: until it speaks of them again they may be gone without a word."""
        self._doubted.update(dict.fromkeys(uids, at))

    def trust(self, uid: str) -> None:
        """The owner knows the pod."""
        self._doubted.pop(uid, None)

    @property
    def in_doubt(self) -> int:
        """How many pods are doubted."""
        return len(self._doubted)

    def doubted(self, until: float) -> list[StatusChanged]:
        """Pods whose owner restarted at `until` or before and has not spoken of them since."""
        return [row for uid, at in self._doubted.items() if at <= until and (row := self._rows.get(uid))]

    def phases(self) -> dict[str, int]:
        """How many pods are in each phase that any is in; kept, not counted."""
        return {phase: count for phase, count in self._phases.items() if count}

    def row(self, uid: str) -> StatusChanged | None:
        """The pod with this uid."""
        return self._rows.get(uid)

    def rows(self) -> list[StatusChanged]:
        """Every pod, by namespace and name, the older of two with one name first."""
        return sorted(self._rows.values(), key=lambda row: (row.namespace, row.name, row.created_at))

    def find(self, namespace: str, name: str) -> StatusChanged | None:
        """The pod of this name; of two, the one that is not on its way out, then the younger."""
        same = [row for row in self._rows.values() if row.name == name and row.namespace == namespace]
        return max(same, key=lambda row: (not row.deleting, row.created_at), default=None)


def status_of(row: StatusChanged) -> dict[str, Any]:
    """The row's v1.PodStatus."""
    status: dict[str, Any] = codec.unpack(row.status)
    return status


def as_json(row: StatusChanged) -> dict[str, Any]:
    """A row as the admin API lists it: what tables need, without the spec."""
    return {
        "uid": row.uid,
        "namespace": row.namespace,
        "name": row.name,
        "source": row.source,
        "phase": row.phase,
        "deleting": row.deleting,
        "createdAt": row.created_at,
        "status": status_of(row),
        "sidecars": row.sidecars,
    }


class Resolved(list[StatusChanged]):
    """The pods that a person's word for a pod may mean; `near`: names to suggest when there is none."""

    near: tuple[str, ...] = ()


def resolve(table: PodTable, word: str, namespace: str, node_name: str) -> Resolved:
    """Pods meant by `name`, `namespace/name`, or a static pod's name without its `-<node>` suffix.

    An exact name wins over one without suffix. namespace: where to look; empty is everywhere.
    """
    wanted_namespace, _, wanted = word.rpartition("/")
    wanted_namespace = wanted_namespace or namespace
    keys = {(row.namespace, row.name) for row in table.rows() if wanted_namespace in ("", row.namespace)}
    exact = {key for key in keys if key[1] == wanted}
    meant = exact or {key for key in keys if key[1] == f"{wanted}-{node_name.lower()}"}
    found = Resolved(row for key in sorted(meant) if (row := table.find(*key)))
    if not found:
        found.near = _near(wanted, sorted({f"{row.namespace}/{row.name}" for row in table.rows()}))
    return found


def _near(wanted: str, keys: list[str]) -> tuple[str, ...]:
    names = {key.partition("/")[2]: key for key in keys}
    close = get_close_matches(wanted, names, n=3, cutoff=0.5) or [name for name in names if wanted in name][:3]
    return tuple(names[name] for name in close)


def is_over(row: StatusChanged | None, container: str, attempt: int) -> bool:
    """Whether this attempt of a container will write no more to its log, as far as the pod's status tells.

    A status that is behind the attempt (a start that is not reported yet) says nothing: then it is not over.
    """
    if row is None:
        return True
    found = _container_status(row, container)
    return row.phase in TERMINAL or (found is not None and _is_over(found, attempt))


def state_of(row: StatusChanged, container: str) -> dict[str, Any] | None:
    """The v1.ContainerState of a container of any kind, None when the status does not know it."""
    found = _container_status(row, container)
    return None if found is None else found.get("state") or {}


def _container_status(row: StatusChanged, container: str) -> dict[str, Any] | None:
    status = status_of(row)
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for found in status.get(kind) or ():
            if found["name"] == container:
                return dict(found)
    return None


def _is_over(status: dict[str, Any], attempt: int) -> bool:
    count = int(status.get("restartCount", 0))
    state = status.get("state") or {}
    if count != attempt:
        return count > attempt
    return "terminated" in state or ("waiting" in state and "terminated" in (status.get("lastState") or {}))
