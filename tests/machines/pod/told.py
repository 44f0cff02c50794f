"""Pods of every kind of container, and the status of a record that was seen so: no plan, no machine around it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.machines.pod.builders import POLICY, T0, container, exited, observed, sandbox

from podherd.machines.pod.phase import phase
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Failure, Record
from podherd.machines.pod.status import pod_status
from podherd.machines.times import NEVER_AT
from podherd.model import keys
from podherd.model.pod import Body, Pod
from podherd.model.view import pod_of
from podherd.wire.observed import ContainerSeen, SandboxSeen

IMAGE = "reg.test/app:1"
RESTART_ALL_ON_42 = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
RESTART_ON_42 = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]


def one(name: str, **body: Any) -> Body:
    return {"name": name, "image": IMAGE, "imagePullPolicy": "IfNotPresent"} | body


def sidecar(name: str, **body: Any) -> Body:
    return one(name, restartPolicy="Always", **body)


def _bodies(given: Iterable[str | Body]) -> list[Body]:
    return [one(each) if isinstance(each, str) else each for each in given]


def pod(
    app: Iterable[str | Body] = ("main",),
    init: Iterable[str | Body] = (),
    debug: Iterable[str | Body] = (),
    restart: str = "Always",
    source: str = keys.SOURCE_FILE,
    status: Body | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod through the real view of its body; containers by name or as bodies."""
    body: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "default", "uid": "u1", "annotations": {keys.CONFIG_SOURCE: source}}
        | dict(metadata or {}),
        "spec": {"restartPolicy": restart, "terminationGracePeriodSeconds": 30, "containers": _bodies(app)} | spec,
        "status": status or {"phase": "Pending"},
    }
    if init:
        body["spec"]["initContainers"] = _bodies(init)
    if debug:
        body["spec"]["ephemeralContainers"] = _bodies(debug)
    return pod_of(body)


@dataclass
class Case:
    """One pod and what is seen of it, one view after the other; `fail` are recorded start failures by container."""

    pod: Pod = field(default_factory=pod)
    views: list[tuple[Iterable[SandboxSeen], Iterable[ContainerSeen]]] = field(default_factory=list)
    fail: dict[str, tuple[str, str]] = field(default_factory=dict)
    ending: bool = False
    reason: tuple[str, str] = ("", "")
    policy: Policy = POLICY

    def record(self) -> Record:
        record = Record("u1", "default", "web", T0 + 1, None)
        record.want(self.pod, "test")
        for at, (boxes, containers) in enumerate(self.views, start=2):
            record.see(observed(T0 + at, boxes, containers))
        record.failures = {name: Failure(*words, NEVER_AT) for name, words in self.fail.items()}
        record.reason, record.message = self.reason
        if self.ending:
            record.end("deleted", 30)
        return record

    def status(self, now: float = T0 + 9) -> Any:
        return told(self.record(), now, self.policy)


def told(record: Record, now: float = T0 + 9, policy: Policy = POLICY) -> Any:
    """What would be published of this record now."""
    assert record.pod is not None
    ended = record.ending is not None and not record.live
    record.phase = phase(record, record.pod, ended)
    return pod_status(record, record.pod, policy, ended, now)


def case(
    of: Pod | None = None,
    *containers: ContainerSeen,
    boxes: Iterable[SandboxSeen] | None = None,
    before: Iterable[ContainerSeen] | None = None,
    **more: Any,
) -> Case:
    """A pod of which `containers` are seen in `boxes`, or in its one ready sandbox; `before`: what was seen earlier."""
    boxes = [sandbox()] if boxes is None else list(boxes)
    views: list[Any] = [] if before is None else [([sandbox()], before)]
    return Case(of or pod(), [*views, (boxes, containers)], **more)


def runs(name: str, id: str = "", **more: Any) -> ContainerSeen:  # noqa: A002
    return container(id or f"{name}-0", name, **more)


def done(name: str, code: int = 0, id: str = "", **more: Any) -> ContainerSeen:  # noqa: A002
    words = {"reason": "Error" if code else "Completed"} | more
    return exited(id or f"{name}-0", T0 + 4, code, name=name, **words)


def created(name: str, **more: Any) -> ContainerSeen:
    return container(f"{name}-0", name, state="created", started_at=0.0, **more)


def unknown(name: str) -> ContainerSeen:
    return container(f"{name}-0", name, state="unknown")


def by_name(status: Any, kind: str = "containerStatuses") -> dict[str, Any]:
    return {each["name"]: each for each in status[kind]}


def condition(status: Any, kind: str) -> tuple[str, str, str]:
    found = next(each for each in status["conditions"] if each["type"] == kind)
    return found["status"], found.get("reason", ""), found.get("message", "")
