"""What conversion learns of the machine."""

import os
from pathlib import Path

import pytest

from podherd.model.settings import Settings
from podherd.steps.host_facts import HostFacts, _kernel


def facts(tmp_path: Path, *files: str) -> HostFacts:
    sys = tmp_path / "sys"
    for name in files:
        (sys / name).parent.mkdir(parents=True, exist_ok=True)
        (sys / name).touch()
    sys.mkdir(exist_ok=True)
    return HostFacts(Settings(node_name="n1", root_dir=tmp_path / "a" / "b", runtime_endpoint="unix:///x"), sys)


@pytest.mark.parametrize(
    ("files", "v2", "swap"),
    [
        ((), False, False),
        (("fs/cgroup/memory/memory.memsw.limit_in_bytes",), False, True),
        (("fs/cgroup/cgroup.controllers",), True, False),
        (("fs/cgroup/cgroup.controllers", "fs/cgroup/system.slice/memory.swap.max"), True, True),
        (("fs/cgroup/cgroup.controllers", "fs/cgroup/memory/memory.memsw.limit_in_bytes"), True, False),
    ],
)
def test_whether_cgroups_can_limit_swap(tmp_path: Path, files: tuple[str, ...], v2: bool, swap: bool) -> None:
    now = facts(tmp_path, *files).now()
    assert (now.cgroup_v2, now.swap) == (v2, swap)


def test_storage_is_that_of_the_file_system_the_root_directory_will_be_on(tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)
    assert facts(tmp_path).now().storage_bytes == found.f_frsize * found.f_blocks


@pytest.mark.parametrize(
    ("release", "version"), [("6.1.0-13-amd64", (6, 1)), ("5.15.0", (5, 15)), ("4.4", (4, 4)), ("next", (0, 0))]
)
def test_the_kernels_version_is_two_numbers(release: str, version: tuple[int, int]) -> None:
    assert _kernel(release) == version


def test_huge_pages_have_the_runtimes_names(tmp_path: Path) -> None:
    base = "kernel/mm/hugepages/hugepages-"
    now = facts(tmp_path, f"{base}2048kB/x", f"{base}1048576kB/x", f"{base}64kB/x").now()
    assert now.hugepage_sizes == ("1GB", "2MB", "64KB")
