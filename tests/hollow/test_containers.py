"""Containers on a virtual clock."""

import pytest
from cri_api.v1 import api_pb2 as api
from tests.hollow.conftest import IMAGE, Node, container_config, marks, pod_config

from podherd.hollow.refusal import RefusedError


def _listed(node: Node) -> dict[str, int]:
    reply = b"".join(node.runtime.ledger.container_list.reply())
    return {one.id: one.state for one in api.ListContainersResponse.FromString(reply).containers}


def _methods(node: Node) -> list[tuple[str, str]]:
    return [(entry["method"], entry["outcome"]) for entry in node.runtime.ledger.journal.since(0)]


def test_a_created_container_keeps_what_it_was_given(node: Node) -> None:
    sandbox = node.sandbox()
    config = container_config(
        attempt=2,
        annotations={"hash": "1f"},
        mounts=[api.Mount(host_path="/h", container_path="/c")],
        linux=api.LinuxContainerConfig(resources=api.LinuxContainerResources(cpu_shares=102)),
    )
    container = node.container(sandbox, config)
    status = node.status(container)
    image = node.runtime.images.find(IMAGE)
    assert image is not None
    assert (status.state, status.metadata, status.created_at) == (
        api.CONTAINER_CREATED, config.metadata, node.clock.now_ns,
    )  # fmt: skip
    assert (dict(status.labels), dict(status.annotations)) == (dict(config.labels), {"hash": "1f"})
    assert (status.image.image, status.image_ref, status.image_id) == (IMAGE, image.digest, image.image_id)
    assert (status.mounts[0].container_path, status.resources.linux.cpu_shares) == ("/c", 102)
    assert (status.started_at, status.finished_at, status.reason) == (0, 0, "")
    assert _listed(node) == {container.id: api.CONTAINER_CREATED}


def test_the_log_path_is_under_the_sandboxes_log_directory(node: Node) -> None:
    sandbox = node.sandbox()
    pod = pod_config(log_directory="/logs/pod")
    config = container_config(log_path="app/0.log")
    request = api.CreateContainerRequest(pod_sandbox_id=sandbox.id, config=config, sandbox_config=pod)
    assert node.runtime.containers.reserve(request).log_path == "/logs/pod/app/0.log"


def test_create_refuses_a_held_name_an_unknown_image_and_an_unknown_sandbox(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.container(sandbox)
    with pytest.raises(RefusedError, match=f'is reserved for "{container.id}"') as held:
        node.container(sandbox)
    with pytest.raises(RefusedError, match='failed to resolve image "none:1": not found') as image:
        node.container(sandbox, container_config("other", image="none:1"))
    node.container(sandbox, container_config("other"))
    node.runtime.sandboxes.remove(sandbox.id)
    with pytest.raises(RefusedError, match="failed to find sandbox id") as gone:
        node.container(sandbox)
    assert [held.value.code, image.value.code, gone.value.code] == ["UNKNOWN", "NOT_FOUND", "NOT_FOUND"]


def test_a_create_in_progress_when_its_sandbox_goes_is_refused(node: Node) -> None:
    sandbox = node.sandbox()
    request = api.CreateContainerRequest(
        pod_sandbox_id=sandbox.id, config=container_config(), sandbox_config=pod_config()
    )
    container = node.runtime.containers.reserve(request)
    node.runtime.sandboxes.remove(sandbox.id)
    with pytest.raises(RefusedError) as caught:
        node.runtime.containers.commit(container)
    assert caught.value.code == "NOT_FOUND"
    assert _listed(node) == {}


def test_start_runs_once(node: Node) -> None:
    container = node.container(node.sandbox())
    containers = node.runtime.containers
    containers.begin_start(container.id)
    with pytest.raises(RefusedError, match="already in starting state"):
        containers.begin_start(container.id)
    node.clock.pass_s(1)
    containers.commit_start(container)
    assert node.status(container).started_at == node.clock.now_ns
    with pytest.raises(RefusedError, match="is in CONTAINER_RUNNING state"):
        containers.begin_start(container.id)


def test_start_in_a_stopped_sandbox_leaves_a_start_error(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.container(sandbox)
    node.runtime.sandboxes.stop(sandbox.id)
    with pytest.raises(RefusedError, match="is not running"):
        node.runtime.containers.begin_start(container.id)
    status = node.status(container)
    assert (status.state, status.exit_code, status.reason) == (api.CONTAINER_EXITED, 128, "StartError")
    assert "is not running" in status.message


@pytest.mark.parametrize(
    ("actions", "code", "reason"),
    [
        ({"exit_after": "3"}, 0, "Completed"),
        ({"exit_after": "3", "exit_code": "2"}, 2, "Error"),
        ({"exit_after": "3", "oom": "true"}, 137, "OOMKilled"),
    ],
)
def test_a_scripted_exit_comes_at_its_time(node: Node, actions: dict[str, str], code: int, reason: str) -> None:
    container = node.started(node.sandbox(pod_config(annotations=marks(**actions))))
    begun = node.clock.now_ns
    node.clock.pass_s(2.9)
    assert node.status(container).state == api.CONTAINER_RUNNING
    node.clock.pass_s(0.2)
    status = node.status(container)
    assert (status.state, status.exit_code, status.reason) == (api.CONTAINER_EXITED, code, reason)
    assert status.finished_at == begun + 3_000_000_000
    assert _listed(node) == {container.id: api.CONTAINER_EXITED}


def test_exits_counts_attempts(node: Node) -> None:
    sandbox = node.sandbox(pod_config(annotations=marks(exits="1", exit_code="1")))
    first = node.started(sandbox)
    node.clock.pass_s(0)
    second = node.started(sandbox, container_config(attempt=1))
    node.clock.pass_s(100)
    assert node.status(first).state == api.CONTAINER_EXITED
    assert node.status(second).state == api.CONTAINER_RUNNING


def test_stop_ends_at_once_with_143_and_needs_no_waiting(node: Node) -> None:
    container = node.started(node.sandbox())
    called: list[str] = []
    assert node.runtime.containers.stop(container.id, 30, lambda: called.append("done")) is None
    assert (node.status(container).exit_code, called) == (143, [])
    assert node.runtime.containers.stop(container.id, 30, lambda: None) is None
    assert node.runtime.containers.stop("none", 30, lambda: None) is None


def test_ignored_term_is_killed_at_the_end_of_the_grace(node: Node) -> None:
    container = node.started(node.sandbox(pod_config(annotations=marks(stop="ignore-term"))))
    called: list[str] = []
    node.runtime.containers.stop(container.id, 10, lambda: called.append("done"))
    node.clock.pass_s(9.9)
    assert called == []
    node.clock.pass_s(0.2)
    assert (node.status(container).exit_code, node.status(container).reason, called) == (137, "Error", ["done"])


def test_a_stop_that_was_given_up_kills_nobody(node: Node) -> None:
    container = node.started(node.sandbox(pod_config(annotations=marks(stop="ignore-term"))))
    kill = node.runtime.containers.stop(container.id, 10, lambda: None)
    assert kill is not None
    kill.cancel()
    node.clock.pass_s(100)
    assert node.status(container).state == api.CONTAINER_RUNNING


def test_a_grace_of_zero_kills_and_the_shorter_of_two_graces_counts(node: Node) -> None:
    sandbox = node.sandbox(pod_config(annotations=marks(stop="ignore-term")))
    killed, twice = node.started(sandbox), node.started(sandbox, container_config("b"))
    assert node.runtime.containers.stop(killed.id, 0, lambda: None) is None
    assert node.status(killed).exit_code == 137
    called: list[str] = []
    node.runtime.containers.stop(twice.id, 30, lambda: called.append("long"))
    node.runtime.containers.stop(twice.id, 2, lambda: called.append("short"))
    node.clock.pass_s(2)
    assert called == ["long", "short"]


def test_stop_delay_ends_with_the_scripted_code_after_that_time(node: Node) -> None:
    container = node.started(node.sandbox(pod_config(annotations=marks(stop="exit:0", stop_delay="4"))))
    node.runtime.containers.stop(container.id, 30, lambda: None)
    node.clock.pass_s(3)
    node.runtime.containers.stop(container.id, 30, lambda: None)
    node.clock.pass_s(1)
    assert (node.status(container).state, node.status(container).exit_code) == (api.CONTAINER_EXITED, 0)


def test_remove_kills_what_runs_frees_the_name_and_may_be_repeated(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.started(sandbox)
    node.runtime.containers.remove(container.id)
    node.runtime.containers.remove(container.id)
    assert _listed(node) == {}
    assert ("Exit", "137") in _methods(node)
    node.container(sandbox)


def test_remove_refuses_while_it_is_being_started(node: Node) -> None:
    container = node.container(node.sandbox())
    node.runtime.containers.begin_start(container.id)
    with pytest.raises(RefusedError, match="in starting state"):
        node.runtime.containers.remove(container.id)


def test_updated_resources_are_in_the_status_and_unset_ones_stay(node: Node) -> None:
    linux = api.LinuxContainerConfig(resources=api.LinuxContainerResources(cpu_shares=2, memory_limit_in_bytes=100))
    container = node.container(node.sandbox(), container_config(linux=linux))
    node.runtime.containers.update_resources(container.id, api.LinuxContainerResources(cpu_shares=512))
    resources = node.status(container).resources.linux
    assert (resources.cpu_shares, resources.memory_limit_in_bytes) == (512, 100)
    with pytest.raises(RefusedError, match="failed to find container: not found"):
        node.runtime.containers.update_resources("none", api.LinuxContainerResources())


def test_filters_by_id_sandbox_state_and_labels(node: Node) -> None:
    one, two = node.sandbox(pod_config("a")), node.sandbox(pod_config("b"))
    first = node.started(one, container_config(labels={"c": "1"}))
    second = node.container(one, container_config("b", labels={"c": "2"}))
    third = node.container(two, container_config(labels={"c": "2"}))

    def found(**wanted: object) -> set[str]:
        reply = node.runtime.containers.listed(api.ContainerFilter(**wanted))  # type: ignore[arg-type]
        return {entry.id for entry in api.ListContainersResponse.FromString(reply).containers}

    assert found() == {first.id, second.id, third.id}
    assert found(id=first.id[:13]) == {first.id}
    assert found(pod_sandbox_id=one.id) == {first.id, second.id}
    assert found(pod_sandbox_id=one.id[:13], state=api.ContainerStateValue(state=api.CONTAINER_CREATED)) == {second.id}
    assert found(label_selector={"c": "2"}) == {second.id, third.id}
    assert found(pod_sandbox_id="none") == set()
    assert found(id=first.id, pod_sandbox_id=two.id) == set()


def test_events_and_journal_tell_the_life_of_a_container_in_order(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.started(sandbox)
    node.runtime.containers.stop(container.id, 5, lambda: None)
    node.runtime.containers.remove(container.id)
    of_container = [kind for kind, object_id in node.events if object_id == container.id]
    assert of_container == [0, 1, 2, 3]
    assert _methods(node) == [
        ("RunPodSandbox", "OK"),
        ("CreateContainer", "OK"),
        ("StartContainer", "OK"),
        ("StopContainer", "OK"),
        ("Exit", "143"),
        ("RemoveContainer", "OK"),
    ]


def test_a_reboot_leaves_exited_255_and_no_ready_sandbox(node: Node) -> None:
    sandbox = node.sandbox()
    ran, created = node.started(sandbox), node.container(sandbox, container_config("b"))
    node.runtime.reboot()
    status = node.status(ran)
    assert (status.exit_code, status.reason, node.status(created).state) == (255, "Unknown", api.CONTAINER_CREATED)
    assert not sandbox.ready


def test_a_wipe_forgets_all_and_lets_waiting_stops_go(node: Node) -> None:
    container = node.started(node.sandbox(pod_config(annotations=marks(stop="ignore-term", exit_after="5"))))
    called: list[str] = []
    node.runtime.containers.stop(container.id, 60, lambda: called.append("done"))
    node.runtime.wipe()
    assert (called, _listed(node), node.runtime.ledger.sandboxes) == (["done"], {}, {})
    node.clock.pass_s(100)
    assert node.runtime.ledger.doubled == []
    node.started(node.sandbox())


def test_a_start_that_was_wiped_meanwhile_is_refused(node: Node) -> None:
    container = node.container(node.sandbox())
    node.runtime.containers.begin_start(container.id)
    node.runtime.wipe()
    with pytest.raises(RefusedError, match="not found"):
        node.runtime.containers.commit_start(container)


def test_two_thousand_exits_come_in_time_from_one_heap(node: Node) -> None:
    sandbox = node.sandbox(pod_config(annotations=marks(exit_after="5")))
    for n in range(2_000):
        node.started(sandbox, container_config(f"c{n}"))
    node.clock.pass_s(5)
    assert set(_listed(node).values()) == {api.CONTAINER_EXITED}
