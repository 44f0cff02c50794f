"""The rest of a container's and a sandbox's config."""

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.cri.conftest import container_of, sandbox_of
from tests.kit.pods import pod, pod_with

from podherd.cri.convert import mount
from podherd.errors import ContainerConfigError


def test_terminal_and_working_directory():
    config = container_of(pod_with(stdin=True, stdinOnce=True, tty=True, workingDir="/srv"))
    assert (config.stdin, config.stdin_once, config.tty, config.working_dir) == (True, True, True, "/srv")


def test_mounts_are_those_given_and_the_termination_log():
    data = mount("/data", "/host/data", readonly=True, propagation="HostToContainer")
    config = container_of(pod_with(terminationMessagePath="/last"), mounts=[data], termination_log="/host/log")
    assert list(config.mounts) == [data, pb.Mount(container_path="/last", host_path="/host/log")]
    assert data.propagation == pb.PROPAGATION_HOST_TO_CONTAINER
    assert list(container_of(pod_with(), mounts=[data]).mounts) == [data]


def test_a_stop_signal_is_passed_on():
    assert container_of(pod_with(lifecycle={"stopSignal": "SIGQUIT"})).stop_signal == pb.SIGQUIT
    assert container_of(pod_with()).stop_signal == pb.RUNTIME_DEFAULT


def test_block_volumes_are_refused_not_ignored():
    with pytest.raises(ContainerConfigError, match="block volumes"):
        container_of(pod_with(volumeDevices=[{"name": "d", "devicePath": "/dev/x"}]))


def test_ports_of_all_regular_containers_are_mapped():
    first = {"name": "a", "image": "a:1", "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}]}
    second = {"name": "b", "image": "a:1", "ports": [{"containerPort": 53, "protocol": "UDP"}]}
    assert list(sandbox_of(pod({"containers": [first, second]})).port_mappings) == [
        pb.PortMapping(protocol=pb.TCP, container_port=80, host_port=8080, host_ip="127.0.0.1"),
        pb.PortMapping(protocol=pb.UDP, container_port=53),
    ]


def test_cgroup_parent_is_passed_on():
    assert sandbox_of(pod(), cgroup_parent="/kubepods/poduid").linux.cgroup_parent == "/kubepods/poduid"


def test_conversion_leaves_the_pod_as_it_was():
    made = pod_with(env=[{"name": "A", "value": "$(B)"}], resources={"limits": {"cpu": "1"}})
    before = repr(made)
    container_of(made)
    sandbox_of(made)
    assert repr(made) == before
