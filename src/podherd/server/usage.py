"""Rates of CPU use from cumulative counters (case STATS-1). Pure: samples in, rates out."""

from collections.abc import Iterable
from typing import NamedTuple


class Sample(NamedTuple):
    """One container at one moment. at_ns: the runtime's clock. None: the runtime does not tell."""

    uid: str
    namespace: str
    pod: str
    container: str
    id: str
    at_ns: int
    cpu_ns: int | None
    """CPU time used since the container's start."""
    memory_bytes: int | None
    """Its working set."""


class _Last(NamedTuple):
    at_ns: int
    cpu_ns: int
    cores: float | None


class Rates:
    """Cores in use by container id.

    Counters are only comparable inside one id and one rising run: a restarted container, a counter and a clock that
    were set back have no rate until the sample after. A sample of the same moment changes nothing.
    """

    def __init__(self, cpus: int) -> None:
        self._cpus = cpus
        self._last: dict[str, _Last] = {}

    def take(self, samples: Iterable[Sample]) -> dict[str, float | None]:
        """The cores of each container of these samples, None where there is no rate, those without a counter left out.

        All other ids are forgotten.
        """
        self._last = {it.id: self._next(it, it.cpu_ns) for it in samples if it.cpu_ns is not None}
        return {key: last.cores for key, last in self._last.items()}

    def _next(self, sample: Sample, cpu_ns: int) -> _Last:
        last = self._last.get(sample.id)
        if last is None or cpu_ns < last.cpu_ns or sample.at_ns < last.at_ns:
            return _Last(sample.at_ns, cpu_ns, None)
        if sample.at_ns == last.at_ns:
            return last
        cores = (cpu_ns - last.cpu_ns) / (sample.at_ns - last.at_ns)
        return _Last(sample.at_ns, cpu_ns, min(cores, float(self._cpus)))
