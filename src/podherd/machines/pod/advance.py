"""The next step of one pod: wait, plan, end or forget (kubelet behaviour, sections 2.3 to 2.5)."""

from dataclasses import replace

from podherd.machines.pod import admission, deadline
from podherd.machines.pod.api_known import first_wanted
from podherd.machines.pod.decision import EMPTY, Case, Decision
from podherd.machines.pod.evict import overlay
from podherd.machines.pod.herd import OVERTAKEN_S, Herd
from podherd.machines.pod.instructions import CancelSync, Forget, Instruction, LookAgain, Plan, Sync, WakeAt
from podherd.machines.pod.instructions import Record as RecordEvent
from podherd.machines.pod.over import release, tell_over
from podherd.machines.pod.phase import phase
from podherd.machines.pod.plan import plan
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import RUNNING, Record, Running
from podherd.machines.pod.refresh import refreshed
from podherd.machines.pod.reports import publish, publish_unreadable
from podherd.machines.pod.resize import unlike
from podherd.machines.pod.stop_order import note_kills
from podherd.machines.pod.terminate import end_kill, grace_s, remove_all, stop_all
from podherd.machines.pod.turns import must_wait
from podherd.model.status import TERMINAL
from podherd.wire.observed import Reinspect


def advance(herd: Herd, policy: Policy, record: Record, now: float) -> list[Instruction]:
    """What follows for this pod from all that is known now. Called again with nothing new it says nothing new."""
    if not herd.knows_runtime():
        return [] if herd.roster_at is None else _wake_at(record, herd.heard_at + OVERTAKEN_S)
    if record.cleaned_at is not None:
        return _forget(herd, record, record.cleaned_at)
    if record.running is not None:
        return _while_running(record, record.running, policy, now)
    if not record.fresh:
        return _look(record, policy, now)
    if record.pod is None and record.ending is None:
        if herd.is_orphan(record):
            record.end("no source wants it", grace_s(record))
        elif not (herd.draining and herd.is_ours(record)):
            return _unwanted(herd, record)
    return _settle(herd, policy, record, now)


def _unwanted(herd: Herd, record: Record) -> list[Instruction]:
    """A pod without a spec that may not be ended yet; one that the runtime holds no more is none."""
    if record.problem:
        return publish_unreadable(record)
    if record.known_at is not None and not (record.sandboxes or record.containers or record.left_behind):
        herd.close(record, record.known_at)
    return []


def _settle(herd: Herd, policy: Policy, record: Record, now: float) -> list[Instruction]:
    """Decide, publish, then act or wait."""
    ended = record.ending is not None and not record.live
    out: list[Instruction] = []
    if record.pod is not None:
        if ended:
            overlay(record)
        record.unlike = unlike(record, record.pod)
        record.phase = phase(record, record.pod, ended)
        out += admission.refuse(record, record.pod, policy, now)
        if record.pod.active_deadline_s is not None:
            out += deadline.fail_if_late(record, now)
    decision = _unless_in_vain(record, policy, _decide(herd, policy, record, now), now)
    _remember(record, decision)
    if record.pod is not None:
        out += publish(record, record.pod, policy, ended, now)
    out += tell_over(record, record.uid in herd.wanted)
    out += [RecordEvent(event) for event in decision.events]
    if decision.plan != EMPTY:
        out.append(_sync(herd, record, decision, now))
    else:
        if (due := deadline.deadline_at(record)) is not None:
            decision.waits.append(due)
        out += _wake(record, policy, decision.waits, now)
    return out


def _decide(herd: Herd, policy: Policy, record: Record, now: float) -> Decision:
    if not herd.runtime_ready():
        return Decision()
    if now < record.hold_until:
        return Decision(waits=[record.hold_until])
    if record.ending is not None:
        return Decision(_end(herd, policy, record, now))
    if herd.draining:
        return Decision(stop_all(record, policy, now, grace_s(record), "everything is to stop"))
    if record.pod is None or record.stale or (record.phase not in TERMINAL and must_wait(herd, record)):
        return Decision()
    return refreshed(record, plan(Case(record, record.pod, policy, herd.network_trouble(), now)), now)


def _end(herd: Herd, policy: Policy, record: Record, now: float) -> Plan:
    """Kill; once nothing runs release it, and clear it away when no source holds on to it."""
    if record.live:
        return end_kill(record, policy, now)
    if record.uid in herd.wanted and record.again is None:
        return release(record)
    return remove_all(record)


def _unless_in_vain(record: Record, policy: Policy, decision: Decision, now: float) -> Decision:
    """A plan that was done without a failure and is needed again had no effect: not at once again."""
    if decision.plan == EMPTY or record.last_plan is None or not _same(decision.plan, record.last_plan):
        return decision
    again_at = record.synced_at + policy.retry_after_s(record.uid)
    return Decision(waits=[again_at]) if now < again_at else decision


def _same(plan_: Plan, last: Plan) -> bool:
    """Whether the two do the same; that less grace is left is no difference."""
    if not plan_.kill or not last.kill:
        return plan_ == last
    ids = [kill.id for kill in plan_.kill]
    return ids == [kill.id for kill in last.kill] and replace(plan_, kill=()) == replace(last, kill=())


def _remember(record: Record, decision: Decision) -> None:
    record.failures.update(decision.failures)
    if decision.restart_all:
        record.crashes.update(decision.crashes)
        record.restart_all()
    record.network_told = decision.network_told
    for name in tuple(record.failures):
        if (seen := record.newest.get(name)) is not None and seen.state == RUNNING:
            del record.failures[name]


def _sync(herd: Herd, record: Record, decision: Decision, now: float) -> Sync:
    herd.last_plan_id += 1
    record.running = Running(herd.last_plan_id, decision.plan, decision.crashes, pod=record.pod)
    _note_deed(record, decision.plan)
    if decision.plan.kill:
        note_kills(record, decision.plan.kill, now)
    return Sync(record.uid, record.namespace, record.name, herd.last_plan_id, record.pod, decision.plan)


def _note_deed(record: Record, plan_: Plan) -> None:
    """Whatever starts something makes directories, and writes the files of its volumes as they are to be now."""
    if starts := plan_.make_sandbox is not None or bool(plan_.start):
        record.made, record.released = True, False
    if starts or plan_.refresh:
        record.refresh_at = None


def _while_running(record: Record, running: Running, policy: Policy, now: float) -> list[Instruction]:
    """A sync that has become wrong is broken off; that the pod is ending is told at once."""
    if not record.cancel or running.cancelled:
        return []
    running.cancelled = True
    out: list[Instruction] = [CancelSync(record.uid, running.plan_id)]
    if record.ending is not None and record.pod is not None:
        out += publish(record, record.pod, policy, False, now)
    return out


def _look(record: Record, policy: Policy, now: float) -> list[Instruction]:
    """Ask for a view that is newer than the last deed; ask again when none comes."""
    out: list[Instruction] = []
    if record.looked_at is None or now >= record.looked_at + policy.look_s:
        record.looked_at = now
        after = record.deed_at if record.known_at is not None else now
        out.append(LookAgain(Reinspect(record.uid, record.namespace, record.name, after)))
    return out + _wake_at(record, record.looked_at + policy.look_s)


def _wake(record: Record, policy: Policy, waits: list[float], now: float) -> list[Instruction]:
    """The earliest time at which something is due; a resync finds nothing new unless an event was lost."""
    if record.resync_at <= now:
        record.resync_at = now + policy.resync_after_s(record.uid)
    return _wake_at(record, min(record.resync_at, *waits) if waits else record.resync_at)


def _wake_at(record: Record, due: float) -> list[Instruction]:
    if due == record.wake_at:
        return []
    record.wake_at = due
    return [WakeAt(record.uid, due)]


def _forget(herd: Herd, record: Record, cleaned_at: float) -> list[Instruction]:
    """Nothing is left; a pod that was wanted again begins anew."""
    herd.close(record, cleaned_at)
    if record.again is not None:
        pod, cause = record.again
        # The removal is done and known to be done, so the new life begins with an empty runtime.
        fresh = herd.open(record.uid, record.namespace, record.name, cleaned_at)
        first_wanted(fresh, pod, cause)
    return [Forget(record.uid, record.namespace, record.name)]
