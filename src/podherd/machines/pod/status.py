"""The v1.PodStatus of a pod (kubelet behaviour, section 6)."""

from typing import Any

from podherd.machines.pod.addresses import addresses
from podherd.machines.pod.conditions import Facts, conditions
from podherd.machines.pod.container_status import Status, View, container_status
from podherd.machines.pod.init_status import incomplete, init_statuses
from podherd.machines.pod.phase import api_phase, was_initialised
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.machines.pod.sandbox import sandbox_need
from podherd.machines.pod.told_spec import Part, ToldSpec, told_spec
from podherd.machines.pod.told_time import told_time
from podherd.model import keys
from podherd.model.pod import Pod
from podherd.model.status import TERMINAL


def pod_status(record: Record, pod: Pod, policy: Policy, ended: bool, now: float) -> dict[str, Any]:
    """The whole status, with the record's phase; moves its conditions. ended: terminated, and nothing runs any more.

    Of a pod that was refused before anything of it ran only why.
    """
    spec = _told_spec(record, pod, policy)
    if record.refused and not record.newest:
        return {"phase": record.phase, **_generation(spec), **_reason(record, pod), "qosClass": record.qos}
    view = _view(record, spec, policy, ended)
    inits = init_statuses(view) if spec.inits else []
    regular = [container_status(view, frame) for frame in spec.regular]
    trouble = sandbox_need(pod, record.sandboxes).why
    unready, waiting = _unready(spec, inits, regular), incomplete(view, inits) if inits else ()
    facts = Facts(unready, waiting, trouble, now, bool(record.unlike))
    status: Part = {"phase": record.phase, "conditions": conditions(record, spec, facts)}
    status |= _generation(spec)
    status |= _reason(record, pod)
    status |= addresses(record, pod, policy)
    status["startTime"] = told_time(record.first_seen)
    status["qosClass"] = record.qos
    status["containerStatuses"] = regular
    if inits:
        status["initContainerStatuses"] = inits
    if spec.ephemeral:
        status["ephemeralContainerStatuses"] = [container_status(view, frame) for frame in spec.ephemeral]
    return status


def _told_spec(record: Record, pod: Pod, policy: Policy) -> ToldSpec:
    spec = record.told_spec
    if spec is None or spec.pod is not pod or spec.handlers != policy.recursive_read_only:
        spec = record.told_spec = told_spec(pod, policy.recursive_read_only)
    return spec


def _generation(spec: ToldSpec) -> Part:
    return {} if spec.generation is None else {"observedGeneration": spec.generation}


def _view(record: Record, spec: ToldSpec, policy: Policy, ended: bool) -> View:
    terminal = record.phase in TERMINAL
    return View(
        record=record,
        spec=spec,
        policy=policy,
        initialised=not spec.inits or was_initialised(record, spec.pod, ended),
        over=terminal or record.ending is not None,
        final=ended or (terminal and not record.live),
    )


def _unready(spec: ToldSpec, inits: list[Status], regular: list[Status]) -> list[str]:
    """Names in the order of the spec, sidecars first."""
    unready = {status["name"] for status in (*inits, *regular) if not status["ready"]}
    return [container.name for container in spec.readers if container.name in unready] if unready else []


def _reason(record: Record, pod: Pod) -> Part:
    """Why the pod is in its phase; as long as that is the API's, the API's words hold."""
    if record.reason:
        return {"reason": record.reason} | ({"message": record.message} if record.message else {})
    if pod.source != keys.SOURCE_API or api_phase(pod) != record.phase:
        return {}
    return {key: value for key in ("reason", "message") if (value := pod.body["status"].get(key))}
