"""The plan of one running pod: the one place where the rules meet (kubelet behaviour, sections 3.1 to 3.6)."""

from podherd.machines.pod.decision import EMPTY, Case, Decision
from podherd.machines.pod.instructions import KillContainer, Plan
from podherd.machines.pod.leftovers import leftovers
from podherd.machines.pod.record import LIVE, Record
from podherd.machines.pod.restart import RESTART_NEVER, judge, judge_anew
from podherd.machines.pod.sandbox import SandboxNeed, sandbox_need
from podherd.machines.pod.start import starts
from podherd.machines.pod.terminate import grace_s, ready_sandboxes, stop_all, stop_grace_s
from podherd.model.status import TERMINAL


def plan(case: Case) -> Decision:
    """What to do for the pod now: nothing more for one that ended, a new sandbox, or containers in the one it has."""
    if case.record.phase in TERMINAL:
        return Decision(_stop(case.record))
    need = sandbox_need(case.pod, case.record.sandboxes)
    decision = Decision()
    decision.plan = _with_new_sandbox(case, need, decision) if need.why else _in_sandbox(case, need.id, decision)
    return decision


def _in_sandbox(case: Case, sandbox_id: str, decision: Decision) -> Plan:
    record = case.record
    verdicts = [(each, judge(case.pod, each, record.newest.get(each.name), sandbox_id)) for each in case.pod.containers]
    if not any(verdict.keep or verdict.start for _, verdict in verdicts):
        return _stop(record)
    kill = [_kill(record, record.newest[each.name].id, each.name, v.kill) for each, v in verdicts if v.kill]
    kill += _doubles(record)
    start = starts(case, [each for each, verdict in verdicts if verdict.start], decision)
    containers, sandboxes = leftovers(record)
    # Removing alone is no hurry: while something waits to start, it goes along with that.
    if not kill and not start and (decision.waits or not (containers or sandboxes)):
        return EMPTY
    return Plan(
        kill=tuple(kill),
        remove_containers=containers,
        remove_sandboxes=sandboxes,
        sandbox_id=sandbox_id,
        start=start,
    )


def _with_new_sandbox(case: Case, need: SandboxNeed, decision: Decision) -> Plan:
    record, pod = case.record, case.pod
    wanted = [each for each in pod.containers if judge_anew(pod, record.newest.get(each.name)).start]
    ran = any(each.name in record.newest for each in pod.containers)
    if not wanted or (pod.restart_policy == RESTART_NEVER and need.attempt and ran):
        return _stop(record)
    if case.network_trouble and not pod.host_network:
        _tell_network(case, decision)
        return _stop(record)
    if case.now < record.sandbox_retry_at:
        decision.waits.append(record.sandbox_retry_at)
        return _stop(record)
    containers, sandboxes = leftovers(record)
    return Plan(
        kill=_stop(record).kill,
        stop_sandboxes=_stop_with_newest(record, need),
        remove_containers=containers,
        remove_sandboxes=sandboxes,
        make_sandbox=need.attempt,
        start=starts(case, wanted, decision),
    )


def _stop(record: Record) -> Plan:
    return stop_all(record, grace_s(record))


def _stop_with_newest(record: Record, need: SandboxNeed) -> tuple[str, ...]:
    """A dead newest sandbox is stopped too: only that gives its network back."""
    ready = ready_sandboxes(record)
    return ready if not need.id or need.id in ready else (need.id, *ready)


def _kill(record: Record, container_id: str, name: str, why: str) -> KillContainer:
    return KillContainer(container_id, name, stop_grace_s(record), why)


def _doubles(record: Record) -> list[KillContainer]:
    """Of two live containers of one name only the newest may stay."""
    if len(record.containers) <= len(record.newest):
        return []
    return [
        _kill(record, seen.id, seen.name, f"Stopping container {seen.name}")
        for seen in record.containers
        if seen.state in LIVE and record.newest[seen.name].id != seen.id
    ]


def _tell_network(case: Case, decision: Decision) -> None:
    """Once per outage: the pod is tried again when the node says that the network is back."""
    decision.network_told = True
    if not case.record.network_told:
        decision.tell(case, "NetworkNotReady", f"network is not ready: {case.network_trouble}")
