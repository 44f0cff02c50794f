"""Rates of CPU use (case STATS-1), and the host's own figures."""

from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.model import keys
from podherd.server.usage import Rates, Sample
from podherd.server.usage_sources import container_samples, node_use

S = 1_000_000_000


def sample(at_s: int, container_id: str, cpu_ns: int | None) -> Sample:
    return Sample("u", "api", "web", "web", container_id, at_s * S, cpu_ns, 1)


def test_stats_1_a_rate_never_spans_a_restart_nor_a_reset_counter() -> None:
    rates = Rates(cpus=2)
    assert rates.take([sample(10, "c1", 9_000_000_000)]) == {"c1": None}
    assert rates.take([sample(20, "c2", 400_000_000)]) == {"c2": None}
    assert rates.take([sample(30, "c2", 1_400_000_000)]) == {"c2": pytest.approx(0.1)}
    assert rates.take([sample(30, "c2", 1_400_000_000)]) == {"c2": pytest.approx(0.1)}
    assert rates.take([sample(40, "c2", 100_000_000)]) == {"c2": None}
    assert rates.take([sample(50, "c2", 600_000_000)]) == {"c2": pytest.approx(0.05)}


def test_a_rate_is_never_more_than_there_are_cpus() -> None:
    rates = Rates(cpus=2)
    rates.take([sample(1, "c", 0)])
    assert rates.take([sample(2, "c", 50 * S)]) == {"c": 2.0}


def test_a_clock_set_back_costs_one_rate_and_not_those_until_it_has_caught_up() -> None:
    rates = Rates(cpus=2)
    rates.take([sample(3600, "c", S)])
    assert rates.take([sample(3601, "c", 2 * S)]) == {"c": 1.0}
    assert rates.take([sample(5, "c", 3 * S)]) == {"c": None}
    assert rates.take([sample(7, "c", 4 * S)]) == {"c": 0.5}


def test_unknown_figures_are_absent() -> None:
    assert Rates(cpus=2).take([sample(12, "d", None)]) == {}


class _Runtime:
    """Lists a running and two stopped attempts, and has figures of all of them, as containerd does."""

    async def list_containers_raw(self, _timeout_s: float) -> bytes:
        states = {"c1": pb.CONTAINER_EXITED, "c2": pb.CONTAINER_RUNNING, "c3": pb.CONTAINER_EXITED}
        held = [pb.Container(id=name, state=state, labels=LABELS) for name, state in states.items()]
        foreign = pb.Container(id="x", state=pb.CONTAINER_RUNNING)
        return pb.ListContainersResponse(containers=[*held, foreign]).SerializeToString()

    async def container_stats(self, _timeout_s: float) -> list[pb.ContainerStats]:
        return [
            pb.ContainerStats(attributes=pb.ContainerAttributes(id=name, labels=LABELS))
            for name in ("c1", "c2", "c3", "x", "new")
        ]


LABELS = {keys.POD_UID: "u", keys.POD_NAME: "web", keys.POD_NAMESPACE: "api", keys.CONTAINER_NAME: "app"}


async def test_only_running_containers_of_pods_are_measured_and_each_once() -> None:
    (only,) = await container_samples(_Runtime())  # type: ignore[arg-type]
    assert (only.id, only.container, only.uid) == ("c2", "app", "u")


def test_the_host_without_its_idle_time_and_what_is_to_be_had(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 0 50 1000 300 10 20 20 7 7\ncpu0 1 1 1 1\n")
    (tmp_path / "meminfo").write_text("MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\nHugePages_Total: 0\n")
    use = node_use(tmp_path)
    assert use == (pytest.approx(2.0), 400 * 1024, 1000 * 1024)
