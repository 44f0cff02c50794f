"""Pods and nodes for the tests of admission."""

from dataclasses import replace

from podherd.machines.admission import Admission, ask_of
from podherd.wire.node import NodeFacts

FACTS = NodeFacts(
    "n1", "", False, {"kubernetes.io/os": "linux", "zone": "a", "cores": "8"}, {}, (), {},
    {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "10Gi", "pods": "4"},
)  # fmt: skip


def body(name="p", requests=None, *, limits=None, static=False, labels=None, status=None, deleting=False, **spec):
    resources = {"requests": requests or {}, **({"limits": limits} if limits else {})}
    spec.setdefault("containers", [{"name": "c", "image": "x", "resources": resources}])
    metadata = {"uid": f"u-{name}", "namespace": "default", "name": name, "labels": labels or {}}
    if not static:
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": spec, "status": status or {}}


def admission(**facts):
    made = Admission()
    made.use(replace(FACTS, **facts))
    return made


def judge(made, pod, *, static=False, problem=("", "")):
    return made.judge(ask_of(pod, static), pod, problem)


def word(made, pod, **how):
    """`reason: message`, `waits for uid…`, or empty for a pod that may run."""
    verdict = judge(made, pod, **how)
    if verdict.waits:
        return f"waits for {' '.join(victim.uid for victim in verdict.evict)}"
    return f"{verdict.refused}: {verdict.message}" if verdict.refused else ""
