"""Directories from before a start: whose they are, and what a clean-up that was broken off leaves."""

import os
from pathlib import Path
from typing import Any

import pytest

from podherd.machines.pod.events import LeftBehind, Started
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model.keys import shard_of
from podherd.steps import clean_up, left_behind
from podherd.steps.runner import perform
from podherd.volumes.errors import VolumeError

LATER = 1e10


def make(settings: Any, uid: str, namespace: str, name: str) -> None:
    (settings.pod_dir(uid) / "containers").mkdir(parents=True)
    settings.pod_log_dir(namespace, name, uid).mkdir(parents=True)


def test_each_shard_is_told_of_its_own_pods(bench: Any) -> None:
    for n in range(20):
        make(bench.settings, f"u_{n}", "shop", f"web-{n}")
    found = [left_behind.find(bench.settings, shard, LATER) for shard in range(2)]
    assert {pod.name for one in found for pod in one.pods} == {f"web-{n}" for n in range(20)}
    for shard, one in enumerate(found):
        assert one.pods
        assert one.nameless == []
        assert all(shard_of(pod.namespace, pod.name, 2) == shard for pod in one.pods)
        assert all(pod.uid == f"u_{pod.name[4:]}" for pod in one.pods)


def test_where_nothing_stands_nothing_is_found(bench: Any) -> None:
    assert left_behind.find(bench.settings, 0, LATER) == ([], [])


def test_logs_alone_may_be_another_agents(bench: Any) -> None:
    bench.settings.pod_log_dir("shop", "web", "u1").mkdir(parents=True)
    (bench.settings.root_dir / "pods").mkdir(parents=True)
    assert left_behind.find(bench.settings, 0, LATER) == ([], [])
    assert bench.settings.pod_log_dir("shop", "web", "u1").exists()


def test_a_directory_of_nobody_known_is_named_once_and_stays(bench: Any) -> None:
    lost = bench.settings.pod_dir("u1") / "volumes" / "dear"
    lost.mkdir(parents=True)
    assert left_behind.find(bench.settings, 1, LATER) == ([], [])
    assert left_behind.find(bench.settings, 0, LATER) == ([], [str(bench.settings.pod_dir("u1"))])
    assert lost.exists()


def test_an_empty_directory_goes_unless_it_was_made_just_now(bench: Any) -> None:
    pod_dir = bench.settings.pod_dir("u1")
    pod_dir.mkdir(parents=True)
    (pod_dir / "etc-hosts").touch()
    assert left_behind.find(bench.settings, 0, pod_dir.stat().st_mtime + 1) == ([], [])
    assert pod_dir.exists()
    assert left_behind.find(bench.settings, 0, LATER) == ([], [])
    assert not pod_dir.exists()


def test_a_link_among_the_pods_is_nobodys(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (bench.settings.root_dir / "pods").mkdir(parents=True)
    bench.settings.pod_dir("u1").symlink_to(tmp_path / "outside")
    assert left_behind.find(bench.settings, 0, LATER) == ([], [])
    assert (tmp_path / "outside").exists()


def links(settings: Any) -> list[str]:
    return sorted(os.listdir(settings.pod_logs_dir.parent / "containers"))


async def test_log_links_of_vanished_pods_go_and_others_stay(bench: Any, make_pod: Any, tmp_path: Path) -> None:
    await perform(bench.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), make_pod()))
    containers = bench.settings.pod_logs_dir.parent / "containers"
    (containers / "gone").symlink_to(bench.settings.pod_logs_dir / "shop_gone_u2" / "web" / "0.log")
    (containers / "foreign").symlink_to(tmp_path / "elsewhere" / "a" / "0.log")
    left_behind.find(bench.settings, 1, LATER)
    assert len(links(bench.settings)) == 3
    left_behind.find(bench.settings, 0, LATER)
    assert links(bench.settings) == ["foreign", "web_shop_web-web-0.log"]


async def test_a_pod_that_the_runtime_forgot_leaves_no_links(bench: Any, make_pod: Any) -> None:
    await perform(bench.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), make_pod()))
    (bench.settings.pod_logs_dir.parent / "containers" / "web_shop_web-other.log").symlink_to("/elsewhere/0.log")
    synced = await perform(bench.context(Plan(clean_up=True)))
    assert (synced.results, links(bench.settings)) == ((), ["web_shop_web-other.log"])


@pytest.mark.parametrize("broken_at", range(5))
async def test_a_clean_up_that_is_broken_off_anywhere_is_finished_after_a_restart(
    bench: Any, make_pod: Any, monkeypatch: pytest.MonkeyPatch, broken_at: int
) -> None:
    spec = {"volumes": [{"name": "work", "emptyDir": {}}]}
    plan = Plan(make_sandbox=0, start=(StartContainer("web", 0),))
    synced = await perform(bench.context(plan, make_pod(spec)))
    assert isinstance(synced.results[0], Started)
    removals = 0
    remove = clean_up.remove_tree

    def until_the_end(path: str, quick: bool = False) -> bool:
        nonlocal removals
        removals += 1
        if removals > broken_at:
            raise VolumeError(path, "killed")
        return remove(path, quick)

    monkeypatch.setattr(clean_up, "remove_tree", until_the_end)
    await perform(bench.context(Plan(clean_up=True)))
    monkeypatch.setattr(clean_up, "remove_tree", remove)
    shard = shard_of("shop", "web", 2)
    pods = left_behind.find(bench.settings, shard, LATER).pods
    for pod in pods:
        assert pod == LeftBehind("u1", "shop", "web")
        assert (await perform(bench.context(Plan(clean_up=True)))).results == ()
    assert left_behind.find(bench.settings, 0, LATER).nameless == []
    assert os.listdir(bench.settings.root_dir / "pods") == []
    assert os.listdir(bench.settings.pod_logs_dir) == []
