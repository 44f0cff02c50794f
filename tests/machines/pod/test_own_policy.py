"""A container's own policy and rules, ephemeral containers, the restart of all (section 3.4; KEP-5307, KEP-5532)."""

from typing import Any

import pytest
from tests.machines.pod.builders import (
    T0,
    container,
    exited,
    machine,
    observed,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
)
from tests.machines.pod.told import one, pod, sidecar

from podherd.machines.pod.events import Started, StartFailed, StepFailed, Wanted, Woke
from podherd.machines.pod.instructions import Instruction, KillContainer, Plan, Publish, Record, StartContainer, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.restart import may_restart, restartable
from podherd.machines.pod.rules import rule_action
from podherd.model.pod import Pod
from podherd.wire.observed import ContainerSeen

S0 = (sandbox(),)


def rule(action: str, operator: str, *values: int) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


ALL_ON_42 = one("main", restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", "In", 42)])


def done(name: str, code: int = 0, at: float = T0, **more: Any) -> ContainerSeen:
    return exited(name, at, code, name=name, **more)


def runs(name: str, **more: Any) -> ContainerSeen:
    return container(name, name, **more)


def begun(of: Pod, *containers: ContainerSeen) -> ShardMachine:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, containers))
    shard.handle(T0 + 2, Wanted(of, "file"))
    return shard


def waiting_of(out: list[Instruction]) -> Any:
    return status_of(out)["containerStatuses"][0]["state"]["waiting"]


@pytest.mark.parametrize(
    ("rules", "code", "action"),
    [
        ([rule("Restart", "In", 1, 2)], 2, "Restart"),
        ([rule("Restart", "In", 1, 2)], 3, ""),
        ([rule("Restart", "NotIn", 0)], 3, "Restart"),
        ([rule("Restart", "NotIn", 0)], 0, ""),
        ([rule("RestartAllContainers", "In", 3), rule("Restart", "NotIn", 0)], 3, "RestartAllContainers"),
        ([{"action": "Restart"}], 3, ""),
    ],
)
def test_the_first_rule_that_speaks_of_the_exit_code_decides(rules: Any, code: int, action: str) -> None:
    assert (
        rule_action(pod([one("main", restartPolicy="Never", restartPolicyRules=rules)]).containers[0], code) == action
    )


@pytest.mark.parametrize(
    ("own", "policy", "code", "again"),
    [
        ({}, "Never", 1, False),
        ({"restartPolicy": "Always"}, "Never", 0, True),
        ({"restartPolicy": "OnFailure"}, "Never", 0, False),
        ({"restartPolicy": "OnFailure"}, "Never", 1, True),
        ({"restartPolicy": "Never"}, "Always", 1, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 7)]}, "Always", 7, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", "In", 7)]}, "Always", 8, False),
        ({"restartPolicyRules": [rule("Restart", "In", 7)]}, "Never", 7, False),
    ],
)
def test_rules_then_the_own_policy_then_the_pod_s(own: dict[str, Any], policy: str, code: int, again: bool) -> None:
    of = pod([one("main", **own)], restart=policy)
    assert may_restart(of, of.containers[0], done("main", code)) is again


def test_a_container_that_never_ended_may_start_and_an_ephemeral_one_only_once() -> None:
    of = pod(restart="Never", debug=["probe"])
    main, probe = of.containers[0], of.ephemeral_containers[0]
    assert may_restart(of, main, None)
    assert may_restart(of, main, container(state="created"))
    assert may_restart(of, probe, None)
    assert not may_restart(of, probe, done("probe", 1))


def test_one_container_of_a_never_pod_restarts_and_the_pod_runs_on() -> None:
    of = pod(["hold", one("main", restartPolicy="OnFailure")], restart="Never")
    out = begun(of, runs("hold"), runs("main")).handle(T0 + 9, observed(T0 + 9, S0, [runs("hold"), done("main", 1)]))
    assert sync_of(out).plan.start == (StartContainer("main", 1),)


def test_a_never_pod_whose_containers_may_restart_gets_a_new_sandbox_for_those() -> None:
    of = pod([one("main", restartPolicy="Always"), "tick"], restart="Never")
    assert restartable(of)
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], [done("main", 1), done("tick")]))
    plan = sync_of(shard.handle(T0 + 2, Wanted(of, "file"))).plan
    assert (plan.make_sandbox, plan.start) == (1, (StartContainer("main", 1),))


@pytest.mark.parametrize(("own", "can"), [({}, False), ({"restartPolicy": "Never"}, False)])
def test_a_never_pod_with_sidecars_alone_is_not_restartable(own: dict[str, str], can: bool) -> None:
    assert restartable(pod([one("main", **own)], init=[sidecar("proxy")], restart="Never")) is can


def test_ephemeral_containers_start_first_and_once() -> None:
    of = pod(debug=["probe"])
    shard = begun(of)
    shard = begun(of, runs("main"))
    out = shard.handle(T0 + 9, observed(T0 + 9, S0, [done("main", 1)]), Woke("u1"))
    assert syncs(out) == []  # the plan of T0 + 2 is in flight
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [done("main", 1)]))
    plan = sync_of(shard.handle(T0 + 2, Wanted(of, "file"))).plan
    assert plan.start == (StartContainer("probe", 0), StartContainer("main", 1))
    for ended in (runs("probe"), done("probe", 1)):
        assert syncs(begun(of, runs("main"), ended).handle(T0 + 9, Woke("u1"))) == []


def test_an_ephemeral_container_joins_its_target_or_says_why_not() -> None:
    of = pod(debug=[one("join", targetContainerName="main")])
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [runs("main")]))
    assert sync_of(shard.handle(T0 + 2, Wanted(of, "file"))).plan.start == (
        StartContainer("join", 0, target_id="main"),
    )
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [container("main", state="created")]))
    out = shard.handle(T0 + 2, Wanted(of, "file"))
    assert [each.name for each in sync_of(out).plan.start] == ["main"]
    assert status_of(out)["ephemeralContainerStatuses"][0]["state"]["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": "unable to find target container main",
    }


def restarting() -> tuple[ShardMachine, Plan]:
    """The pod of ALL_ON_42 with an init container, a sidecar and a neighbour, its main container ended with 42."""
    of = pod([ALL_ON_42, one("side", lifecycle={"preStop": {"sleep": {"seconds": 9}}})], ["setup", sidecar("proxy")],
             debug=["probe"])  # fmt: skip
    held = [runs("probe"), runs("side"), runs("main"), runs("proxy"), done("setup")]
    shard = begun(of, *held)
    out = shard.handle(T0 + 9, observed(T0 + 9, S0, [*held[:2], done("main", 42, T0 + 8), *held[3:]]))
    sync = sync_of(out)
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    return shard, sync.plan


def test_a_rule_removes_all_init_and_regular_containers_without_hook_or_grace_the_cause_last() -> None:
    _, plan = restarting()
    assert plan == Plan(
        kill=tuple(KillContainer(name, name, 0, f"Stopping container {name}") for name in ("side", "proxy")),
        remove_containers=("side", "proxy", "setup", "main"),
    )


def test_then_the_pod_begins_anew_in_its_sandbox_with_the_next_attempts() -> None:
    shard, _ = restarting()
    sync = sync_of(shard.handle(T0 + 11, observed(T0 + 11, S0, [runs("probe")])))
    assert sync.plan == Plan(sandbox_id="s0", start=(StartContainer("setup", 1),))
    shard.handle(T0 + 12, synced(sync, T0 + 12, Started("setup", "setup1", 1)))
    ended = exited("setup1", T0 + 13, 0, name="setup", attempt=1, created_at=T0 + 12)
    plan = sync_of(shard.handle(T0 + 14, observed(T0 + 14, S0, [ended, runs("probe")]))).plan
    assert plan.start == (StartContainer("proxy", 1), StartContainer("main", 1), StartContainer("side", 1))


@pytest.mark.parametrize(
    ("held", "left"),
    [
        ([done("side", 137), done("setup")], ("side", "setup")),
        ([done("main", 42), done("side", 137)], ("side", "main")),
        ([done("main", 42, attempt=1), exited("main0", T0, 1, name="main"), done("side")], ("side", "main0", "main")),
    ],
    ids=["without the cause", "the cause last", "its older instance before it"],
)
def test_a_restart_of_all_that_is_half_done_goes_on(held: list[ContainerSeen], left: tuple[str, ...]) -> None:
    shard, _ = restarting()
    out = shard.handle(T0 + 11, observed(T0 + 11, S0, [runs("probe"), *held]))
    assert sync_of(out).plan == Plan(remove_containers=left)


def test_a_second_restart_of_all_waits_for_the_back_off_of_its_cause() -> None:
    of = pod([ALL_ON_42])
    shard = begun(of, runs("main"))
    sync = sync_of(shard.handle(T0 + 9, observed(T0 + 9, S0, [done("main", 42, T0 + 9)])))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    sync = sync_of(shard.handle(T0 + 11, observed(T0 + 11, S0)))
    shard.handle(T0 + 12, synced(sync, T0 + 12, Started("main", "main1", 1)))
    out = shard.handle(T0 + 13, observed(T0 + 13, S0, [done("main", 42, T0 + 13, attempt=1, created_at=T0 + 12)]))
    assert syncs(out) == []
    assert [each.event.reason for each in out if isinstance(each, Record)] == ["BackOff"]
    assert out[-1] == WakeAt("u1", T0 + 23)
    assert sync_of(shard.handle(T0 + 23, Woke("u1"))).plan == Plan(remove_containers=("main",))


def test_a_never_pod_that_restarts_all_is_not_over() -> None:
    of = pod([ALL_ON_42, "tick"], restart="Never")
    shard = begun(of, runs("main"), done("tick"))
    out = shard.handle(T0 + 9, observed(T0 + 9, S0, [done("main", 42), done("tick")]))
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out += shard.handle(T0 + 11, observed(T0 + 11, S0))
    assert {each.status["phase"] for each in out if isinstance(each, Publish)} <= {"Running", "Pending"}
    assert sync_of(out[-1:]).plan.start == (StartContainer("main", 1), StartContainer("tick", 1))


def test_a_failed_removal_is_tried_again() -> None:
    of = pod([ALL_ON_42])
    shard = begun(of, runs("main"))
    sync = sync_of(shard.handle(T0 + 9, observed(T0 + 9, S0, [done("main", 42)])))
    shard.handle(T0 + 10, synced(sync, T0 + 10, StepFailed("remove", "busy")))
    shard.handle(T0 + 11, observed(T0 + 11, S0, [done("main", 42)]))
    assert sync_of(shard.handle(T0 + 40, Woke("u1"))).plan == Plan(remove_containers=("main",))


def test_a_failed_post_start_hook_is_told_then_it_is_a_crash_like_any_other() -> None:
    of = pod([one("main", lifecycle={"postStart": {"exec": {"command": ["false"]}}})])
    hook_failed = StartFailed("main", "PostStartHookError", "exit 1")
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, Wanted(of, "file")))
    shard.handle(T0 + 2, synced(sync, T0 + 2, hook_failed))
    out = shard.handle(T0 + 3, observed(T0 + 3, S0, [done("main", 137, T0 + 2)]))
    assert waiting_of(out) == {"reason": "PostStartHookError", "message": "exit 1"}
    sync = sync_of(out)
    assert sync.plan.start == (StartContainer("main", 1),)
    shard.handle(T0 + 10, synced(sync, T0 + 10, hook_failed))
    ended = done("main", 137, T0 + 10.5, attempt=1, created_at=T0 + 9.5)
    out = shard.handle(T0 + 11, observed(T0 + 11, S0, [ended]))
    assert syncs(out) == []
    assert waiting_of(out) == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=main pod=web_default(u1)",
    }
    assert out[-1] == WakeAt("u1", T0 + 20.5)
    assert sync_of(shard.handle(T0 + 20.5, Woke("u1"))).plan.start == (StartContainer("main", 2),)
