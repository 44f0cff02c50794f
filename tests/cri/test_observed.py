"""CRI statuses as wire messages."""

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.pods import pod

from podherd.cri.convert import observed
from podherd.machines.pod.sandbox import sandbox_need
from podherd.wire.observed import ContainerSeen, SandboxSeen

S = 10**9


def _sandbox(sandbox_id, attempt=0, created=1, **more):
    metadata = pb.PodSandboxMetadata(name="web", attempt=attempt)
    return pb.PodSandboxStatus(id=sandbox_id, metadata=metadata, created_at=created * S, **more)


def _container(container_id, created=1, **more):
    metadata = pb.ContainerMetadata(name="app", attempt=2)
    return pb.ContainerStatus(id=container_id, metadata=metadata, created_at=created * S, **more)


def test_nothing_in_the_runtime_is_an_empty_observation():
    seen = observed("u", "ns", "web", 5.0, [], [])
    assert (seen.sandboxes, seen.containers, seen.at, seen.stale) == ((), (), 5.0, "")


def test_a_sandbox_with_all_its_facts():
    network = pb.PodSandboxNetworkStatus(ip="10.0.0.1", additional_ips=[pb.PodIP(ip="fd00::1")])
    options = pb.NamespaceOption(network=pb.NODE)
    linux = pb.LinuxPodSandboxStatus(namespaces=pb.Namespace(options=options))
    status = _sandbox("s", 3, 7, state=pb.SANDBOX_READY, network=network, linux=linux)
    assert observed("u", "ns", "web", 0.0, [status], []).sandboxes == (
        SandboxSeen("s", 3, True, 7.0, True, ("10.0.0.1", "fd00::1")),
    )


def test_a_sandbox_that_is_not_ready_and_has_no_address():
    (seen,) = observed("u", "ns", "web", 0.0, [_sandbox("s", state=pb.SANDBOX_NOTREADY)], []).sandboxes
    assert (seen.ready, seen.ips, seen.host_network) == (False, (), False)


@pytest.mark.parametrize(
    ("network", "ips", "why"),
    [
        (None, (), ""),
        (pb.PodSandboxNetworkStatus(), ("",), "pod sandbox has no IP address"),
        (pb.PodSandboxNetworkStatus(ip="10.0.0.1"), ("10.0.0.1",), ""),
    ],
)
def test_a_ready_sandbox_without_an_address_is_made_anew_unless_the_runtime_says_nothing_of_it(network, ips, why):
    status = _sandbox("s", state=pb.SANDBOX_READY, network=network)
    (seen,) = observed("u", "ns", "web", 0.0, [status], []).sandboxes
    assert seen.ips == ips
    assert sandbox_need(pod({"containers": []}), [seen]).why == why


def test_a_ready_sandbox_in_the_hosts_network_needs_no_address():
    linux = pb.LinuxPodSandboxStatus(namespaces=pb.Namespace(options=pb.NamespaceOption(network=pb.NODE)))
    status = _sandbox("s", state=pb.SANDBOX_READY, network=pb.PodSandboxNetworkStatus(), linux=linux)
    (seen,) = observed("u", "ns", "web", 0.0, [status], []).sandboxes
    assert sandbox_need(pod({"containers": [], "hostNetwork": True}), [seen]).why == ""


def test_a_container_with_all_its_facts():
    status = _container(
        "c", 1, state=pb.CONTAINER_EXITED, started_at=2 * S, finished_at=3 * S, exit_code=137, reason="OOMKilled",
        message="m", image=pb.ImageSpec(image="reg.test/a:1"), image_ref="reg.test/a@sha256:1", log_path="/l",
        labels={"l": "1"}, annotations={"a": "2"},
    )  # fmt: skip
    assert observed("u", "ns", "web", 0.0, [], [("s", status)]).containers == (
        ContainerSeen(
            "c", "app", "s", 2, "exited", 1.0, 2.0, 3.0, 137, "OOMKilled", "m", "reg.test/a:1", "reg.test/a@sha256:1",
            {"a": "2"},
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("user", "seen"),
    [
        (None, ()),
        (pb.ContainerUser(), (0, 0)),
        (pb.ContainerUser(linux=pb.LinuxContainerUser(uid=7, gid=8, supplemental_groups=[8, 9])), (7, 8, 8, 9)),
    ],
)
def test_who_a_container_runs_as_where_the_runtime_tells(user, seen):
    status = _container("c", user=user)
    assert observed("u", "ns", "web", 0.0, [], [("s", status)]).containers[0].user == seen


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (pb.CONTAINER_CREATED, "created"),
        (pb.CONTAINER_RUNNING, "running"),
        (pb.CONTAINER_EXITED, "exited"),
        (pb.CONTAINER_UNKNOWN, "unknown"),
        (9, "unknown"),
    ],
)
def test_states_have_the_wires_names(state, name):
    assert observed("u", "ns", "web", 0.0, [], [("s", _container("c", state=state))]).containers[0].state == name


def test_newest_stand_first():
    sandboxes = [_sandbox("old", 0, 9), _sandbox("late", 1, 8), _sandbox("early", 1, 7)]
    containers = [("s", _container(each, created)) for each, created in (("a", 1), ("c", 3), ("b", 2))]
    seen = observed("u", "ns", "web", 0.0, sandboxes, containers)
    assert [each.id for each in seen.sandboxes] == ["late", "early", "old"]
    assert [each.id for each in seen.containers] == ["c", "b", "a"]
