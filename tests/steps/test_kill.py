"""Hooks, turns and grace of a stop, on a made-up clock."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.virtual_loop import run_virtually

from podherd.errors import CriError
from podherd.machines.pod.events import HookEnded, StepFailed
from podherd.machines.pod.instructions import KillContainer, Plan
from podherd.steps.kill import MAX_STOP_S
from podherd.steps.runner import perform

HOOK = {"exec": {"command": ["/bye"]}}
HANG = 1e6


@dataclass
class Node:
    """A runtime in made-up time. hook_s: how long an exec takes. term_s: how long each process outlives SIGTERM.

    dead: when each container died. graces: what StopContainer was given. hooks: when each exec began and ended.
    """

    hook_s: float = HANG
    term_s: dict[str, float] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    dead: dict[str, float] = field(default_factory=dict)
    graces: dict[str, int] = field(default_factory=dict)
    hooks: dict[str, list[float]] = field(default_factory=dict)

    async def exec_sync(self, container_id: str, _command: list[str]) -> Any:
        clock = asyncio.get_running_loop().time
        self.hooks[container_id] = [clock()]
        try:
            await asyncio.sleep(self.hook_s)
        finally:
            self.hooks[container_id].append(clock())
        return pb.ExecSyncResponse()

    async def stop_container(self, container_id: str, grace_s: int) -> None:
        self.graces[container_id] = grace_s
        if container_id in self.broken:
            raise CriError("CRI StopContainer", "UNKNOWN", "broken")
        if container_id not in self.dead:
            await asyncio.sleep(min(grace_s, self.term_s.get(container_id, HANG)))
            self.dead[container_id] = asyncio.get_running_loop().time()


@pytest.fixture
def node(bench: Any) -> Node:
    made = Node()
    bench.tools.cri = made
    return made


def kill(name: str, grace_s: int, hook: Any = None, after: tuple[str, ...] = ()) -> KillContainer:
    return KillContainer(f"id-{name}", name, grace_s, f"Stopping container {name}", hook, after)


def warnings(bench: Any) -> list[tuple[str, str]]:
    return [(reason, message) for kind, reason, message in bench.told() if kind == "Warning"]


def test_a_hook_that_hangs_is_given_up_at_the_end_of_the_grace(bench: Any, node: Node) -> None:
    """Case TERM-1."""
    synced = run_virtually(perform(bench.context(Plan(kill=(kill("web", 20, HOOK),)))))
    assert node.hooks == {"id-web": [0, 20]}
    assert node.graces == {"id-web": 2}
    assert node.dead["id-web"] == pytest.approx(22)
    assert synced.results == (HookEnded("id-web"),)
    assert warnings(bench) == [("FailedPreStopHook", "PreStopHook did not finish within the grace period of 20 s")]


def test_a_second_delete_without_grace_breaks_the_hook_off(bench: Any, node: Node) -> None:
    """Case TERM-1, variant: the machine cancels at t=4 and orders the rest anew, without the hook."""

    async def both() -> tuple[Any, Any]:
        context = bench.context(Plan(kill=(kill("web", 20, HOOK),)))
        task = asyncio.create_task(perform(context))
        asyncio.get_running_loop().call_later(4, context.cancel)
        return await task, await perform(bench.context(Plan(kill=(kill("web", 0),)), plan_id=2))

    first, second = run_virtually(both())
    assert (first.cancelled, first.results, second.results) == (True, (HookEnded("id-web"),), ())
    assert node.hooks == {"id-web": [0, 4]}
    assert node.dead["id-web"] == pytest.approx(6)
    assert [reason for reason, _ in warnings(bench)] == ["FailedPreStopHook"]
    assert "did not finish" in warnings(bench)[0][1]


def test_a_hooks_time_is_taken_from_the_grace(bench: Any, node: Node) -> None:
    node.hook_s = 7
    synced = run_virtually(perform(bench.context(Plan(kill=(kill("web", 20, HOOK),)))))
    assert (node.graces, node.dead) == ({"id-web": 13}, {"id-web": 20})
    assert (synced.results, warnings(bench)) == ((HookEnded("id-web"),), [])


def test_without_a_hook_the_whole_grace_is_the_processes(bench: Any, node: Node) -> None:
    run_virtually(perform(bench.context(Plan(kill=(kill("a", 20), kill("b", 1))))))
    assert node.graces == {"id-a": 20, "id-b": 2}


def test_a_grace_that_no_runtime_can_count_becomes_a_long_one(bench: Any, node: Node) -> None:
    node.term_s = {"id-web": 1}
    synced = run_virtually(perform(bench.context(Plan(kill=(kill("web", 2**63 - 1),)))))
    assert (node.graces, synced.results) == ({"id-web": MAX_STOP_S}, ())


def test_sidecars_stop_after_the_others_in_reverse_order_while_their_hooks_run_at_once(bench: Any, node: Node) -> None:
    node.hook_s = 3
    node.term_s = {"id-app": 4, "id-log": 2, "id-net": 1}
    kills = (
        kill("net", 30, HOOK, ("id-app", "id-log")),
        kill("log", 30, HOOK, ("id-app",)),
        kill("app", 30),
    )
    synced = run_virtually(perform(bench.context(Plan(kill=kills))))
    assert node.hooks == {"id-net": [0, 3], "id-log": [0, 3]}
    assert node.dead == {"id-app": 4, "id-log": 6, "id-net": 7}
    assert node.graces == {"id-app": 30, "id-log": 26, "id-net": 24}
    assert sorted(result.id for result in synced.results) == ["id-log", "id-net"]


def test_a_sidecar_waits_no_longer_than_its_own_grace(bench: Any, node: Node) -> None:
    kills = (kill("net", 20, None, ("id-app", "id-log")), kill("log", 20, None, ("id-app",)), kill("app", 20))
    run_virtually(perform(bench.context(Plan(kill=kills))))
    assert node.dead == {"id-app": 20, "id-log": 22, "id-net": 22}
    assert node.graces == {"id-app": 20, "id-log": 2, "id-net": 2}


def test_a_sidecar_outlives_an_app_that_could_not_be_stopped_as_long_as_it_has_grace(bench: Any, node: Node) -> None:
    node.broken = {"id-app"}
    kills = (kill("net", 20, None, ("id-app",)), kill("app", 20))
    synced = run_virtually(perform(bench.context(Plan(kill=kills))))
    assert (synced.results, node.dead) == ((StepFailed("kill", 'container "app": broken'),), {})
    synced = run_virtually(perform(bench.context(Plan(kill=(kill("net", 2, None, ("id-app",)), kill("app", 2))))))
    assert node.dead == {"id-net": 2}


def test_a_cancel_breaks_off_hooks_and_waits_for_a_turn(bench: Any, node: Node) -> None:
    kills = (kill("net", 60, None, ("id-app",)), kill("log", 60, HOOK, ("id-app",)), kill("app", 60))

    async def cancelled() -> tuple[Any, float]:
        context = bench.context(Plan(kill=kills))
        task = asyncio.create_task(perform(context))
        asyncio.get_running_loop().call_later(5, context.cancel)
        return await task, asyncio.get_running_loop().time()

    synced, ended = run_virtually(cancelled())
    assert (synced.cancelled, synced.did, synced.results, ended) == (True, True, (HookEnded("id-log"),), 5)
    assert (node.dead, node.hooks) == ({}, {"id-log": [0, 5]})


@pytest.mark.parametrize(("code", "told"), [("UNKNOWN", 1), ("NOT_FOUND", 0)])
async def test_a_failed_hook_is_told_and_the_stop_goes_on(bench: Any, code: str, told: int) -> None:
    bench.cri.fail["exec_sync"] = CriError("CRI ExecSync", code, "no")
    synced = await perform(bench.context(Plan(kill=(kill("web", 20, HOOK),))))
    assert bench.cri.calls == [("exec_sync", "id-web", ("/bye",), 0), ("stop_container", "id-web", 20)]
    assert synced.results == (HookEnded("id-web"),)
    assert warnings(bench) == [("FailedPreStopHook", "PreStopHook failed")] * told


async def test_killing_is_told_of_every_kind_by_its_field(bench: Any, make_pod: Any) -> None:
    spec = {
        "initContainers": [{"name": "net", "restartPolicy": "Always"}],
        "ephemeralContainers": [{"name": "debug"}],
    }
    await perform(
        bench.context(Plan(kill=tuple(kill(name, 2) for name in ("net", "debug", "web", "old"))), make_pod(spec))
    )
    assert [event.field_path for event in bench.events] == [
        "spec.initContainers{net}",
        "spec.ephemeralContainers{debug}",
        "spec.containers{web}",
        "spec.containers{old}",
    ]
