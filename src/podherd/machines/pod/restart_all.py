"""RestartAllContainers: the end of one container restarts the pod in its sandbox (KEP-5532).

Every init and regular container is stopped without hook or grace, in no order, and removed; its log files stay. Once
the runtime holds none of them the pod begins anew, with the next attempt numbers.
"""

from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.record import EXITED, LIVE, Record
from podherd.machines.pod.rules import RESTART_ALL, rule_action
from podherd.machines.pod.start import may_start
from podherd.machines.pod.stop_order import kill_of
from podherd.model.pod import Container, Pod


def restart_all(case: Case, decision: Decision) -> Plan | None:
    """The plan that begins or goes on with it; None when there is no cause, or its crash back-off still lasts."""
    record = case.record
    trigger = _trigger(record, case.pod)
    if not record.restarting_all:
        if trigger is None or not may_start(case, trigger, decision):
            return None
        decision.restart_all = True
    return _removal(case, trigger)


def _trigger(record: Record, pod: Pod) -> Container | None:
    """The container whose end asks for it."""
    for container in (*pod.init_containers, *pod.containers):
        if not container.restart_policy or "restartPolicyRules" not in container.body:
            continue
        seen = record.newest.get(container.name)
        if seen is not None and seen.state == EXITED and rule_action(container, seen.exit_code) == RESTART_ALL:
            return container
    return None


def _removal(case: Case, trigger: Container | None) -> Plan:
    """Older instances first, and the cause last: an agent that dies amid this finds it and goes on."""
    record, pod = case.record, case.pod
    names = {each.name for each in (*pod.init_containers, *pod.containers)}
    held = [seen for seen in record.containers if seen.name in names]
    held.sort(key=lambda seen: (trigger is not None and seen.name == trigger.name, seen.attempt))
    kill = tuple(
        kill_of(record, case.policy, case.now, seen, 0, f"Stopping container {seen.name}")
        for seen in held
        if seen.state in LIVE
    )
    why = "all its containers restart" if trigger is None else f"the end of {trigger.name} restarts all containers"
    return Plan(kill=kill, remove_containers=tuple(seen.id for seen in held), why=why)
