"""What is told while a rule restarts all containers of a pod, and after it (KEP-5532; kubelet behaviour, 3.4)."""

from typing import Any

from tests.machines.pod.builders import T0, observed, sandbox
from tests.machines.pod.told import RESTART_ALL_ON_42, by_name, case, condition, created, done, one, pod, runs, told

from podherd.machines.pod.record import Failure, Record
from podherd.machines.times import NEVER_AT
from podherd.wire.observed import ContainerSeen

GONE = "The container is removed because RestartAllContainers in place"
WAITS = {"waiting": {"reason": "RestartingAllContainers", "message": GONE}}
APP = (one("main", restartPolicy="Never", restartPolicyRules=RESTART_ALL_ON_42), "b")
TRUE = ("True", "RestartAllContainersStarted", "container exited with restart policy rule")


def removed() -> Record:
    """A pod of policy Never of which `b` is removed by now, and `main`, the cause, is not."""
    record = case(pod(APP, restart="Never"), done("main", 42), runs("b", attempt=2)).record()
    told(record)
    record.restart_all()
    see(record, 5, done("main", 42))
    return record


def see(record: Record, at: float, *containers: ContainerSeen) -> Any:
    record.see(observed(T0 + at, [sandbox()], containers))
    return told(record)


def ended(id: str) -> Any:  # noqa: A002
    end = {"exitCode": 137, "reason": "RestartingAllContainers", "message": GONE, "startedAt": None, "finishedAt": None}
    return {"terminated": end | {"containerID": f"containerd://{id}"}}


def test_what_is_removed_waits_for_all_others() -> None:
    status = told(removed())
    b = by_name(status)["b"]
    assert (b["state"], b["lastState"], b["restartCount"]) == (WAITS, ended("b-0"), 3)
    assert by_name(status)["main"]["state"]["terminated"]["exitCode"] == 42
    assert (status["phase"], condition(status, "AllContainersRestarting")) == ("Running", TRUE)


def test_the_cause_goes_last_and_waits_too() -> None:
    status = see(removed(), 6)
    main = by_name(status)["main"]
    assert (main["state"], main["lastState"], main["restartCount"]) == (WAITS, ended("main-0"), 1)
    assert (status["phase"], condition(status, "AllContainersRestarting")) == ("Running", ("False", "", ""))


def test_the_end_is_told_beside_the_next_run() -> None:
    record = removed()
    see(record, 6)
    status = see(record, 7, created("main", attempt=1), runs("b", "b-1", attempt=3))
    main, b = by_name(status)["main"], by_name(status)["b"]
    assert (main["state"], main["lastState"], main["restartCount"]) == ({"waiting": {}}, ended("main-0"), 1)
    assert ("running" in b["state"], b["lastState"], b["restartCount"]) == (True, ended("b-0"), 3)
    assert status["phase"] == "Running"


def test_a_next_end_takes_its_place() -> None:
    record = removed()
    see(record, 6)
    see(record, 7, runs("main", "main-1", attempt=1), runs("b", "b-1", attempt=3))
    status = see(record, 8, done("main", 1, "main-1", attempt=1), done("b", 0, "b-1", attempt=3))
    assert by_name(status)["main"]["state"]["terminated"]["exitCode"] == 1
    assert status["phase"] == "Failed"


def test_a_failed_start_says_why_it_waits() -> None:
    record = removed()
    record.failures["b"] = Failure("ErrImagePull", "no", NEVER_AT)
    b = by_name(told(record))["b"]
    assert (b["state"], b["lastState"]) == ({"waiting": {"reason": "ErrImagePull", "message": "no"}}, ended("b-0"))


def test_a_new_instance_that_vanishes_before_it_ran_holds_nothing_back() -> None:
    record = removed()
    see(record, 6)
    see(record, 7, created("b", attempt=3))
    status = see(record, 8)
    assert by_name(status)["b"]["state"] == WAITS
    assert status["phase"] == "Running"


def test_init_containers_that_are_removed_have_failed_nothing() -> None:
    init = one("i", restartPolicy="Never", restartPolicyRules=RESTART_ALL_ON_42)
    record = case(pod(init=[init], restart="Never"), done("i"), done("main", 1, attempt=1)).record()
    record.restart_all()
    status = see(record, 5)
    assert status["phase"] == "Pending"
    assert by_name(status, "initContainerStatuses")["i"]["state"] == WAITS
    assert condition(status, "Initialized")[1] == "ContainersNotInitialized"


def test_a_pod_that_ends_meanwhile_counts_no_further_restart() -> None:
    record = case(pod(APP, source="api"), done("main", 42), runs("b", attempt=2)).record()
    record.restart_all()
    record.end("deleted", 30)
    record.see(observed(T0 + 5, [sandbox(ready=False)], []))
    status = told(record)
    assert {name: each["restartCount"] for name, each in by_name(status).items()} == {"main": 0, "b": 2}
    assert status["phase"] == "Failed"
