"""Init containers and sidecars: one by one, in order, once in a sandbox (kubelet behaviour, 3.1, 3.3; case SYNC-1)."""

from collections.abc import Iterable
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

from podherd.machines.pod.events import Started, StartFailed, Wanted, Woke
from podherd.machines.pod.init import initialised, started
from podherd.machines.pod.instructions import Instruction, Plan, Record, StartContainer, WakeAt
from podherd.model.pod import Pod
from podherd.wire.observed import ContainerSeen, SandboxSeen

S0 = (sandbox(),)


def seen_so(of: Pod, containers: Iterable[ContainerSeen], boxes: Iterable[SandboxSeen] = S0) -> list[Instruction]:
    """What a new machine says to a pod that the runtime holds so."""
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, boxes, containers))
    return shard.handle(T0 + 2, Wanted(of, "file"))


def names(plan: Plan) -> list[str]:
    return [each.name for each in plan.start]


def done(name: str, code: int = 0, **more: Any) -> ContainerSeen:
    return exited(name, T0, code, name=name, **more)


def runs(name: str, **more: Any) -> ContainerSeen:
    return container(name, name, **more)


def test_the_first_init_container_starts_alone_in_the_new_sandbox() -> None:
    plan = sync_of(machine().handle(T0 + 1, Wanted(pod(init=["fetch", "setup"]), "file"))).plan
    assert plan == Plan(make_sandbox=0, start=(StartContainer("fetch", 0),))


@pytest.mark.parametrize(
    ("containers", "starts"),
    [
        ([], ["fetch"]),
        ([runs("fetch")], []),
        ([container("fetch", "fetch", state="created")], ["fetch"]),
        ([done("fetch")], ["setup"]),
        ([runs("setup"), done("fetch")], []),
        ([done("setup"), done("fetch")], ["main"]),
        ([done("fetch", 3)], ["fetch"]),
        ([done("fetch", 0, reason="OOMKilled")], ["fetch"]),
    ],
)
def test_init_containers_run_one_at_a_time_and_then_the_app(containers: list[ContainerSeen], starts: list[str]) -> None:
    out = seen_so(pod(init=["fetch", "setup"]), containers)
    assert [name for sync in syncs(out) for name in names(sync.plan)] == starts


def test_a_failed_init_container_is_started_again_with_back_off_and_its_own_field_path() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [done("fetch", 3)]))
    sync = sync_of(shard.handle(T0 + 2, Wanted(pod(init=["fetch"]), "file")))
    shard.handle(T0 + 3, synced(sync, T0 + 3, Started("fetch", "fetch1", 1)))
    again = exited("fetch1", T0 + 4, 3, name="fetch", attempt=1, created_at=T0 + 3)
    out = shard.handle(T0 + 5, observed(T0 + 5, S0, [again, done("fetch", 3)]))
    assert [each.event.field_path for each in out if isinstance(each, Record)] == ["spec.initContainers{fetch}"]
    assert out[-1] == WakeAt("u1", T0 + 14)
    assert names(sync_of(shard.handle(T0 + 14, Woke("u1"))).plan) == ["fetch"]


@pytest.mark.parametrize("own", [{}, {"restartPolicy": "Never"}])
def test_a_failed_init_container_that_may_not_run_again_fails_the_pod(own: dict[str, str]) -> None:
    of = pod(init=[sidecar("proxy"), one("fetch", **own)], restart="Always" if own else "Never")
    out = seen_so(of, [runs("proxy"), done("fetch", 3)])
    assert status_of(out)["phase"] == "Failed"
    assert ([each.name for each in sync_of(out).plan.kill], sync_of(out).plan.start) == (["proxy"], ())


def test_sync_1_after_a_reboot_init_runs_again_in_the_new_sandbox_before_the_app() -> None:
    shard = machine(complete=False)
    dead = [done("serve", 255, created_at=T0 + 0.5), done("fetch")]
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], dead))
    out = shard.handle(T0 + 2, Wanted(pod(["serve"], ["fetch"]), "file"))
    first = sync_of(out)
    assert first.plan == Plan(
        stop_sandboxes=("s0",), remove_containers=("fetch",), make_sandbox=1, start=(StartContainer("fetch", 1),)
    )
    assert ("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.") in [
        (each.event.type, each.event.reason, each.event.message) for each in out if isinstance(each, Record)
    ]
    shard.handle(T0 + 3, synced(first, T0 + 3, Started("fetch", "fetch1", 1)))
    boxes = [sandbox("s1", 1), sandbox(ready=False)]
    fetch = container("fetch1", "fetch", attempt=1, created_at=T0 + 3, sandbox_id="s1")
    assert syncs(shard.handle(T0 + 4, observed(T0 + 4, boxes, [fetch, dead[0]]))) == []
    fetch = exited("fetch1", T0 + 5, 0, name="fetch", attempt=1, created_at=T0 + 3, sandbox_id="s1")
    plan = sync_of(shard.handle(T0 + 6, observed(T0 + 6, boxes, [fetch, dead[0]]))).plan
    assert (plan.sandbox_id, plan.start) == ("s1", (StartContainer("serve", 1),))


def test_sync_1_a_running_app_proves_that_the_pruned_init_container_is_done() -> None:
    of = pod(["serve"], ["fetch"])
    out = seen_so(of, [runs("serve")])
    assert syncs(out) == []
    assert status_of(out)["phase"] == "Running"


def test_an_app_that_crashed_proves_it_too() -> None:
    plan = sync_of(seen_so(pod(["serve"], ["fetch"]), [done("serve", 1)])).plan
    assert names(plan) == ["serve"]


def test_an_app_that_crashed_proves_it_while_its_next_instance_is_only_made() -> None:
    """The init record is lost, and the agent died between the create and the start of the app's next attempt."""
    made = container("main1", "main", state="created", attempt=1)
    of = pod(init=["fetch"])
    assert names(sync_of(seen_so(of, [made, done("main", 1)])).plan) == ["main"]
    old = done("main", 1, sandbox_id="old")
    assert names(sync_of(seen_so(of, [made, old], [sandbox(attempt=1), sandbox("old", ready=False)])).plan) == ["fetch"]


def test_an_app_that_ran_in_another_sandbox_proves_nothing() -> None:
    boxes = [sandbox("s1", 1), sandbox(ready=False)]
    plan = sync_of(seen_so(pod(["serve"], ["fetch"]), [done("serve", 1)], boxes)).plan
    assert names(plan) == ["fetch"]


def test_what_still_runs_in_an_old_sandbox_is_stopped_while_the_pod_is_initialised_anew() -> None:
    boxes = [sandbox("s1", 1), sandbox(ready=False)]
    plan = sync_of(seen_so(pod(["serve"], ["fetch"]), [runs("serve")], boxes)).plan
    assert ([each.id for each in plan.kill], names(plan)) == (["serve"], ["fetch"])


def test_what_runs_in_an_old_sandbox_is_stopped_once_where_it_starts_anew_in_the_same_plan() -> None:
    boxes = [sandbox("s1", 1), sandbox(ready=False)]
    plan = sync_of(seen_so(pod(["serve"], [sidecar("proxy")]), [runs("serve"), runs("proxy")], boxes)).plan
    assert ([each.id for each in plan.kill], names(plan)) == (["serve", "proxy"], ["proxy", "serve"])


def test_a_sidecar_and_the_next_init_container_start_in_one_plan_and_the_app_waits() -> None:
    of = pod(init=[sidecar("proxy"), "fetch", sidecar("log")])
    plan = sync_of(machine().handle(T0 + 1, Wanted(of, "file"))).plan
    assert names(plan) == ["proxy", "fetch"]
    assert names(sync_of(seen_so(of, [done("fetch"), runs("proxy")])).plan) == ["log", "main"]


def test_a_sidecar_that_died_before_the_pod_is_initialised_is_started_before_the_rest() -> None:
    plan = sync_of(seen_so(pod(init=[sidecar("proxy"), "fetch"]), [done("proxy", 1)])).plan
    assert names(plan) == ["proxy", "fetch"]


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
@pytest.mark.parametrize("code", [0, 1])
def test_a_sidecar_restarts_beside_the_app_whatever_the_policy(policy: str, code: int) -> None:
    plan = sync_of(seen_so(pod(init=[sidecar("proxy")], restart=policy), [runs("main"), done("proxy", code)])).plan
    assert names(plan) == ["proxy"]


def test_a_sidecar_of_another_image_is_replaced() -> None:
    old = container("proxy", "proxy", image="reg.test/app:0")
    plan = sync_of(seen_so(pod(init=[sidecar("proxy")]), [runs("main"), old])).plan
    assert ([each.message for each in plan.kill], names(plan)) == (
        ["Container proxy definition changed, will be restarted"],
        ["proxy"],
    )


def test_when_the_app_is_done_the_sidecars_are_stopped_and_the_pod_ends() -> None:
    out = seen_so(pod(init=[sidecar("proxy")], restart="Never"), [done("main"), runs("proxy")])
    assert status_of(out)["phase"] == "Running"
    plan = sync_of(out).plan
    assert ([each.name for each in plan.kill], plan.stop_sandboxes, plan.start) == (["proxy"], ("s0",), ())


def test_a_sidecar_in_back_off_holds_what_follows_it() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, Wanted(pod(init=[sidecar("proxy"), "fetch"]), "file")))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("proxy", "proxy", 0), StartFailed("fetch", "ErrImagePull", "no")))
    sync = sync_of(shard.handle(T0 + 3, observed(T0 + 3, S0, [done("proxy", 1)])))
    assert names(sync.plan) == ["proxy"]
    shard.handle(T0 + 4, synced(sync, T0 + 4, Started("proxy", "proxy1", 1)))
    crashed = exited("proxy1", T0 + 5, 1, name="proxy", attempt=1, created_at=T0 + 4)
    assert syncs(shard.handle(T0 + 30, observed(T0 + 30, S0, [crashed]))) != []
    assert syncs(shard.handle(T0 + 31, observed(T0 + 31, S0, [crashed]))) == []


def test_an_init_container_in_unknown_state_is_stopped_and_started_anew() -> None:
    plan = sync_of(seen_so(pod(init=["fetch"]), [container("fetch", "fetch", state="unknown")])).plan
    assert ([each.id for each in plan.kill], names(plan)) == (["fetch"], ["fetch"])


def test_never_makes_no_second_sandbox_once_an_init_container_ran() -> None:
    out = seen_so(pod(init=["fetch"], restart="Never"), [done("fetch")], [sandbox(ready=False)])
    assert syncs(out) == []


def test_initialised_and_started_are_told_of_the_newest_sandbox() -> None:
    of = pod(init=["fetch", sidecar("proxy")])
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [runs("proxy"), done("fetch")]), Wanted(of, "file"))
    record = shard._herd.records["u1"]
    assert initialised(record, of)
    assert [started(record, each) for each in of.init_containers] == [False, True]
    shard.handle(T0 + 9, observed(T0 + 9, [sandbox("s1", 1), *S0], [runs("proxy"), done("fetch")]))
    assert not initialised(record, of)
