"""kubepods names as the kubelet writes them (section 14.1)."""

import pytest

from podherd.cgroups.paths import kubepods, pod_cgroup, qos_cgroup

UID = "0f-a1"


@pytest.mark.parametrize(
    ("qos", "driver", "root", "name"),
    [
        ("BestEffort", "cgroupfs", "/", "/kubepods/besteffort/pod0f-a1"),
        ("Burstable", "cgroupfs", "/", "/kubepods/burstable/pod0f-a1"),
        ("Guaranteed", "cgroupfs", "/", "/kubepods/pod0f-a1"),
        ("BestEffort", "cgroupfs", "/herd/n-1", "/herd/n-1/kubepods/besteffort/pod0f-a1"),
        ("Burstable", "systemd", "/", "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f_a1.slice"),
        ("Guaranteed", "systemd", "/", "/kubepods.slice/kubepods-pod0f_a1.slice"),
        ("Guaranteed", "systemd", "/n-1", "/n_1.slice/n_1-kubepods.slice/n_1-kubepods-pod0f_a1.slice"),
    ],
)
def test_pod_cgroup_stands_under_its_qos_class(qos: str, driver: str, root: str, name: str) -> None:
    assert pod_cgroup(UID, qos, driver, root) == name


def test_qos_cgroups() -> None:
    assert qos_cgroup("BestEffort", "cgroupfs") == "/kubepods/besteffort"
    assert qos_cgroup("Guaranteed", "cgroupfs") == kubepods("cgroupfs") == "/kubepods"
    assert qos_cgroup("Burstable", "systemd") == "/kubepods.slice/kubepods-burstable.slice"
