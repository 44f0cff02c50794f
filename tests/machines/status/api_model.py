"""A tiny API server for pods: strategic merge of statuses, resourceVersions, uids, and a watch that may lag behind."""

from dataclasses import dataclass
from typing import Any

from tests.machines.status.made import Status

from podherd.errors import ApiError
from podherd.machines.status.restarts import told_restarts
from podherd.model.keys import CONFIG_MIRROR
from podherd.model.status import TERMINAL
from podherd.wire import codec
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster

RESTARTS = told_restarts({"restartPolicy": "Always"})


@dataclass
class Stored:
    """One pod. mark: of a mirror pod."""

    uid: str
    version: int
    status: Status
    deleting: bool = False
    mark: str = ""


class ApiModel:
    """`news` is what the watch has not told yet. Phases are watched: a terminal one must never be left."""

    def __init__(self) -> None:
        self.pods: dict[str, Stored] = {}
        self.news: list[ApiPod | ApiPodGone] = []
        self.told: dict[str, ApiPod] = {}
        self._version = 1
        self._made = 0

    def create(self, name: str, body: Status | None = None) -> Stored:
        """Raises ApiError 409 where the name is taken."""
        if name in self.pods:
            raise ApiError(name, 409, "AlreadyExists", f'pods "{name}" already exists')
        self._made += 1
        mark = ((body or {}).get("metadata", {}).get("annotations") or {}).get(CONFIG_MIRROR, "")
        stored = self.pods[name] = Stored(
            f"uid-{self._made}", 0, {"phase": "Pending", "qosClass": "BestEffort"}, mark=mark
        )
        self._changed(name, stored)
        return stored

    def patch(self, name: str, metadata: Status, patch: Status) -> Stored:
        """Of the status. Raises ApiError 404, 409 and 422, as the real one."""
        stored = self.pods.get(name)
        if stored is None:
            raise ApiError(name, 404, "NotFound", f'pods "{name}" not found')
        if stored.uid != metadata["uid"]:
            raise ApiError(name, 422, "Invalid", f'Pod "{name}" is invalid: metadata.uid: field is immutable')
        if metadata.get("resourceVersion", str(stored.version)) != str(stored.version):
            raise ApiError(name, 409, "Conflict", "the object has been modified; please apply your changes")
        after = merged(stored.status, patch)
        assert stored.status["phase"] not in TERMINAL or after["phase"] == stored.status["phase"], (
            "left a terminal phase"
        )
        if after != stored.status:
            stored.status = after
            self._changed(name, stored)
        return stored

    def delete(self, name: str, uid: str) -> None:
        """For good. Raises ApiError 409 for another uid."""
        stored = self.pods.get(name)
        if stored is None:
            return
        if stored.uid != uid:
            raise ApiError(name, 409, "Conflict", "Precondition failed: UID in precondition: x, UID in object meta: y")
        del self.pods[name]
        self.news.append(ApiPodGone(uid, "ns", name))

    def mark_deleting(self, name: str) -> None:
        """A user's delete with grace."""
        if (stored := self.pods.get(name)) is not None and not stored.deleting:
            stored.deleting = True
            self._changed(name, stored)

    def meddle(self, name: str, what: Status) -> None:
        """Somebody else writes into the status."""
        if (stored := self.pods.get(name)) is not None:
            stored.status = stored.status | what
            self._changed(name, stored)

    def tell(self, most: int) -> list[ApiPod | ApiPodGone]:
        """The watch's next news."""
        now, self.news = self.news[:most], self.news[most:]
        for each in now:
            if isinstance(each, ApiPod):
                self.told[each.uid] = each
            else:
                self.told.pop(each.uid, None)
        return now

    def whole(self) -> list[Any]:
        """What sources answer to a Hello: all that the watch has told, and the roster."""
        return [*self.told.values(), ApiRoster(tuple(self.told))]

    def _changed(self, name: str, stored: Stored) -> None:
        self._version += 1
        stored.version = self._version
        status = codec.pack(stored.status)
        pod = ApiPod(stored.uid, "ns", name, str(stored.version), stored.deleting, stored.mark, status, RESTARTS)
        self.news.append(pod)


def merged(old: Status, patch: Status) -> Status:
    """A strategic merge of two v1.PodStatus."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif key == "conditions":
            new[key] = _conditions(old.get(key) or [], value)
        elif key in ("podIPs", "hostIPs"):
            assert value[0] == {"$patch": "replace"}
            new[key] = value[1:]
        else:
            new[key] = value
    return new


def _conditions(old: list[Status], patch: list[Status]) -> list[Status]:
    by_type = {each["type"]: each for each in old}
    for each in patch:
        if each.get("$patch") == "delete":
            by_type.pop(each["type"], None)
        else:
            joined = by_type.get(each["type"], {}) | each
            by_type[each["type"]] = {key: value for key, value in joined.items() if value is not None}
    return list(by_type.values())
