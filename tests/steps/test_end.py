"""Stopping, removing and cleaning up."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from podherd.errors import CriError
from podherd.machines.pod.events import StepFailed
from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer
from podherd.steps import cgroup
from podherd.steps.runner import perform

GONE = CriError("CRI x", "NOT_FOUND", "no such thing")
BROKEN = CriError("CRI x", "UNKNOWN", "broken")


def kill(name: str, grace_s: int = 5) -> KillContainer:
    return KillContainer(f"id-{name}", name, grace_s, f"Stopping container {name}")


async def test_containers_are_killed_at_the_same_time_each_with_its_grace(bench: Any) -> None:
    gate = bench.cri.gate["stop_container"] = asyncio.Event()
    task = asyncio.create_task(perform(bench.context(Plan(kill=(kill("a", 3), kill("b", 9))))))
    await bench.until(lambda: len(bench.cri.calls) == 2)
    assert bench.cri.calls == [("stop_container", "id-a", 3), ("stop_container", "id-b", 9)]
    gate.set()
    synced = await task
    assert (synced.results, synced.did) == ((), True)
    assert bench.told() == [
        ("Normal", "Killing", "Stopping container a"),
        ("Normal", "Killing", "Stopping container b"),
    ]


async def test_everything_that_is_already_gone_is_done(bench: Any) -> None:
    bench.cri.fail = dict.fromkeys(("stop_container", "stop_sandbox", "remove_container", "remove_sandbox"), GONE)
    plan = Plan((kill("a"),), ("s0",), ("c0",), ("s0",), clean_up=True)
    synced = await perform(bench.context(plan))
    assert synced.results == ()
    assert bench.cri.methods() == ["stop_container", "stop_sandbox", "remove_container", "remove_sandbox"]


async def test_a_failed_kill_ends_the_sync_and_says_so(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["stop_container"] = BROKEN
    plan = Plan(kill=(kill("web"),), stop_sandboxes=("s0",), start=(StartContainer("web", 1),), clean_up=True)
    synced = await perform(bench.context(plan, make_pod()))
    assert synced.results == (StepFailed("kill", 'container "web": broken'),)
    assert bench.cri.methods() == ["stop_container"]
    assert ("Warning", "FailedKillPod", "error killing pod: broken") in bench.told()


async def test_a_sandbox_that_cannot_be_stopped_gets_no_successor(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["stop_sandbox"] = BROKEN
    synced = await perform(bench.context(Plan(stop_sandboxes=("s0",), make_sandbox=1), make_pod()))
    assert synced.results == (StepFailed("stop", "broken"),)
    assert bench.cri.methods() == ["stop_sandbox"]


async def test_a_failed_removal_holds_up_the_clean_up_but_no_start(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["remove_container"] = BROKEN
    await perform(bench.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), make_pod()))
    plan = Plan(remove_containers=("c0",), sandbox_id="s0", start=(StartContainer("web", 1),), clean_up=True)
    synced = await perform(bench.context(plan, make_pod()))
    assert [type(result).__name__ for result in synced.results] == ["StepFailed", "Started"]
    assert bench.settings.pod_dir("u1").exists()


async def test_clean_up_leaves_nothing_of_the_pod_and_may_be_repeated(bench: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "work", "emptyDir": {}}]}
    pod = make_pod(spec, {"name": "web", "volumeMounts": [{"name": "work", "mountPath": "/work"}]})
    await perform(bench.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), pod))
    assert bench.settings.pod_dir("u1").exists()
    plan = Plan(remove_containers=("web-0",), remove_sandboxes=("s0",), clean_up=True)
    for pod_or_none in (pod, pod, None):
        synced = await perform(bench.context(plan, pod_or_none))
        assert synced.results == ()
        assert list(bench.settings.root_dir.glob("pods/*")) == []
        assert list(bench.settings.pod_logs_dir.iterdir()) == []
        assert list((bench.settings.pod_logs_dir.parent / "containers").iterdir()) == []


async def test_log_links_of_a_pod_without_spec_are_found_by_its_log_directory(bench: Any, make_pod: Any) -> None:
    await perform(bench.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), make_pod()))
    await perform(bench.context(Plan(remove_containers=("web-0",))))
    assert list((bench.settings.pod_logs_dir.parent / "containers").iterdir()) == []


async def test_clean_up_never_follows_a_link_out_of_the_pod(bench: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "dear").write_text("kept")
    volume = bench.settings.pod_dir("u1") / "volumes" / "kubernetes.io~empty-dir" / "work"
    volume.mkdir(parents=True)
    (volume / "out").symlink_to(outside)
    synced = await perform(bench.context(Plan(clean_up=True)))
    assert synced.results == ()
    assert (outside / "dear").read_text() == "kept"
    bench.settings.pod_dir("u1").symlink_to(outside)
    synced = await perform(bench.context(Plan(clean_up=True)))
    assert [result.step for result in synced.results] == ["clean_up"]
    assert (outside / "dear").read_text() == "kept"


async def test_the_pods_cgroup_goes_with_what_is_left_below_it(bench: Any, make_pod: Any, tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    for controller in ("cpu", "memory"):
        (mount / controller / "podherd-test-none/kubepods/besteffort/podu1").mkdir(parents=True)
    cgroup.remove(bench.context(Plan(), make_pod()), os.fspath(mount))
    cgroup.remove(bench.context(Plan()), os.fspath(mount))
    assert [path.name for path in mount.rglob("pod*")] == ["podherd-test-none"] * 2


@pytest.mark.parametrize(("size_bytes", "threads"), [(1000, 0), (10 << 20, 1)])
async def test_large_logs_are_removed_beside_the_loop_and_small_ones_at_once(
    bench: Any, monkeypatch: pytest.MonkeyPatch, size_bytes: int, threads: int
) -> None:
    logs = bench.settings.pod_log_dir("shop", "web", "u1") / "web"
    logs.mkdir(parents=True)
    with (logs / "0.log").open("wb") as file:
        file.truncate(size_bytes)
    begun: list[str] = []
    submit = bench.tools.files.submit
    monkeypatch.setattr(bench.tools.files, "submit", lambda *work: begun.append(work[1]) or submit(*work))
    synced = await perform(bench.context(Plan(remove_containers=("web-0",), clean_up=True)))
    assert synced.results == ()
    assert not logs.parent.exists()
    assert len(begun) == threads
