"""What each event changes in the records; decisions follow in `advance`."""

from podherd.machines.pod.api_known import first_wanted
from podherd.machines.pod.events import (
    HookEnded,
    LeftBehind,
    NodeVolumesChanged,
    ObjectsChanged,
    RepublishDue,
    RuntimeBack,
    SandboxFailed,
    Started,
    StartFailed,
    StepFailed,
    Synced,
    Unreadable,
    Wanted,
    Woke,
)
from podherd.machines.pod.evict import evict
from podherd.machines.pod.faults import Faults
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.instructions import Instruction
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Failure, PullTrouble, Record, Running
from podherd.machines.pod.refresh import has_content, objects_changed, volumes_changed
from podherd.machines.pod.reports import pod_event, sync_failed
from podherd.machines.pod.resize import RESIZE, note_resizes, note_starts
from podherd.machines.pod.terminate import grace_s
from podherd.machines.pod.turns import end_replaced
from podherd.machines.times import NEVER_AT
from podherd.model.pod import Pod
from podherd.model.status import IMAGE_PULL_BACK_OFF, POST_START_HOOK_ERROR
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster


class Hear:
    """One method per event; each marks the pods that are to be decided about."""

    def __init__(self, herd: Herd, policy: Policy, faults: Faults) -> None:
        self._herd = herd
        self._faults = faults
        self._policy = policy

    def wanted(self, event: Wanted) -> list[Instruction]:
        """A new pod, a change of one, or one that comes back while it is being terminated."""
        pod = event.pod
        was_wanted = pod.uid in self._herd.wanted
        self._herd.wanted.add(pod.uid)
        old = self._herd.records.get(pod.uid)
        if old is not None and old.ending is None and not old.problem and _is_old_news(old, event):
            return []
        record = self._herd.open(pod.uid, pod.namespace, pod.name, self._herd.absent_since(pod.uid))
        if record.ending is not None and not _is_deleted(pod) and not (record.order is not None and was_wanted):
            record.again = (pod, event.cause)
            return []
        self._want(record, event)
        if _is_deleted(pod):
            record.end(event.cause, grace_s(record))
        end_replaced(self._herd, record)
        return []

    def _want(self, record: Record, event: Wanted) -> None:
        """Take the spec; the pod's own words may stand in files of its volumes."""
        old, pod = record.pod, event.pod
        if event.refused and not record.refusal[0] and record.running is not None and record.ending is None:
            record.cancel = not record.running.plan.only_clears
        record.refusal = (event.refused, event.refused_message)
        record.resize = (event.resize_pending, event.resize_message)
        if old is None:
            first_wanted(record, pod, event.cause)
            return
        record.want(pod, event.cause)
        if (old.labels, old.annotations) != (pod.labels, pod.annotations) and has_content(pod):
            record.refresh_at = self._herd.now

    def objects_changed(self, event: ObjectsChanged) -> list[Instruction]:
        """Something that the pod refers to is there now, or is another."""
        if (record := self._herd.records.get(event.uid)) is not None:
            objects_changed(record, self._herd.now)
            self._herd.touched[record.uid] = None
        return []

    def node_volumes_changed(self, _event: NodeVolumesChanged) -> list[Instruction]:
        """What failed for want of a driver or an attached volume is tried at once."""
        for record in self._herd.records.values():
            if volumes_changed(record):
                self._herd.touched[record.uid] = None
        return []

    def republish_due(self, event: RepublishDue) -> list[Instruction]:
        """As at each sync of the kubelet (section 13.7)."""
        if (record := self._herd.records.get(event.uid)) is not None and record.pod is not None:
            record.refresh_at = self._herd.now
            self._herd.touched[record.uid] = None
        return []

    def evict(self, event: Evict) -> list[Instruction]:
        """The node wants the pod to end."""
        if (record := self._herd.records.get(event.uid)) is None:
            return []
        self._herd.touched[record.uid] = None
        return evict(record, event, self._herd.now)

    def unreadable(self, event: Unreadable) -> list[Instruction]:
        """The pod that a source wants cannot be read: what runs goes on, and a user is told."""
        self._herd.wanted.add(event.uid)
        record = self._herd.open(event.uid, event.namespace, event.name, self._herd.absent_since(event.uid))
        if record.problem == event.problem:
            return []
        record.problem = event.problem
        return [pod_event(record, self._herd.now, "Warning", "FailedValidation", event.problem)]

    def left_behind(self, event: LeftBehind) -> list[Instruction]:
        """Directories of a pod were found: they go with the pod, or at once when nobody knows it."""
        uid = event.uid
        if uid not in self._herd.records:
            record = self._herd.open(uid, event.namespace, event.name, self._herd.absent_since(uid))
            record.left_behind = True
        self._herd.records[uid].made = True
        self._herd.touched[uid] = None
        return []

    def gone(self, event: Gone) -> list[Instruction]:
        """The source dropped the pod."""
        self._herd.wanted.discard(event.uid)
        if (record := self._herd.records.get(event.uid)) is not None:
            self._end(record, event.cause)
        return []

    def roster(self, event: Roster) -> list[Instruction]:
        """All that the sources want; once it is complete, what is not listed ends."""
        self._herd.sources_seen = event.complete
        if not event.complete:
            self._herd.wanted.update(event.uids)
            return []
        self._herd.wanted = set(event.uids)
        out: list[Instruction] = []
        for record in self._herd.records.values():
            if record.uid not in self._herd.wanted:
                gone = Gone(record.uid, record.namespace, record.name, "no source wants it any more")
                out += self._faults.guard(gone, self._end, record, gone.cause)
        return out

    def _end(self, record: Record, cause: str) -> None:
        """What has neither spec nor view has no grace yet: it ends as an orphan once it is seen."""
        self._herd.touched[record.uid] = None
        record.again = None
        if not record.found_alone:
            record.end(cause, grace_s(record))

    def observed(self, event: Observed) -> list[Instruction]:
        """What the runtime holds of one pod."""
        record = self._herd.records.get(event.uid)
        if event.uid in self._herd.unseen:
            self._herd.unseen.remove(event.uid)
            if not self._herd.unseen:
                self._herd.touch_all()
        if record is None:
            if self._herd.is_buried(event) or not (event.sandboxes or event.containers or event.stale):
                return []
            record = self._herd.open(event.uid, event.namespace, event.name, None)
        if event.at > self._herd.now:
            self._doubt(record)
            return []
        was_stale = record.stale
        if not record.see(event):
            return []
        self._herd.touched[record.uid] = None
        if record.pod is None:
            end_replaced(self._herd, record)
        if event.stale and event.stale != was_stale:
            return [sync_failed(record, self._herd.now, f"error determining status: {event.stale}")]
        return []

    def observed_roster(self, event: ObservedRoster) -> list[Instruction]:
        """What is not listed was absent from the runtime. The first one lets the shard begin."""
        listed = set(event.uids)
        knew = self._herd.knows_runtime()
        out: list[Instruction] = []
        for record in self._herd.records.values():
            if record.uid in listed:
                continue
            if event.at > self._herd.now:
                self._doubt(record)
            elif record.known_at is None or record.known_at < event.at:
                nothing = Observed(record.uid, record.namespace, record.name, event.at, (), ())
                out += self._faults.guard(nothing, record.see, nothing)
                self._herd.touched[record.uid] = None
        known = {record.uid for record in self._herd.records.values() if not record.found_alone}
        buried = {uid for uid, at in self._herd.buried.items() if at >= event.at}
        self._herd.unseen = listed - known - buried
        self._herd.roster_at, self._herd.heard_at = min(event.at, self._herd.now), self._herd.now
        if not knew:
            self._herd.touch_all()
        return out

    def _doubt(self, record: Record) -> None:
        """News dated later than now is from before the clock was set back, maybe older than the last deed."""
        record.doubt(self._herd.now)
        self._herd.touched[record.uid] = None

    def runtime_state(self, event: RuntimeState) -> list[Instruction]:
        """The runtime or its network came or went."""
        old, self._herd.runtime = self._herd.runtime, event
        ready = (event.runtime_ready, event.network_ready)
        if old is None or (old.runtime_ready, old.network_ready) != ready:
            self._herd.touch_all()
        return []

    def runtime_back(self, _event: RuntimeBack) -> list[Instruction]:
        """End the pauses that failed steps set; pull and crash back-offs stand: the runtime did not cause them."""
        for record in self._herd.records.values():
            if record.end_pauses(self._herd.now):
                self._herd.touched[record.uid] = None
        return []

    def drain(self, _event: Drain) -> list[Instruction]:
        """Stop what the sources want and what is ending; a pod that only the runtime knows is not ours to stop.

        A shard that has begun anew hears of its pods only after this order: those join as they are decided about.
        """
        if not self._herd.draining:
            self._herd.draining = True
            for record in filter(self._herd.is_ours, self._herd.records.values()):
                record.hold_until = NEVER_AT
                record.cancel = record.cancel or (record.running is not None and record.ending is None)
        self._herd.touch_all()
        return []

    def woke(self, event: Woke) -> list[Instruction]:
        """A time has come; which one, the decision finds out."""
        if (record := self._herd.records.get(event.uid)) is not None:
            record.wake_at = None
            self._herd.touched[record.uid] = None
        return []

    def synced(self, event: Synced) -> list[Instruction]:
        """The running plan is done; a second answer, or one to an older plan, says nothing."""
        record = self._herd.records.get(event.uid)
        if record is None or record.running is None or record.running.plan_id != event.plan_id:
            return []
        done, record.running, record.cancel = record.running, None, False
        record.synced_at = self._herd.now
        # An end later than now was noted before the clock was set back.
        ended_at = min(event.ended_at, self._herd.now)
        if event.did:
            record.deed_at, record.looked_at = ended_at, None
        for result in event.results:
            if not (isinstance(result, StepFailed) and (done.plan.refresh or result.step == RESIZE)):
                self._take(record, result)
            if isinstance(result, Started | StartFailed) and (crash := done.crashes.get(result.name)) is not None:
                record.crashes[result.name] = crash
        if done.plan.start and done.pod is not None:
            note_starts(record, done.pod, (each for each in event.results if isinstance(each, Started)))
        if done.plan.resize:
            self._note_resizes(record, done, event)
        if event.cancelled and event.did:
            record.broken_off = done.crashes
        self._raise_pulls(record, event)
        clean = not event.cancelled and not any(isinstance(r, SandboxFailed | StepFailed) for r in event.results)
        # Of files and of resizes it is known by other means whether they had an effect.
        record.last_plan = done.plan if clean and not (done.plan.refresh or done.plan.resize) else None
        record.cleaned_at = ended_at if clean and done.plan.clean_up else None
        record.released = record.released or (clean and done.plan.release)
        if done.plan.refresh and not clean and record.refresh_at is None:
            record.refresh_at = self._herd.now + self._policy.retry_after_s(record.uid)
        if done.news:
            objects_changed(record, self._herd.now)
        if done.node_news:
            volumes_changed(record)
        self._herd.touched[record.uid] = None
        return []

    def _note_resizes(self, record: Record, done: Running, event: Synced) -> None:
        """What was changed is not changed again; what failed is tried again after a while, and holds nothing up."""
        failed = [each.message for each in event.results if isinstance(each, StepFailed) and each.step == RESIZE]
        record.resize_error = "; ".join(failed)
        if failed:
            record.resize_retry_at = self._herd.now + self._policy.retry_after_s(record.uid)
        elif not event.cancelled and done.pod is not None:
            note_resizes(record, done.pod, done.plan.resize)

    def _take(self, record: Record, result: object) -> None:
        now = self._herd.now
        retry_at = now + self._policy.retry_after_s(record.uid)
        if isinstance(result, Started):
            record.failures.pop(result.name, None)
            record.started[result.name] = result
            record.attempts[result.name] = max(result.attempt, record.attempts.get(result.name, -1))
        elif isinstance(result, StartFailed):
            # A failed pull is tried again at once: then the image is in back-off, and the pod says so. After a failed
            # postStart hook the container has ended: its crash back-off holds it.
            at_once = result.image_pull or result.reason == POST_START_HOOK_ERROR
            record.failures[result.name] = Failure(
                result.reason, result.message, now if at_once else self._retry_at(record, result, retry_at)
            )
        elif isinstance(result, SandboxFailed):
            record.sandbox_retry_at = retry_at
        elif isinstance(result, StepFailed):
            record.hold_until, record.hold_step = retry_at, result.step
        elif isinstance(result, HookEnded):
            record.hooked.add(result.id)

    def _retry_at(self, record: Record, result: StartFailed, retry_at: float) -> float:
        """An absent image is looked for at the usual pace, and pulled as soon as its back-off allows."""
        if result.reason != IMAGE_PULL_BACK_OFF:
            return retry_at
        trouble = record.pulls.get(_image_of(record, result))
        if trouble is None:
            return retry_at
        return min(retry_at, self._policy.pull_rule.until(trouble.back_off, trouble.back_off.raised_at))

    def _raise_pulls(self, record: Record, event: Synced) -> None:
        """Once per image, however many containers of the pod share it."""
        failed = {_image_of(record, r): r for r in event.results if isinstance(r, StartFailed) and r.image_pull}
        for image, result in failed.items():
            old = record.pulls.get(image)
            now = self._herd.now
            back_off = self._policy.pull_rule.raised(old.back_off if old else None, now, now)
            record.pulls[image] = PullTrouble(back_off, f"{result.reason}: {result.message}")


def _is_old_news(record: Record, event: Wanted) -> bool:
    told = (record.pod, *record.refusal, *record.resize)
    return told == (event.pod, event.refused, event.refused_message, event.resize_pending, event.resize_message)


def _image_of(record: Record, failed: StartFailed) -> str:
    """The image that could not be pulled: a volume's, else the container's own."""
    containers = record.pod.every_container if record.pod is not None else ()
    own = (container.image for container in containers if container.name == failed.name)
    return failed.image or next(own, "")


def _is_deleted(pod: Pod) -> bool:
    return pod.body["metadata"].get("deletionTimestamp") is not None
