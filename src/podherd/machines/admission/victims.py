"""Which pods give way to a critical one (kubelet behaviour, section 8.6).

As the kubelet's `getPodsToPreempt`: the fewest guaranteed, then burstable, then best-effort pods that make up what is
missing, each time the one that comes nearest to it.
"""

from collections.abc import Iterable, Sequence

from podherd.errors import PodherdError
from podherd.machines.admission.ask import Ask
from podherd.machines.admission.room import PODS, Lack
from podherd.model.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

Needs = dict[str, int]
"""Resource to how much of it is still missing; never 0."""


class NoVictimsError(PodherdError):
    """All pods that could give way are not enough."""

    def __init__(self, needs: Needs) -> None:
        listed = "".join(f"(res: {name}, q: {amount}), " for name, amount in needs.items())
        super().__init__("preemption", f"no set of running pods found to reclaim resources: [{listed}]")


def victims(critical: Ask, others: Iterable[Ask], lacks: Iterable[Lack]) -> list[Ask]:
    """The pods to end. Raises NoVictimsError."""
    needs = {lack.resource: lack.missing for lack in lacks}
    by_class: dict[str, list[Ask]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in others:
        if _gives_way(critical, other):
            by_class[other.qos].append(other)
    low, middle, high = by_class[BEST_EFFORT], by_class[BURSTABLE], by_class[GUARANTEED]
    if left := _without(needs, [*low, *middle, *high]):
        raise NoVictimsError(left)
    from_high = _nearest(high, _without(needs, [*low, *middle]))
    from_middle = _nearest(middle, _without(needs, [*low, *from_high]))
    from_low = _nearest(low, _without(needs, [*from_middle, *from_high]))
    return [*from_low, *from_middle, *from_high]


def _gives_way(critical: Ask, other: Ask) -> bool:
    if critical.critical and not other.critical:
        return True
    return critical.priority is not None and other.priority is not None and critical.priority > other.priority


def _amount(ask: Ask, resource: str) -> int:
    return 1 if resource == PODS else ask.requests.get(resource, 0)


def _without(needs: Needs, pods: Sequence[Ask]) -> Needs:
    """What is still missing once these pods are gone."""
    left = {name: amount - sum(_amount(pod, name) for pod in pods) for name, amount in needs.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _nearest(pods: Sequence[Ask], needs: Needs) -> list[Ask]:
    chosen: list[Ask] = []
    waiting = list(pods)
    while needs:
        if not waiting:
            raise NoVictimsError(needs)
        best = min(waiting, key=lambda pod: (_distance(pod, needs), _amount(pod, "memory"), _amount(pod, "cpu")))
        waiting.remove(best)
        chosen.append(best)
        needs = _without(needs, [best])
    return chosen


def _distance(pod: Ask, needs: Needs) -> float:
    """The squares of the parts of each need that the pod would leave open; each need weighs the same."""
    left = ((amount - _amount(pod, name)) / amount for name, amount in needs.items())
    return sum(part * part for part in left if part > 0)
