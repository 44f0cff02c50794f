"""The node's word on each pod: it may run, it may not and why, or once others have given way (kubelet behaviour, 2.6).

A pod is judged once, as the kubelet judges at ADD: what changes later, of the pod or the node, takes no word back. A
pod that the API server knows to have been taken is not judged again, so that no restart refuses what runs.
"""

from dataclasses import dataclass, replace

from podherd.machines.admission.ask import Ask
from podherd.machines.admission.resize import DEFERRED, INFEASIBLE
from podherd.machines.admission.room import Lack, Room, amounts_of_node
from podherd.machines.admission.selectors import matches_node, tolerates
from podherd.machines.admission.victims import NoVictimsError, victims
from podherd.model.pod import Body
from podherd.model.qos import BEST_EFFORT
from podherd.model.resources import Amounts
from podherd.wire.node import NodeFacts, Taint

OS_LABEL = "kubernetes.io/os"
OS = "linux"
UNEXPECTED = "UnexpectedAdmissionError"
MEMORY_PRESSURE = "MemoryPressure"
_MEMORY_TAINT = Taint("node.kubernetes.io/memory-pressure", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Verdict:
    """refused: a reason, empty for a pod that may run. waits: not yet, until `evict` (and others before) are over.

    doubtful: the node's labels speak against it, and may be others by now: look at the node, then judge again.
    """

    refused: str = ""
    message: str = ""
    waits: bool = False
    evict: tuple[Ask, ...] = ()
    doubtful: bool = False


ADMITTED = Verdict()
_WAITS = Verdict(waits=True)
_DOUBTFUL = Verdict(waits=True, doubtful=True)
_AFFINITY = "NodeAffinity"


class Admission:
    """One per node. Nothing can be judged before the node's facts are known (`ready`).

    may_look: the Node object can be read, so labels are believed only once it was (as in the kubelet's generalFilter).
    """

    def __init__(self, may_look: bool = False) -> None:
        self._may_look = may_look
        self._doubted: set[str] = set()
        self.room = Room()
        self.facts: NodeFacts | None = None
        self.allocatable: Amounts = {}
        self._decided: dict[str, Verdict] = {}
        self._waiting: dict[str, set[str]] = {}
        self._over: set[str] = set()

    @property
    def ready(self) -> bool:
        """The node's facts are known."""
        return self.facts is not None

    def use(self, facts: NodeFacts) -> None:
        """The node as it is now; it counts for pods that come later, and for resizes."""
        self.facts = facts
        self.allocatable = amounts_of_node(facts.allocatable)
        self.room.freed = True

    def looked(self, labels: dict[str, str] | None) -> set[str]:
        """The Node object was read (None: it could not be). Returns the uids of the pods to judge again."""
        if self.facts is not None and labels is not None:
            self.facts = replace(self.facts, labels=labels)
        return self._doubted

    def knows(self, uid: str) -> bool:
        """Whether it was judged."""
        return uid in self._decided

    def evicting(self) -> set[str]:
        """Uids of the pods that give way and are not over yet."""
        return set[str]().union(*self._waiting.values())

    def judge(self, ask: Ask, body: Body, problem: tuple[str, str] = ("", "")) -> Verdict:
        """The word on this pod. problem: a reason and message for which it cannot run on any node of this version."""
        if (known := self._decided.get(ask.uid)) is not None:
            return self._again(ask, known)
        verdict = self._first(ask, body, problem)
        if self._may_look and verdict.refused == _AFFINITY and ask.uid not in self._doubted:
            self._doubted.add(ask.uid)
            return _DOUBTFUL
        self._doubted.discard(ask.uid)
        self._decided[ask.uid] = verdict if verdict.refused else ADMITTED
        return verdict

    def _again(self, ask: Ask, known: Verdict) -> Verdict:
        if ask.over:
            self.room.remove(ask.uid)
        return _WAITS if ask.uid in self._waiting else known

    def _first(self, ask: Ask, body: Body, problem: tuple[str, str]) -> Verdict:
        if ask.over or ask.uid in self._over or (ask.deleting and not ask.accepted):
            return ADMITTED
        if ask.accepted:
            self.room.add(ask)
            return ADMITTED
        if problem[0]:
            return Verdict(*problem)
        verdict = self._checked(ask, body)
        if not verdict.refused:
            self.room.add(ask)
        return verdict

    def _checked(self, ask: Ask, body: Body) -> Verdict:
        """The kubelet's handlers in its order."""
        facts = self.facts
        if facts is None:
            raise ValueError("a pod was judged before the node's facts were known")
        if refused := _under_pressure(facts, ask, body["spec"]) or _other_system(body):
            return refused
        if not facts.strict_groups and _wants_strict_groups(body["spec"]):
            text = "SupplementalGroupsPolicy=Strict is not supported in this node"
            return Verdict("SupplementalGroupsPolicyNotSupported", text)
        verdict = self._fits(facts, ask, body["spec"])
        if facts.shutting_down and not verdict.refused:
            return Verdict("NodeShutdown", "Pod was rejected as the node is shutting down.")
        if verdict.evict:
            self._waiting[ask.uid] = {victim.uid for victim in verdict.evict}
        return verdict

    def _fits(self, facts: NodeFacts, ask: Ask, spec: Body) -> Verdict:
        lacks = self.lacks(ask)
        misfit = self._misfit(facts, ask, spec)
        if not ask.critical and lacks:
            return _out_of(lacks[0])
        if misfit is not None or not lacks:
            return misfit or ADMITTED
        leaving = self.evicting()
        others = (other for uid, other in self.room.counted.items() if uid not in leaving)
        try:
            return Verdict(waits=True, evict=tuple(victims(ask, others, lacks)))
        except NoVictimsError as error:
            text = f"preemption: error finding a set of pods to preempt: {error.reason}"
            return Verdict(UNEXPECTED, f"Unexpected error while attempting to recover from admission failure: {text}")

    def lacks(self, ask: Ask) -> list[Lack]:
        """What is too little; extended resources that the node does not know are somebody else's."""
        return self.room.lacks(ask, self.allocatable)

    def _misfit(self, facts: NodeFacts, ask: Ask, spec: Body) -> Verdict | None:
        if not matches_node(spec, facts.name, facts.labels):
            return _predicate(_AFFINITY, "node(s) didn't match Pod's node affinity/selector")
        if (wanted := spec.get("nodeName")) and wanted != facts.name:
            return _predicate("NodeName", "node(s) didn't match the requested node name")
        if not self.room.ports_free(ask):
            return _predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
        repels = (taint for taint in facts.taints if taint.effect == "NoExecute")
        if not ask.static and not all(tolerates(spec.get("tolerations") or (), taint) for taint in repels):
            return _predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
        return None

    def resize(self, ask: Ask) -> tuple[str, str]:
        """Grant a running pod what it asks for now, or say what stands against it: `Deferred` or `Infeasible`, and why.

        What it gives back is always taken.
        """
        before = self.room.counted.get(ask.uid)
        if before is None:
            return "", ""
        grown = {name for name, amount in ask.requests.items() if amount > before.requests.get(name, 0)}
        lacks = [lack for lack in self.lacks(ask) if lack.resource in grown]
        if not lacks:
            self.room.add(ask)
            return "", ""
        for resource, requested, _, capacity in lacks:
            if requested > capacity:
                numbers = f"requested: {requested}, capacity: {capacity}"
                return INFEASIBLE, f"Node didn't have enough capacity: {resource}, {numbers}"
        return DEFERRED, str(lacks[0])

    def over(self, uid: str) -> list[str]:
        """Nothing of this pod runs any more. Returns the uids that waited for it as the last one."""
        self._over.add(uid)
        return self._freed(uid)

    def forget(self, uid: str) -> list[str]:
        """No source wants this pod any more: it is not counted, whatever still runs of it (as in the kubelet)."""
        self._decided.pop(uid, None)
        self._doubted.discard(uid)
        self._waiting.pop(uid, None)
        self._over.discard(uid)
        return self._freed(uid)

    def forget_others(self) -> None:
        """Every pod that is wanted was told: no over pod is waited for that was not."""
        self._over &= self._decided.keys()

    def _freed(self, uid: str) -> list[str]:
        self.room.remove(uid)
        ready: list[str] = []
        for waiter, left in self._waiting.items():
            left.discard(uid)
            if not left:
                ready.append(waiter)
        for waiter in ready:
            del self._waiting[waiter]
        return ready


def _predicate(name: str, why: str) -> Verdict:
    return Verdict(name, f"Predicate {name} failed: {why}")


def _out_of(lack: Lack) -> Verdict:
    return Verdict(f"OutOf{lack.resource}", str(lack))


def _under_pressure(facts: NodeFacts, ask: Ask, spec: Body) -> Verdict | None:
    """Section 8.6: memory pressure alone turns away only best-effort pods that do not tolerate it."""
    if not facts.pressure or ask.critical:
        return None
    if facts.pressure == (MEMORY_PRESSURE,) and (
        ask.qos != BEST_EFFORT or tolerates(spec.get("tolerations") or (), _MEMORY_TAINT)
    ):
        return None
    return Verdict("Evicted", f"The node had condition: [{' '.join(facts.pressure)}]. ")


def _wants_strict_groups(spec: Body) -> bool:
    """Whether the groups of the image are to be left out (KEP-3619)."""
    return (spec.get("securityContext") or {}).get("supplementalGroupsPolicy") == "Strict"


def _other_system(body: Body) -> Verdict | None:
    """The label of the pod itself, not its selector, is what the kubelet compares."""
    labels = body["metadata"].get("labels") or {}
    if OS_LABEL in labels and labels[OS_LABEL] != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Verdict("PodOSSelectorNodeLabelDoesNotMatch", text)
    system = body["spec"].get("os")
    if system and system.get("name") != OS:
        return Verdict("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None
