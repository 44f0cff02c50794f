"""Sandboxes on a virtual clock."""

import pytest
from cri_api.v1 import api_pb2 as api
from tests.hollow.conftest import Node, container_config, marks, pod_config

from podherd.errors import ConfigError
from podherd.hollow.refusal import RefusedError


def _status(node: Node, sandbox_id: str) -> api.PodSandboxStatus:
    return api.PodSandboxStatus.FromString(node.runtime.sandboxes.get(sandbox_id).status())


def _listed(node: Node) -> list[api.PodSandbox]:
    reply = b"".join(node.runtime.ledger.sandbox_list.reply())
    return list(api.ListPodSandboxResponse.FromString(reply).items)


def test_a_sandbox_keeps_what_it_was_given(node: Node) -> None:
    config = pod_config(annotations={"note": "x"})
    sandbox = node.sandbox(config)
    status = _status(node, sandbox.id)
    assert len(sandbox.id) == 64
    assert (status.state, status.metadata, status.network.ip) == (api.SANDBOX_READY, config.metadata, "10.128.0.2")
    assert (dict(status.labels), dict(status.annotations)) == (dict(config.labels), {"note": "x"})
    assert status.created_at == node.clock.now_ns
    assert status.linux.namespaces.options.network == api.POD
    (entry,) = _listed(node)
    assert (entry.id, entry.state, dict(entry.labels)) == (sandbox.id, api.SANDBOX_READY, dict(config.labels))


def test_addresses_differ_and_the_hosts_network_has_none(node: Node) -> None:
    first, second = node.sandbox(pod_config("a")), node.sandbox(pod_config("b"))
    host = node.sandbox(pod_config("c", host=True))
    scripted = node.sandbox(pod_config("d", annotations=marks(ip="127.0.0.9")))
    ips = [_status(node, one.id).network.ip for one in (first, second, host, scripted)]
    assert ips == ["10.128.0.2", "10.128.0.3", "", "127.0.0.9"]


def test_a_name_is_held_until_removal(node: Node) -> None:
    sandbox = node.sandbox()
    with pytest.raises(
        RefusedError, match=f'failed to reserve sandbox name .* is reserved for "{sandbox.id}"'
    ) as caught:
        node.sandbox()
    assert caught.value.code == "UNKNOWN"
    node.sandbox(pod_config(attempt=1))
    node.runtime.sandboxes.stop(sandbox.id)
    with pytest.raises(RefusedError):
        node.sandbox()
    node.runtime.sandboxes.remove(sandbox.id)
    node.sandbox()


def test_an_abandoned_sandbox_leaves_its_name_free_and_is_in_no_list(node: Node) -> None:
    sandbox = node.runtime.sandboxes.reserve(api.RunPodSandboxRequest(config=pod_config()))
    assert _listed(node) == []
    node.runtime.sandboxes.abandon(sandbox)
    node.sandbox()


def test_stop_kills_what_runs_takes_the_address_and_may_be_repeated(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.started(sandbox)
    node.runtime.sandboxes.stop(sandbox.id)
    node.runtime.sandboxes.stop(sandbox.id)
    node.runtime.sandboxes.stop("no such sandbox")
    assert node.status(container).exit_code == 137
    status = _status(node, sandbox.id)
    assert (status.state, status.network.ip) == (api.SANDBOX_NOTREADY, "")
    assert _listed(node)[0].state == api.SANDBOX_NOTREADY


def test_remove_takes_the_containers_along_and_may_be_repeated(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.started(sandbox)
    node.runtime.sandboxes.remove(sandbox.id)
    node.runtime.sandboxes.remove(sandbox.id)
    assert _listed(node) == []
    assert node.runtime.ledger.containers == {}
    assert node.events[-2:] == [(3, container.id), (3, sandbox.id)]
    with pytest.raises(RefusedError, match="not found"):
        node.runtime.sandboxes.get(sandbox.id)


def test_a_lost_sandbox_keeps_its_address_and_its_containers(node: Node) -> None:
    sandbox = node.sandbox()
    container = node.started(sandbox)
    node.runtime.sandboxes.lose(sandbox)
    assert _status(node, sandbox.id).state == api.SANDBOX_NOTREADY
    assert _status(node, sandbox.id).network.ip == sandbox.ip
    assert node.status(container).state == api.CONTAINER_RUNNING


def test_filters_by_id_prefix_state_and_labels(node: Node) -> None:
    first = node.sandbox(pod_config("a", labels={"app": "a"}))
    second = node.sandbox(pod_config("b", labels={"app": "b", "tier": "x"}))
    node.runtime.sandboxes.stop(second.id)

    def found(**wanted: object) -> set[str]:
        reply = node.runtime.sandboxes.listed(api.PodSandboxFilter(**wanted))  # type: ignore[arg-type]
        return {one.id for one in api.ListPodSandboxResponse.FromString(reply).items}

    assert found() == {first.id, second.id}
    assert found(id=first.id[:12]) == {first.id}
    assert found(id="none") == set()
    assert found(state=api.PodSandboxStateValue(state=api.SANDBOX_NOTREADY)) == {second.id}
    assert found(label_selector={"app": "b", "tier": "x"}) == {second.id}
    assert found(label_selector={"app": "b"}, state=api.PodSandboxStateValue(state=api.SANDBOX_READY)) == set()


def test_what_cannot_be_a_sandbox_is_refused_and_holds_no_name(node: Node) -> None:
    with pytest.raises(RefusedError, match="must include metadata"):
        node.runtime.sandboxes.reserve(api.RunPodSandboxRequest())
    with pytest.raises(RefusedError, match='no runtime for "kata" is configured'):
        node.runtime.sandboxes.reserve(api.RunPodSandboxRequest(config=pod_config(), runtime_handler="kata"))
    with pytest.raises(ConfigError, match="did you mean exit-after"):
        node.sandbox(pod_config(annotations=marks(exit_aftre="1")))
    node.sandbox()


def test_the_names_of_two_running_containers_of_one_full_name_are_kept(node: Node) -> None:
    old, new = node.sandbox(pod_config()), node.sandbox(pod_config(attempt=1))
    node.started(old, container_config(attempt=0))
    assert node.runtime.ledger.doubled == []
    node.started(new, container_config(attempt=1))
    assert node.runtime.ledger.doubled == ["app_web_default"]
