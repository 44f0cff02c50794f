"""All that is known of one pod name: what the API server holds under it, what the node says, what is under way.

The API server holds at most one object of a name; the node may know two pods of it, when a static pod was edited.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from podherd.machines.status.events import MirrorMade, Patched
from podherd.machines.status.instructions import Request
from podherd.machines.status.tries import Failures, Repeats
from podherd.wire.api import ApiPod
from podherd.wire.status import StatusChanged

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a pod."""


@dataclass(frozen=True, slots=True)
class Static:
    """A static pod that should run. mark: its config.hash; body: msgpack of the v1.Pod."""

    uid: str
    mark: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Flight:
    """A request under way, and the local status that a patch was made of."""

    request: Request
    local: StatusChanged | None = None


@dataclass(slots=True)
class Lane:
    """held: the API's object as last known; told: sources know of it too. buried: a uid that the API has no more.

    locals: by uid, the node's statuses. free_at: since when the object has no pod on this node (None: it has one).
    """

    held: ApiPod | None = None
    told: bool = False
    buried: str = ""
    static: Static | None = None
    locals: dict[str, StatusChanged] = field(default_factory=dict)
    flight: Flight | None = None
    failures: Failures = field(default_factory=Failures)
    repeats: Repeats = field(default_factory=Repeats)
    free_at: float | None = None
    wake_at: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to remember."""
        return not (self.held or self.static or self.locals or self.flight)

    def hold(self, pod: ApiPod) -> bool:
        """Take news of the watch, unless they are older than what is known; whether anything is new."""
        held = self.held
        if pod.uid == self.buried or pod == held:
            return False
        if held is None or held.uid != pod.uid:
            if held is not None and not self.told and not _is_newer(pod.resource_version, held.resource_version, True):
                return False
            self.held, self.told, self.free_at = pod, True, None
            return True
        self.told = True
        patching = self.flight is not None
        if not _is_newer(pod.resource_version, held.resource_version, not patching):
            pod = replace(pod, resource_version=held.resource_version, status=held.status)
        elif self.failures.conflict:
            self.failures.until = 0.0
        pod = replace(pod, deleting=pod.deleting or held.deleting)
        self.held = pod
        return pod != held

    def patched(self, answer: Patched) -> bool:
        """Take the answer to a patch; False where the watch was faster and knows more."""
        held = self.held
        if held is None or held.uid != answer.uid:
            return False
        newer = _is_newer(answer.resource_version, held.resource_version, True)
        if newer:
            held = replace(held, resource_version=answer.resource_version, status=answer.status)
        self.held = replace(held, deleting=held.deleting or answer.deleting)
        return newer or held.resource_version == answer.resource_version

    def made(self, answer: MirrorMade, mark: str) -> None:
        """Take the new mirror pod, of which the watch may know already."""
        if self.held is not None and self.held.uid == answer.uid:
            return
        uid, version = answer.uid, answer.resource_version
        self.held = ApiPod(uid, answer.namespace, answer.name, version, False, mark, answer.status)
        self.told, self.free_at = False, None

    def bury(self, uid: str) -> None:
        """The API has no object of this uid, and never will have one again."""
        self.buried = uid
        if self.held is not None and self.held.uid == uid:
            self.held, self.free_at = None, None

    def local(self) -> StatusChanged | None:
        """The node's status of the pod that the API's object stands for."""
        held = self.held
        if held is None:
            return None
        if not held.mirror_of:
            return self.locals.get(held.uid)
        mirrored = self.static is not None and self.static.mark == held.mirror_of
        return self.locals.get(self.static.uid if mirrored and self.static else held.mirror_of)


def _is_newer(version: str, than: str, otherwise: bool) -> bool:
    """Whether a resourceVersion is later; they are numbers (KEP-5504), and what is none cannot be compared."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return otherwise
