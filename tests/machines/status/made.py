"""Messages for the status machine."""

from typing import Any

from podherd.machines.status.restarts import told_restarts
from podherd.wire import codec
from podherd.wire.api import ApiPod
from podherd.wire.desired import Desired
from podherd.wire.node import NodeFacts
from podherd.wire.status import StatusChanged

T0 = "2026-01-01T00:00:00Z"
T1 = "2026-01-01T00:01:00Z"
NODE = "n1"
Status = dict[str, Any]


def condition(kind: str, status: str, at: str = T0, **more: Any) -> Status:
    return {"type": kind, "status": status, "lastTransitionTime": at, **more}


def container(state: str = "running", name: str = "a", exit_code: int = 0) -> Status:
    what: Status = {
        "running": {"startedAt": T0}, "waiting": {"reason": "ContainerCreating"},
        "terminated": {"exitCode": exit_code, "reason": "Completed"},
    }[state]  # fmt: skip
    ready = state == "running"
    return {"name": name, "state": {state: what}, "lastState": {}, "ready": ready, "restartCount": 0, "image": "i:1"}


def status(phase: str, *containers: Status, **more: Any) -> Status:
    ready = "True" if phase == "Running" else "False"
    return {
        "phase": phase, "conditions": [condition("Ready", ready)], "startTime": T0, "qosClass": "BestEffort",
        **({"containerStatuses": list(containers)} if containers else {}), **more,
    }  # fmt: skip


RUNNING = status("Running", container())
FAILED = status("Failed", container("terminated", exit_code=1))


def local(
    what: Status,
    uid: str = "u1",
    name: str = "p",
    *,
    source: str = "api",
    finished: bool = False,
    deleting: bool = False,
    stopped: bool = True,
) -> StatusChanged:
    return StatusChanged(
        uid, "ns", name, what.get("phase", ""), source, deleting, 0.0, codec.pack(what), (), finished, stopped
    )  # fmt: skip


def api_pod(
    what: Status | None = None, uid: str = "u1", name: str = "p", *, version: str = "10", deleting: bool = False,
    mirror_of: str = "", policy: str = "Always",
) -> ApiPod:  # fmt: skip
    held = {"phase": "Pending", "qosClass": "BestEffort"} if what is None else what
    restarts = told_restarts({"restartPolicy": policy, "containers": []})
    return ApiPod(uid, "ns", name, version, deleting, mirror_of, codec.pack(held), restarts)


def static(uid: str = "s1", name: str = "p") -> Desired:
    annotations = {"kubernetes.io/config.hash": uid, "kubernetes.io/config.source": "file", "mine": "yes"}
    body = {
        "apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending"},
        "metadata": {"name": name, "namespace": "ns", "uid": uid, "annotations": annotations},
        "spec": {"nodeName": NODE, "containers": [{"name": "a", "image": "i:1"}]},
    }  # fmt: skip
    return Desired(uid, "ns", name, "file", codec.pack(body), "file created")


def facts(uid: str = "node-uid", *, deleting: bool = False) -> NodeFacts:
    return NodeFacts(NODE, uid, deleting, {}, {}, (), {}, {})
