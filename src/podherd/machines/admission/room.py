"""What the pods that count have taken of the node, kept as sums: a pod more or less costs what it asks, no more."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from podherd.machines.admission.ask import ANY_IP, Ask
from podherd.model.quantity import QuantityError, bytes_of, milli_of
from podherd.model.resources import HUGE_PAGES, Amounts

PODS = "pods"
_MEASURED = (PODS, "cpu", "memory", "ephemeral-storage")
"""In the order in which the kubelet compares them; not limited on a node that does not say how much it has."""


class Lack(NamedTuple):
    """A resource of which there is not enough; the text is the kubelet's."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def missing(self) -> int:
        """How much must be freed."""
        return self.requested - (self.capacity - self.used)

    def __str__(self) -> str:
        numbers = f"requested: {self.requested}, used: {self.used}, capacity: {self.capacity}"
        return f"Node didn't have enough resource: {self.resource}, {numbers}"


class Room:
    """`counted` are the pods that hold something, by uid. freed: something was given back; who has looked clears it."""

    def __init__(self) -> None:
        self.freed = False
        self.counted: dict[str, Ask] = {}
        self._used: Amounts = {}
        self._ports: dict[tuple[str, int], Counter[str]] = {}

    def add(self, ask: Ask) -> None:
        """Count this pod, in place of what it asked before."""
        self.remove(ask.uid)
        self.counted[ask.uid] = ask
        self._move(ask, 1)

    def remove(self, uid: str) -> bool:
        """Count it no more; whether it was counted."""
        if (ask := self.counted.pop(uid, None)) is None:
            return False
        self._move(ask, -1)
        self.freed = True
        return True

    def _move(self, ask: Ask, sign: int) -> None:
        for name, amount in ask.requests.items():
            self._used[name] = self._used.get(name, 0) + sign * amount
        for ip, protocol, number in ask.ports:
            held = self._ports.setdefault((protocol, number), Counter())
            held[ip] += sign
            if not held[ip]:
                del held[ip]
            if not held:
                del self._ports[protocol, number]

    def lacks(self, ask: Ask, allocatable: Amounts) -> list[Lack]:
        """What is too little for this pod beside all others (kubelet: noderesources.Fits)."""
        found: list[Lack] = []
        others = self.counted.get(ask.uid)
        count = len(self.counted) - (others is not None)
        if (most := allocatable.get(PODS)) is not None and count + 1 > most:
            found.append(Lack(PODS, 1, count, most))
        for name in (*_MEASURED[1:], *sorted(ask.requests.keys() - set(_MEASURED))):
            wanted = ask.requests.get(name, 0)
            capacity = allocatable.get(name, 0 if name.startswith(HUGE_PAGES) else None)
            if not wanted or capacity is None:
                continue
            used = self._used.get(name, 0) - (others.requests.get(name, 0) if others else 0)
            if wanted > capacity - used:
                found.append(Lack(name, wanted, used, capacity))
        return found

    def ports_free(self, ask: Ask) -> bool:
        """Whether nobody holds a host port that this pod wants; the address of all clashes with every other."""
        for ip, protocol, number in ask.ports:
            held = self._ports.get((protocol, number))
            if held and (ip == ANY_IP or ANY_IP in held or ip in held):
                return False
        return True


def amounts_of_node(allocatable: Mapping[str, str]) -> Amounts:
    """A node's allocatable resources as numbers; what is no quantity is left out, and so not limited."""
    amounts: Amounts = {}
    for name, quantity in allocatable.items():
        try:
            amounts[name] = milli_of(quantity) if name == "cpu" else bytes_of(quantity)
        except QuantityError:
            continue
    return amounts
