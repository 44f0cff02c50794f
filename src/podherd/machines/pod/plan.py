"""The plan of one running pod: the one place where the rules meet (kubelet behaviour, sections 3.1 to 3.6)."""

from podherd.machines.pod.decision import EMPTY, Case, Decision
from podherd.machines.pod.ephemeral import ephemeral_starts
from podherd.machines.pod.init import initialised
from podherd.machines.pod.init_order import Turn, begin, keep_sidecars, strays
from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer
from podherd.machines.pod.leftovers import leftovers
from podherd.machines.pod.over import release
from podherd.machines.pod.record import LIVE
from podherd.machines.pod.resize import resizes, why_restart
from podherd.machines.pod.restart import Verdict, judge, judge_anew, restartable
from podherd.machines.pod.restart_all import restart_all
from podherd.machines.pod.sandbox import SandboxNeed, sandbox_need
from podherd.machines.pod.start import starts
from podherd.machines.pod.terminate import grace_s, ready_sandboxes, stop_all, stop_one
from podherd.machines.pod.why import why_in_sandbox
from podherd.model.pod import Container
from podherd.model.status import TERMINAL

SANDBOX_CHANGED = "Pod sandbox changed, it will be killed and re-created."


def plan(case: Case) -> Decision:
    """What to do for the pod now: nothing more for one that ended, a new sandbox, or containers in the one it has."""
    record = case.record
    if record.phase in TERMINAL:
        stop = _stop(case, record.message or f"the pod has {record.phase.lower()}")
        return Decision(release(record) if stop == EMPTY else stop)
    decision = Decision()
    if (removal := restart_all(case, decision)) is not None:
        decision.plan = removal
        return decision
    need = sandbox_need(case.pod, record.sandboxes)
    decision.plan = _with_new_sandbox(case, need, decision) if need.why else _in_sandbox(case, need.id, decision)
    return decision


def _in_sandbox(case: Case, sandbox_id: str, decision: Decision) -> Plan:
    record, pod = case.record, case.pod
    turn = Turn(ready=True)
    if fresh := not initialised(record, pod):
        turn = begin(case, sandbox_id, decision)
        turn.kill += strays(case, sandbox_id)
    kill: list[KillContainer] = []
    start: list[StartContainer] = []
    if turn.ready and not _regular(case, sandbox_id, decision, kill, start):
        return _stop(case, "its containers are done")
    if pod.init_containers and not fresh:
        turn = keep_sidecars(case, sandbox_id, decision)
    kill = list({each.id: each for each in (*turn.kill, *kill, *_doubles(case))}.values())
    start = [*ephemeral_starts(case, decision), *turn.start, *start]
    resize = resizes(case, sandbox_id, kill, decision)
    containers, sandboxes = leftovers(record)
    # Removing alone is no hurry: while something waits to start, it goes along with that.
    if not kill and not start and not resize and (decision.waits or not (containers or sandboxes)):
        return EMPTY
    return Plan(
        kill=tuple(kill),
        remove_containers=containers,
        remove_sandboxes=sandboxes,
        sandbox_id=sandbox_id,
        start=tuple(start),
        resize=tuple(resize),
        why=why_in_sandbox(record, kill, start) if kill or start or not resize else "its resources have changed",
    )


def _regular(
    case: Case, sandbox_id: str, decision: Decision, kill: list[KillContainer], start: list[StartContainer]
) -> bool:
    """What is to be done about the regular containers; False when they are done, and the pod with them."""
    newest = case.record.newest
    verdicts = [(each, _judge(case, each, sandbox_id)) for each in case.pod.containers]
    if not any(verdict.keep or verdict.start for _, verdict in verdicts):
        return False
    kill += [stop_one(case, newest[each.name], verdict.kill) for each, verdict in verdicts if verdict.kill]
    start += starts(case, [each for each, verdict in verdicts if verdict.start], decision)
    return True


def _judge(case: Case, container: Container, sandbox_id: str) -> Verdict:
    """`judge`, and whether what runs must be started anew to be resized."""
    seen = case.record.newest.get(container.name)
    verdict = judge(case.pod, container, seen, sandbox_id)
    if verdict.keep and (why := why_restart(case.record, container)):
        return Verdict(start=True, kill=why)
    return verdict


def _with_new_sandbox(case: Case, need: SandboxNeed, decision: Decision) -> Plan:
    record, pod = case.record, case.pod
    wanted = [each for each in pod.containers if judge_anew(pod, each, record.newest.get(each.name)).start]
    if not wanted or (need.attempt and record.newest and not restartable(pod)):
        return _stop(case, need.why)
    if case.network_trouble and not pod.host_network:
        _tell_network(case, decision)
        return _stop(case, need.why)
    if case.now < record.sandbox_retry_at:
        decision.waits.append(record.sandbox_retry_at)
        return _stop(case, need.why)
    if need.id:
        decision.tell(case, "SandboxChanged", SANDBOX_CHANGED, kind="Normal")
    turn = begin(case, "", decision)
    containers, sandboxes = leftovers(record)
    return Plan(
        kill=_stop(case, need.why).kill,
        stop_sandboxes=_stop_with_newest(case, need),
        remove_containers=_with_inits(case, containers),
        remove_sandboxes=sandboxes,
        make_sandbox=need.attempt,
        start=(*turn.start, *starts(case, wanted, decision)) if turn.ready else tuple(turn.start),
        why=need.why,
    )


def _with_inits(case: Case, removed: tuple[str, ...]) -> tuple[str, ...]:
    """Initialisation begins anew in a new sandbox: nothing of the old one's may look like it (case SYNC-1)."""
    if not case.pod.init_containers:
        return removed
    names = {container.name for container in case.pod.init_containers}
    return tuple(dict.fromkeys([*removed, *(seen.id for seen in case.record.containers if seen.name in names)]))


def _stop(case: Case, why: str) -> Plan:
    return stop_all(case.record, case.policy, case.now, grace_s(case.record), why)


def _stop_with_newest(case: Case, need: SandboxNeed) -> tuple[str, ...]:
    """A dead newest sandbox is stopped too: only that gives its network back."""
    ready = ready_sandboxes(case.record)
    return ready if not need.id or need.id in ready else (need.id, *ready)


def _doubles(case: Case) -> list[KillContainer]:
    """Of two live containers of one name only the newest may stay."""
    record = case.record
    if len(record.containers) <= len(record.newest):
        return []
    return [
        stop_one(case, seen, f"Stopping container {seen.name}")
        for seen in record.containers
        if seen.state in LIVE and record.newest[seen.name].id != seen.id
    ]


def _tell_network(case: Case, decision: Decision) -> None:
    """Once per outage: the pod is tried again when the node says that the network is back."""
    decision.network_told = True
    if not case.record.network_told:
        decision.tell(case, "NetworkNotReady", f"network is not ready: {case.network_trouble}")
