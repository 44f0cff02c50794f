"""Container statuses of every kind and state (kubelet behaviour, sections 3.3, 3.6, 3.7, 6.2 and 6.5)."""

from typing import Any

import pytest
from tests.machines.pod.builders import POLICY, T0, exited, observed, sandbox
from tests.machines.pod.told import (
    IMAGE,
    Case,
    by_name,
    case,
    condition,
    created,
    done,
    one,
    pod,
    runs,
    sidecar,
    told,
    unknown,
)

from podherd.machines.pod.instructions import Publish
from podherd.machines.pod.policy import Policy

LOST = "The container could not be located when the pod was terminated"
USED_TO_RUN = "The container could not be located when the pod was deleted.  The container used to be Running"
UNSEEN_INIT = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)
NEVER: dict[str, Any] = {"restart": "Never"}
API: dict[str, Any] = {"source": "api"}
DEAD = [sandbox(ready=False)]
NEXT = [sandbox("s1", 1), sandbox(ready=False)]
CREATING = ("waiting", "ContainerCreating", "")
INITIALIZING = ("waiting", "PodInitializing", "")
GONE = ("terminated", 137, "ContainerStatusUnknown", LOST)
VANISHED = ("terminated", 137, "ContainerStatusUnknown", USED_TO_RUN)
WELL = ("terminated", 0, "Completed", "")
BADLY = ("terminated", 1, "Error", "")
NOTHING = ()
RUNS = ("running",)
INIT, APP, DEBUG = "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"


def brief(state: Any) -> tuple[Any, ...]:
    """A state without times and ids."""
    if (waits := state.get("waiting")) is not None:
        return "waiting", waits.get("reason", ""), waits.get("message", "")
    if end := state.get("terminated"):
        return "terminated", end["exitCode"], end["reason"], end.get("message", "")
    return ("running",) if "running" in state else ()


# World, kind, name, state, lastState, ready, started.
WORLDS: dict[str, tuple[Case, str, str, tuple[Any, ...], tuple[Any, ...], bool, bool | None]] = {
    "app: nothing of it is known": (case(boxes=[]), APP, "main", CREATING, NOTHING, False, False),
    "app: beside init containers": (case(pod(init=["i"])), APP, "main", INITIALIZING, NOTHING, False, False),
    "app: created": (case(None, created("main")), APP, "main", ("waiting", "", ""), NOTHING, False, False),
    "app: created after an end": (
        case(None, created("main"), done("main", 1, "old")), APP, "main", ("waiting", "", ""), BADLY, False, False,
    ),
    "app: runs": (case(None, runs("main")), APP, "main", RUNS, NOTHING, True, True),
    "app: runs after an end": (case(None, runs("main"), done("main", 1, "old")), APP, "main", RUNS, BADLY, True, True),
    "app: ended well": (case(pod(**NEVER), done("main")), APP, "main", WELL, NOTHING, False, False),
    "app: ended badly": (case(pod(**NEVER), done("main", 1)), APP, "main", BADLY, NOTHING, False, False),
    "app: ended without a reason, well": (
        case(None, done("main", reason="")), APP, "main", WELL, NOTHING, False, False,
    ),
    "app: ended without a reason, badly": (
        case(None, done("main", 1, reason="")), APP, "main", BADLY, NOTHING, False, False,
    ),
    "app: killed for memory": (
        case(None, done("main", 137, reason="OOMKilled")),
        APP, "main", ("terminated", 137, "OOMKilled", ""), NOTHING, False, False,
    ),
    "app: last words": (
        case(None, done("main", 1, message="boom")), APP, "main", (*BADLY[:3], "boom"), NOTHING, False, False,
    ),
    "app: could not be run": (
        case(None, done("main", 128, reason="StartError", message="exec: no such file")),
        APP, "main", ("terminated", 128, "StartError", "exec: no such file"), NOTHING, False, False,
    ),
    "app: could not be run, and that was told": (
        case(
            None, done("main", 128, reason="StartError", message="no file"),
            fail={"main": ("RunContainerError", "no file")},
        ),
        APP, "main", ("waiting", "RunContainerError", "no file"),
        ("terminated", 128, "StartError", "no file"), False, False,
    ),
    "app: ended, will not run again, an old failure is recorded": (
        case(pod(**NEVER), done("main", 1), fail={"main": ("ErrImagePull", "")}),
        APP, "main", BADLY, NOTHING, False, False,
    ),
    "app: ended in a pod that is ending, an old failure is recorded": (
        case(None, done("main", 1), fail={"main": ("CrashLoopBackOff", "")}, ending=True),
        APP, "main", BADLY, NOTHING, False, False,
    ),
    "app: in unknown state": (case(None, unknown("main")), APP, "main", GONE, NOTHING, False, False),
    "app: vanished": (case(None, before=[runs("main")]), APP, "main", CREATING, VANISHED, False, False),
    "app: vanished beside init containers": (
        case(pod(init=["i"]), done("i"), before=[done("i"), runs("main")]),
        APP, "main", INITIALIZING, VANISHED, False, False,
    ),
    "app: vanished, and could not be started anew": (
        case(None, before=[runs("main")], fail={"main": ("ErrImagePull", "no")}),
        APP, "main", ("waiting", "ErrImagePull", "no"), VANISHED, False, False,
    ),
    "app: vanished, will not run again": (
        case(pod(**NEVER), before=[runs("main")]), APP, "main", GONE, NOTHING, False, False,
    ),
    "app: vanished after its end": (
        case(pod(**NEVER), before=[done("main", 1)]), APP, "main", BADLY, NOTHING, False, False,
    ),
    "app: runs again after it had vanished": (
        case(None, runs("main", "m1", attempt=1), before=[runs("main")]), APP, "main", RUNS, VANISHED, True, True,
    ),
    "app: runs again, its earlier end was pruned": (
        case(None, runs("main", "m1", attempt=1), before=[done("main", 1)]), APP, "main", RUNS, BADLY, True, True,
    ),
    "app: runs on, its earlier end was pruned": (
        case(None, runs("main", attempt=1), before=[runs("main", attempt=1), done("main", 1, "old")]),
        APP, "main", RUNS, BADLY, True, True,
    ),
    "app: vanished as soon as it was made anew": (
        case(None, before=[created("main"), done("main", 1, "old")]), APP, "main", BADLY, NOTHING, False, False,
    ),
    "app: never ran in a pod that is over": (
        case(pod(**API), boxes=DEAD, ending=True), APP, "main", GONE, NOTHING, False, False,
    ),
    "app: created in a pod that is over": (
        case(pod(**API), created("main"), boxes=DEAD, ending=True), APP, "main", GONE, NOTHING, False, False,
    ),
    "app: could not be pulled in a pod that is over": (
        case(pod(**API), boxes=DEAD, ending=True, fail={"main": ("ErrImagePull", "")}),
        APP, "main", GONE, NOTHING, False, False,
    ),
    "app: never ran in a pod that is over before it was initialised": (
        case(pod(init=["i"], **API), done("i", 1), boxes=DEAD, ending=True),
        APP, "main", INITIALIZING, NOTHING, False, False,
    ),
    "app: never ran in a pod past its deadline": (
        case(pod(("main", "b")), done("b", 137), boxes=DEAD, reason=("DeadlineExceeded", "late")),
        APP, "main", GONE, NOTHING, False, False,
    ),
    "init: is to come": (case(pod(init=["i", "j"]), runs("i")), INIT, "j", INITIALIZING, NOTHING, False, False),
    "init: could not be pulled": (
        case(pod(init=["i"]), fail={"i": ("ImagePullBackOff", "no")}),
        INIT, "i", ("waiting", "ImagePullBackOff", "no"), NOTHING, False, False,
    ),
    "init: runs": (case(pod(init=["i"]), runs("i")), INIT, "i", RUNS, NOTHING, False, True),
    "init: ended well": (case(pod(init=["i"]), done("i")), INIT, "i", WELL, NOTHING, True, False),
    "init: ended badly": (case(pod(init=["i"]), done("i", 1)), INIT, "i", BADLY, NOTHING, False, False),
    "init: in back-off": (
        case(pod(init=["i"]), done("i", 1), fail={"i": ("CrashLoopBackOff", "")}),
        INIT, "i", ("waiting", "CrashLoopBackOff", ""), BADLY, False, False,
    ),
    "init: ended well, an old failure is recorded": (
        case(pod(init=["i", "j"]), done("i"), fail={"i": ("ErrImagePull", "")}), INIT, "i", WELL, NOTHING, True, False,
    ),
    "init: killed for memory though it exited with 0": (
        case(pod(init=["i"]), done("i", reason="OOMKilled")),
        INIT, "i", ("terminated", 0, "OOMKilled", ""), NOTHING, False, False,
    ),
    "init: vanished while it ran": (
        case(pod(init=["i"]), before=[runs("i")]), INIT, "i", INITIALIZING, VANISHED, False, False,
    ),
    "init: pruned beside an app that runs": (
        case(pod(init=["i"]), runs("main")),
        INIT, "i", ("terminated", 0, "Completed", UNSEEN_INIT), NOTHING, True, False,
    ),
    "init: to run again in a new sandbox": (
        case(pod(init=["i"]), done("i"), boxes=NEXT), INIT, "i", INITIALIZING, WELL, False, False,
    ),
    "init: its sandbox died and was not replaced yet": (
        case(pod(init=["i"]), done("i"), done("main", 137), boxes=DEAD), INIT, "i", WELL, NOTHING, True, False,
    ),
    "init: had its turn in a pod that is over": (
        case(pod(init=["i", "j"], **API), created("i"), boxes=DEAD, ending=True),
        INIT, "i", GONE, NOTHING, False, False,
    ),
    "init: never had its turn in a pod that is over": (
        case(pod(init=["i", "j"], **API), done("i", 137), boxes=DEAD, ending=True),
        INIT, "j", INITIALIZING, NOTHING, False, False,
    ),
    "init: nothing ever began in a pod that is over": (
        case(pod(init=["i", "j"], **API), boxes=[], ending=True), INIT, "i", GONE, NOTHING, False, False,
    ),
    "sidecar: is to come": (case(pod(init=[sidecar("s")])), INIT, "s", INITIALIZING, NOTHING, False, False),
    "sidecar: runs": (case(pod(init=[sidecar("s")]), runs("s")), INIT, "s", RUNS, NOTHING, True, True),
    "sidecar: ended well": (case(pod(init=[sidecar("s")]), done("s")), INIT, "s", WELL, NOTHING, False, False),
    "sidecar: in back-off in a pod of Never": (
        case(pod(init=[sidecar("s")], **NEVER), done("s", 1), runs("main"), fail={"s": ("CrashLoopBackOff", "")}),
        INIT, "s", ("waiting", "CrashLoopBackOff", ""), BADLY, False, False,
    ),
    "sidecar: gone beside an app that runs": (
        case(pod(init=[sidecar("s")]), runs("main")), INIT, "s", INITIALIZING, NOTHING, False, False,
    ),
    "ephemeral: is to come": (case(pod(debug=["d"]), runs("main")), DEBUG, "d", CREATING, NOTHING, False, None),
    "ephemeral: runs": (case(pod(debug=["d"]), runs("d")), DEBUG, "d", RUNS, NOTHING, False, None),
    "ephemeral: ended": (case(pod(debug=["d"]), done("d", 1)), DEBUG, "d", BADLY, NOTHING, False, None),
    "ephemeral: its target is missing": (
        case(pod(debug=["d"]), fail={"d": ("CreateContainerConfigError", "no target")}),
        DEBUG, "d", ("waiting", "CreateContainerConfigError", "no target"), NOTHING, False, None,
    ),
    "ephemeral: never ran in a pod that is over": (
        case(pod(debug=["d"], **API), done("main"), boxes=DEAD, ending=True),
        DEBUG, "d", CREATING, NOTHING, False, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("world", "kind", "name", "state", "last", "ready", "started"), WORLDS.values(), ids=WORLDS)
def test_the_status_of(
    world: Case, kind: str, name: str, state: object, last: object, ready: bool, started: bool | None
) -> None:
    status = by_name(world.status(), kind)[name]
    assert brief(status["state"]) == state
    assert brief(status["lastState"]) == last
    assert (status["ready"], status.get("started")) == (ready, started)


START_FAILURES = (
    "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
    "RegistryUnavailable", "SignatureValidationFailed", "CreateContainerConfigError", "PreCreateHookError",
    "CreateContainerError", "PreStartHookError", "RunContainerError", "PostStartHookError", "CrashLoopBackOff",
)  # fmt: skip


@pytest.mark.parametrize("reason", START_FAILURES)
def test_a_container_waits_for_the_reason_that_its_start_failed_with(reason: str) -> None:
    fresh = by_name(case(fail={"main": (reason, "why")}).status())["main"]
    assert (fresh["state"], fresh["lastState"]) == ({"waiting": {"reason": reason, "message": "why"}}, {})
    again = by_name(case(None, done("main", 3), fail={"main": (reason, "")}).status())["main"]
    assert (again["state"], brief(again["lastState"])) == (
        {"waiting": {"reason": reason}},
        ("terminated", 3, "Error", ""),
    )
    assert again["containerID"] == "containerd://main-0"


def test_texts_of_any_length_leave_room_for_the_rest_of_the_status() -> None:
    image = "I" * 800_000
    fresh = case(pod([one("main", image=image)]), fail={"main": ("InvalidImageName", f"{image} is none")}).status()
    assert len(str(fresh)) < 50_000
    ended = by_name(case(pod(**NEVER), done("main", 3, message="m" * 800_000)).status())["main"]
    assert len(ended["state"]["terminated"]["message"]) == 12 << 10


def test_every_field_of_a_running_container() -> None:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    mounts = [
        {"name": "data", "mountPath": "/data", "subPath": "x"},
        {"name": "conf", "mountPath": "/conf", "readOnly": True},
        {"name": "deep", "mountPath": "/deep", "readOnly": True, "recursiveReadOnly": "Enabled"},
        {"name": "may", "mountPath": "/may", "readOnly": True, "recursiveReadOnly": "IfPossible"},
    ]
    of = pod([one("main", resources=resources, volumeMounts=mounts)])
    seen = runs("main", attempt=2, user=(1000, 3000, 3000, 4000), image="reg.test/app:one", created_at=T0 + 5)
    assert case(of, seen, exited("c0", T0 + 4, 7, message="boom")).status()["containerStatuses"] == [
        {
            "name": "main",
            "state": {"running": {"startedAt": "2027-01-15T08:00:05Z"}},
            "lastState": {
                "terminated": {
                    "exitCode": 7,
                    "reason": "Error",
                    "message": "boom",
                    "startedAt": "2027-01-15T08:00:00Z",
                    "finishedAt": "2027-01-15T08:00:04Z",
                    "containerID": "containerd://c0",
                }
            },
            "ready": True,
            "started": True,
            "restartCount": 2,
            "image": "reg.test/app:one",
            "imageID": "sha256:1",
            "containerID": "containerd://main-0",
            "resources": resources,
            "allocatedResources": resources["requests"],
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "conf", "mountPath": "/conf", "readOnly": True, "recursiveReadOnly": "Disabled"},
                {"name": "deep", "mountPath": "/deep", "readOnly": True, "recursiveReadOnly": "Enabled"},
                {"name": "may", "mountPath": "/may", "readOnly": True, "recursiveReadOnly": "Disabled"},
            ],
            "user": {"linux": {"uid": 1000, "gid": 3000, "supplementalGroups": [3000, 4000]}},
        }
    ]


def test_a_mount_is_read_only_to_its_depth_where_the_runtime_can() -> None:
    mount = {"name": "may", "mountPath": "/may", "readOnly": True, "recursiveReadOnly": "IfPossible"}
    app = [one("main", volumeMounts=[mount])]
    modes = [
        told(record, policy=Policy("n1", recursive_read_only=able))["containerStatuses"][0]["volumeMounts"][0]
        for record in (case(pod(app)).record(), case(pod(app, runtimeClassName="kata")).record())
        for able in ((), ("",), ("kata",))
    ]
    told_modes = [mode["recursiveReadOnly"] for mode in modes]
    assert told_modes == ["Disabled", "Enabled", "Disabled", "Disabled", "Disabled", "Enabled"]


def test_a_container_that_the_runtime_does_not_hold_has_mounts_and_no_more() -> None:
    of = pod([one("main", resources={"requests": {"cpu": "1"}}, volumeMounts=[{"name": "d", "mountPath": "/d"}])])
    assert case(of, boxes=[]).status()["containerStatuses"] == [
        {
            "name": "main",
            "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {},
            "ready": False,
            "started": False,
            "restartCount": 0,
            "image": IMAGE,
            "imageID": "",
            "volumeMounts": [{"name": "d", "mountPath": "/d"}],
        }
    ]


def test_a_user_without_further_groups() -> None:
    status = by_name(case(None, runs("main", user=(0, 0))).status())["main"]
    assert status["user"] == {"linux": {"uid": 0, "gid": 0}}


def test_regular_and_ephemeral_ones_stand_by_name_init_containers_as_in_the_spec() -> None:
    status = case(pod(("z", "a"), init=("y", sidecar("b"), "x"), debug=("w", "c"))).status()
    names = {kind: [each["name"] for each in status[kind]] for kind in (APP, INIT, DEBUG)}
    assert names == {APP: ["a", "z"], INIT: ["y", "b", "x"], DEBUG: ["c", "w"]}


def test_a_pod_without_other_kinds_has_no_lists_of_them() -> None:
    assert not {INIT, DEBUG} & case().status().keys()


@pytest.mark.parametrize(
    ("world", "count"),
    [
        (case(None, runs("main", attempt=3)), 3),
        (case(None, before=[runs("main", attempt=3)]), 4),
        (case(pod(**NEVER), before=[runs("main", attempt=3)]), 3),
        (case(None, before=[runs("main", attempt=3)], ending=True), 3),
        (case(None, before=[done("main", attempt=3)]), 3),
        (case(None, runs("main", state="unknown", attempt=1)), 2),
        (case(boxes=[]), 0),
    ],
    ids=["runs", "vanished", "vanished for good", "vanished while deleted", "pruned", "unknown", "nothing"],
)
def test_the_restart_count_of_a_container_that(world: Case, count: int) -> None:
    assert by_name(world.status())["main"]["restartCount"] == count


def test_a_restart_count_never_goes_down() -> None:
    record = case(None, before=[runs("main", attempt=3)]).record()
    assert by_name(told(record))["main"]["restartCount"] == 4
    record.end("deleted", 30)
    assert by_name(told(record))["main"]["restartCount"] == 4
    record = case(None, created("main", attempt=5), done("main", 1, "old", attempt=4)).record()
    assert by_name(told(record))["main"]["restartCount"] == 5
    record.see(observed(T0 + 8, [sandbox()], [done("main", 1, "old", attempt=4)]))
    assert by_name(told(record))["main"]["restartCount"] == 5


@pytest.mark.parametrize("state", ["running", "created"])
@pytest.mark.parametrize(
    ("restart", "code", "stays"), [("Never", 1, True), ("OnFailure", 0, True), ("OnFailure", 1, False)]
)
def test_a_container_that_has_ended_for_good_stays_so(state: str, restart: str, code: int, stays: bool) -> None:
    record = case(pod(("main", "b"), restart=restart), done("main", code), runs("b")).record()
    before = told(record)
    record.published = Publish("u1", "default", "web", "file", False, T0, before)
    record.see(observed(T0 + 8, [sandbox()], [runs("main", "main-1", state=state, created_at=T0 + 7), runs("b")]))
    main = by_name(told(record))["main"]
    assert (main == by_name(before)["main"]) is stays
    assert condition(told(record), "Ready")[2] == (
        "containers with unready status: [main]" if stays or state == "created" else ""
    )


def test_a_pod_that_is_over_says_nothing_new_when_its_sandbox_goes() -> None:
    record = case(pod(init=["i"], **NEVER), done("i"), done("main", 1), boxes=DEAD).record()
    before = told(record)
    assert (before["phase"], condition(before, "Initialized")[0]) == ("Failed", "True")
    record.see(observed(T0 + 8, [], []))
    after = told(record)
    assert {key: after[key] for key in after if key not in ("podIP", "podIPs", "conditions")} == {
        key: before[key] for key in before if key not in ("podIP", "podIPs", "conditions")
    }
    assert condition(after, "Initialized") == condition(before, "Initialized")


def test_the_parts_of_a_spec_are_worked_out_once_and_anew_for_a_new_spec() -> None:
    record = case(pod([one("main", volumeMounts=[{"name": "d", "mountPath": "/d"}])]), runs("main")).record()
    told(record)
    first = record.told_spec
    told(record)
    assert record.told_spec is first
    record.want(pod([one("main", volumeMounts=[{"name": "d", "mountPath": "/e"}])]), "edit")
    assert by_name(told(record, policy=POLICY))["main"]["volumeMounts"] == [{"name": "d", "mountPath": "/e"}]
