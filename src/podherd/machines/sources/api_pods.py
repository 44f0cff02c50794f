"""What the API server holds of this node's pods, as the status actor is told it: mirror pods too."""

from podherd.machines.sources.claims import Name
from podherd.machines.sources.events import ApiItem
from podherd.machines.sources.instructions import Instruction, TellStatus
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster


class ApiPods:
    """By uid; `problems` has for each pod that cannot run here a reason and a message."""

    def __init__(self) -> None:
        self.seen = False
        self.problems: dict[str, tuple[str, str]] = {}
        self._pods: dict[str, ApiPod] = {}

    def put(self, item: ApiItem) -> list[Instruction]:
        """The pod is as the item says now."""
        pod = ApiPod(
            item.uid,
            item.namespace,
            item.name,
            item.resource_version,
            item.deleting,
            item.mirror_of,
            item.status,
            item.restarts,
        )
        if item.body:
            self.problems.pop(item.uid, None)
        if item.refused:
            self.problems[item.uid] = item.refused, item.message
        if self._pods.get(item.uid) == pod:
            return []
        self._pods[item.uid] = pod
        return [TellStatus(pod)]

    def status(self, uid: str) -> bytes:
        """msgpack of its v1.PodStatus; empty for a pod that the API server does not have."""
        return pod.status if (pod := self._pods.get(uid)) is not None else b""

    def drop(self, uid: str) -> tuple[Name, list[Instruction]] | None:
        """The pod is gone; its name. None for one that was not known."""
        self.problems.pop(uid, None)
        if (pod := self._pods.pop(uid, None)) is None:
            return None
        name = pod.namespace, pod.name
        return name, [TellStatus(ApiPodGone(uid, *name))]

    def unlisted(self, uids: tuple[str, ...]) -> list[str]:
        """The uids that are known and not among these."""
        return sorted(self._pods.keys() - set(uids))

    def roster(self) -> list[Instruction]:
        """All uids, once the server has been heard."""
        return [TellStatus(ApiRoster(tuple(self._pods)))] if self.seen else []

    def whole(self) -> list[Instruction]:
        """Everything, for a status actor that knows nothing."""
        return [*(TellStatus(pod) for pod in self._pods.values()), *self.roster()]
