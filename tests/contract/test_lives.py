"""Hooks, turns of a stop and last words: plans performed on both runtimes.

What a container does is said twice: by its command for a real runtime, by marks for the hollow one.
"""

import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.contract.conftest import until_state
from tests.kit.pods import pod

from podherd.agent.provision import BUSYBOX
from podherd.cri.client import Cri
from podherd.cri.convert import Host
from podherd.machines.pod.events import HookEnded, Started, StartFailed, Synced
from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer, Sync
from podherd.model.settings import Settings
from podherd.steps.cgroup import MOUNT, hierarchies
from podherd.steps.context import Context, Tools
from podherd.steps.last_words import LastWords
from podherd.steps.pull_limits import Rate
from podherd.steps.pulls import Pulls
from podherd.steps.runner import perform
from podherd.wire.status import PodEvent

HEEDS_TERM = ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]
SLOW_TO_STOP = ["sh", "-c", "trap 'sleep 0.6; exit 0' TERM; sleep 600 & wait"]
MARK = "hollow.podherd.io/"


def exec_of(*command: str) -> dict[str, Any]:
    return {"exec": {"command": list(command)}}


@dataclass
class Stage:
    """Performs plans for one pod, which has the host directory `shared` at /shared in each container."""

    cri: Cri
    settings: Settings
    files: ThreadPoolExecutor
    shared: Path
    events: list[PodEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tools = Tools(
            cri=self.cri,
            settings=self.settings,
            pulls=Pulls(self.cri, 1, Rate(0, 1, time), time),
            files=self.files,
            clock=time,
            record=self.events.append,
            unexpected=lambda step, error: pytest.fail(f"{step}: {error!r}"),
            cgroup_driver="cgroupfs",
            host=lambda: Host(memory_bytes=1 << 30, ips=("192.0.2.7",)),
        )

    def pod(self, *containers: dict[str, Any], marks: dict[str, str] | None = None, **spec: Any) -> Any:
        """A pod of these containers, with marks for hollow."""
        mounts = [{"name": "shared", "mountPath": "/shared"}]
        shared = {"name": "shared", "hostPath": {"path": str(self.shared), "type": "Directory"}}
        for each in (*containers, *spec.get("initContainers", ())):
            each.setdefault("command", HEEDS_TERM)
            each.update(image=BUSYBOX, volumeMounts=mounts)
        notes = {MARK + name: value for name, value in (marks or {}).items()}
        return pod(
            {"dnsPolicy": "Default", "volumes": [shared], **spec, "containers": list(containers)}, annotations=notes
        )

    async def perform(self, plan: Plan, a_pod: Any) -> Synced:
        sync = Sync(a_pod.uid, a_pod.namespace, a_pod.name, 1, a_pod, plan)
        self.pod_seen = a_pod
        return await perform(Context(sync, self.tools))

    async def start(self, a_pod: Any) -> Synced:
        """All of its containers, in a sandbox of their own."""
        starts = tuple(StartContainer(each.name, 0) for each in a_pod.every_container)
        return await self.perform(Plan(make_sandbox=0, start=starts), a_pod)

    def warnings(self) -> list[tuple[str, str]]:
        return [(event.reason, event.message) for event in self.events if event.type == "Warning"]

    async def clear(self) -> None:
        listed = pb.ListPodSandboxResponse.FromString(await self.cri.list_sandboxes_raw()).items
        ids = tuple(each.id for each in listed if each.metadata.uid == self.pod_seen.uid)
        synced = await self.perform(Plan(stop_sandboxes=ids, remove_sandboxes=ids, clean_up=True), self.pod_seen)
        assert synced.results == ()


CGROUP_ROOT = "podherd-test-lives"


@pytest.fixture(scope="module", autouse=True)
def _no_cgroups_left() -> Iterator[None]:
    yield
    for hierarchy in hierarchies(MOUNT):
        for path, _, _ in os.walk(f"{hierarchy}/{CGROUP_ROOT}", topdown=False):
            os.rmdir(path)


@pytest.fixture
def files() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


@pytest.fixture
async def stage(cri: Cri, files: ThreadPoolExecutor, runtime: Any, tmp_path: Path) -> AsyncIterator[Stage]:
    settings = Settings(
        node_name="n1",
        root_dir=tmp_path / "root",
        runtime_endpoint=runtime.endpoint,
        pod_logs_dir=tmp_path / "log" / "pods",
        cgroup_root=f"/{CGROUP_ROOT}",
    )
    (tmp_path / "shared").mkdir()
    one = Stage(cri, settings, files, tmp_path / "shared")
    yield one
    await one.clear()


def kill(started: Any, grace_s: int, hook: Any = None, after: tuple[str, ...] = ()) -> KillContainer:
    return KillContainer(started.id, started.name, grace_s, f"Stopping container {started.name}", hook, after)


async def test_a_post_start_hook_has_run_when_the_sync_is_answered(stage: Stage, runtime: Any) -> None:
    hook = exec_of("sh", "-c", "sleep 0.3; echo up > /shared/up")
    synced = await stage.start(stage.pod({"name": "web", "lifecycle": {"postStart": hook}}))
    assert [type(result) for result in synced.results] == [Started]
    if runtime.name == "containerd":
        assert (stage.shared / "up").read_text() == "up\n"


async def test_a_container_whose_post_start_hook_fails_is_stopped(stage: Stage) -> None:
    hook = exec_of("sh", "-c", "echo because >&2; exit 7")
    marks = {"exec-exit-code": "7", "exec-stderr": "because\n"}
    a_pod = stage.pod({"name": "web", "lifecycle": {"postStart": hook}}, marks=marks)
    (failed,) = (await stage.start(a_pod)).results
    assert isinstance(failed, StartFailed)
    assert failed.reason == "PostStartHookError"
    assert "exited with 7: because" in failed.message
    assert stage.warnings() == [("FailedPostStartHook", "PostStartHook failed")]
    _, held = await stage.cri.list_pod(a_pod.uid)
    assert [each.state for each in held] == [pb.CONTAINER_EXITED]


async def test_a_pre_stop_hook_runs_before_the_stop(stage: Stage, runtime: Any) -> None:
    a_pod = stage.pod(
        {"name": "web", "command": ["sh", "-c", "trap 'cp /shared/hook /shared/term; exit 0' TERM; sleep 600 & wait"]}
    )
    (started,) = (await stage.start(a_pod)).results
    hook = exec_of("sh", "-c", "echo first > /shared/hook")
    synced = await stage.perform(Plan(kill=(kill(started, 10, hook),)), a_pod)
    assert synced.results == (HookEnded(started.id),)
    assert stage.warnings() == []
    assert (await stage.cri.container_status(started.id)).state == pb.CONTAINER_EXITED
    if runtime.name == "containerd":
        assert (stage.shared / "term").read_text() == "first\n"


async def test_a_pre_stop_hook_that_hangs_is_given_up_with_the_grace(stage: Stage) -> None:
    """Case TERM-1, in real time."""
    ignores = ["sh", "-c", "trap '' TERM; while true; do sleep 0.1; done"]
    a_pod = stage.pod({"name": "web", "command": ignores}, marks={"exec-delay": "60", "stop": "ignore-term"})
    (started,) = (await stage.start(a_pod)).results
    began = time()
    synced = await stage.perform(Plan(kill=(kill(started, 1, exec_of("sleep", "60")),)), a_pod)
    assert 2.9 < time() - began < 20  # the hook takes 60 s; how exact it is, the virtual clock tells
    assert synced.results == (HookEnded(started.id),)
    said = "PreStopHook did not finish within the grace period of 1 s"
    assert stage.warnings() == [("FailedPreStopHook", said)]
    status = await stage.cri.container_status(started.id)
    assert (status.state, status.exit_code) == (pb.CONTAINER_EXITED, 137)


async def test_sidecars_stop_after_the_app_and_in_reverse_order(stage: Stage) -> None:
    sidecars = [{"name": name, "restartPolicy": "Always"} for name in ("net", "log")]
    app = {"name": "app", "command": SLOW_TO_STOP}
    a_pod = stage.pod(app, initContainers=sidecars, marks={"stop-delay.app": "0.6"})
    net, log, app_run = (await stage.start(a_pod)).results
    assert [each.name for each in (net, log, app_run)] == ["net", "log", "app"]
    kills = (kill(net, 20, None, (app_run.id, log.id)), kill(log, 20, None, (app_run.id,)), kill(app_run, 20))
    assert (await stage.perform(Plan(kill=kills), a_pod)).results == ()
    ends = [(await stage.cri.container_status(each.id)).finished_at for each in (app_run, log, net)]
    assert ends == sorted(ends)
    assert len(set(ends)) == 3


@pytest.mark.parametrize("policy", ["File", "FallbackToLogsOnError"])
async def test_last_words_come_from_the_file(stage: Stage, policy: str) -> None:
    says = ["sh", "-c", "echo no beans > /dev/termination-log; echo in the log; exit 3"]
    marks = {"last-words": "no beans\n", "log": "in the log", "exit-code": "3"}
    web = {"name": "web", "command": says, "terminationMessagePolicy": policy}
    assert await _last_words(stage, stage.pod(web, marks=marks, restartPolicy="Never")) == "no beans\n"


async def test_without_a_file_last_words_come_from_the_log_where_that_is_wanted(stage: Stage) -> None:
    says = ["sh", "-c", "echo one; echo two; exit 3"]
    marks = {"log": "one\ntwo", "exit-code": "3"}
    web = {"name": "web", "command": says, "terminationMessagePolicy": "FallbackToLogsOnError"}
    assert await _last_words(stage, stage.pod(web, marks=marks, restartPolicy="Never")) == "one\ntwo\n"


async def _last_words(stage: Stage, a_pod: Any) -> str:
    (started,) = (await stage.start(a_pod)).results
    status = await until_state(stage.cri, started.id, pb.CONTAINER_EXITED)
    reader = LastWords(stage.settings.root_dir, stage.settings.pod_logs_dir)
    assert reader.is_due(status)
    reader.add(status, 1)
    return status.message
