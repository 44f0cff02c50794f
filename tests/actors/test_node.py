"""The node actor against a hollow runtime, and the words of its conditions."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.kit.hollow import Hollow
from tests.kit.waiting import until

from podherd.actors import node as module
from podherd.actors.local_bus import LocalBus
from podherd.actors.node import NodeActor
from podherd.cri.client import Cri
from podherd.errors import CriError, RuntimeRefusedError
from podherd.hollow.control import Control
from podherd.machines.capacity import Amounts
from podherd.machines.node import Facts, Node
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Hello
from podherd.wire.node import NodeState, PlegHealth, RuntimeState

Herd = tuple[LocalBus, dict[str, Any]]


@pytest.fixture
async def actor(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[NodeActor]:
    monkeypatch.setattr(module, "STATUS_EVERY_S", 0.02)
    node = NodeActor("node", settings_at(hollow.endpoint), herd[0])
    await node.start()
    yield node
    await node.stop()


def node_of(herd: Herd) -> dict[str, Any]:
    states = herd[1]["server"].of(NodeState)
    return codec.unpack(states[-1].node) if states else {}


def ready(herd: Herd) -> dict[str, str]:
    return node_of(herd).get("status", {}).get("conditions", [{}])[-1]


@pytest.mark.usefixtures("actor")
async def test_a_well_runtime_is_told_to_every_shard_once(herd: Herd) -> None:
    for shard in ("pod_shard-0", "pod_shard-1"):
        await until(lambda shard=shard: herd[1][shard].of(RuntimeState))
        (state,) = herd[1][shard].of(RuntimeState)
        assert (state.runtime_ready, state.network_ready, state.cgroup_driver) == (True, True, "cgroupfs")


async def test_a_runtime_that_is_refused_is_asked_again(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one may listen there the next time."""
    refusals = iter(range(3))

    async def wait_ready(self: Cri, _on_wait: Any = None) -> Any:
        if next(refusals, None) is not None:
            raise RuntimeRefusedError("unix:///cri", "it does not speak CRI v1")
        return await self.version()

    monkeypatch.setattr(module, "STATUS_EVERY_S", 0.02)
    monkeypatch.setattr(Cri, "wait_ready", wait_ready)
    node = NodeActor("node", settings_at(hollow.endpoint), herd[0])
    await node.start()
    ear = herd[1]["pod_shard-0"]
    await until(lambda: ear.of(RuntimeState))
    assert "CRI v1" in ear.of(RuntimeState)[0].message
    await until(lambda: ear.of(RuntimeState)[-1].runtime_ready)
    await node.stop()


async def test_a_runtime_is_not_ready_before_it_has_told_its_cgroup_driver_and_is_asked_anew_after_an_outage(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str] = ["", "systemd", "cgroupfs"]
    asked: list[str] = []

    async def driver(_self: Cri, _fallback: str) -> str:
        asked.append(answers[len(asked)])
        if not asked[-1]:
            raise CriError("RuntimeConfig", "UNAVAILABLE", "not yet")
        return asked[-1]

    monkeypatch.setattr(module, "STATUS_EVERY_S", 0.02)
    monkeypatch.setattr(Cri, "cgroup_driver", driver)
    node = NodeActor("node", settings_at(hollow.endpoint), herd[0])
    await node.start()
    ear = herd[1]["pod_shard-0"]
    await until(lambda: ear.of(RuntimeState) and ear.of(RuntimeState)[-1].cgroup_driver == "systemd")
    assert all(not state.runtime_ready for state in ear.of(RuntimeState)[:-1])

    outages: list[None] = []

    async def away(_self: Cri, **_: Any) -> Any:
        outages.append(None)
        raise CriError("Status", "UNAVAILABLE", "away")

    with monkeypatch.context() as patched:
        patched.setattr(Cri, "status", away)
        await until(lambda: len(outages) > 1)
    await until(lambda: ear.of(RuntimeState)[-1].cgroup_driver == "cgroupfs")
    assert asked == ["", "systemd", "cgroupfs"]
    await node.stop()


@pytest.mark.usefixtures("actor")
async def test_an_address_that_changes_is_told(herd: Herd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "node_ips", lambda: ("192.0.2.77",))
    new = {"type": "InternalIP", "address": "192.0.2.77"}
    await until(lambda: new in node_of(herd).get("status", {}).get("addresses", ()))
    await until(lambda: any(each.host_ips == ("192.0.2.77",) for each in herd[1]["pod_shard-1"].of(RuntimeState)))


@pytest.mark.usefixtures("actor")
async def test_a_network_that_is_not_ready_is_told_at_once_and_when_it_is_back(herd: Herd, control: Control) -> None:
    ear = herd[1]["pod_shard-0"]
    await until(lambda: ear.of(RuntimeState))
    await control.ready("NetworkReady", False, "NetworkPluginNotReady", "cni plugin not initialized")
    await until(lambda: not ear.of(RuntimeState)[-1].network_ready)
    words = (
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
        " message:cni plugin not initialized"
    )
    assert ear.of(RuntimeState)[-1].message == words
    await control.ready("NetworkReady", True)
    await until(lambda: ear.of(RuntimeState)[-1].network_ready)


async def test_the_node_is_ready_once_runtime_and_pleg_are_well(herd: Herd, actor: NodeActor) -> None:
    await until(lambda: ready(herd).get("message") == "PLEG is not healthy: pleg has yet to be successful")
    assert (ready(herd)["status"], ready(herd)["reason"]) == ("False", "KubeletNotReady")
    actor.receive("pleg", [PlegHealth(actor.clock(), 0.01, 1, 1, ())])
    await until(lambda: ready(herd).get("status") == "True")
    assert (ready(herd)["reason"], ready(herd)["message"]) == ("KubeletReady", "kubelet is posting ready status")
    info = node_of(herd)["status"]["nodeInfo"]
    assert info["containerRuntimeVersion"].startswith("hollow://")
    assert info["architecture"]
    assert node_of(herd)["status"]["capacity"].keys() >= {"cpu", "ephemeral-storage", "memory", "pods"}


async def test_who_says_hello_is_told_anew(herd: Herd, actor: NodeActor) -> None:
    await until(lambda: herd[1]["pod_shard-1"].of(RuntimeState) and herd[1]["server"].of(NodeState))
    for name, kind in (("pod_shard-1", RuntimeState), ("server", NodeState)):
        herd[1][name].heard.clear()
        actor.receive(name, [Hello(name)])
        await until(lambda name=name, kind=kind: herd[1][name].of(kind))


async def test_the_server_is_told_which_images_there_are(herd: Herd, actor: NodeActor) -> None:
    actor.receive("server", [Ask(7, "images", b"")])
    await until(lambda: herd[1]["server"].of(Answer))
    (answer,) = herd[1]["server"].of(Answer)
    assert (answer.id, answer.error) == (7, "")
    assert [image["repoTags"] for image in codec.unpack(answer.body)] == [["docker.io/library/img:1"]]


async def test_an_unknown_question_is_answered_with_an_error(herd: Herd, actor: NodeActor) -> None:
    actor.receive("server", [Ask(8, "moon", b"")])
    await until(lambda: herd[1]["server"].of(Answer))
    assert "moon" in herd[1]["server"].of(Answer)[0].error


INFO = {"operatingSystem": "linux", "architecture": "amd64"}


def test_a_runtime_that_was_well_lately_is_not_down_yet() -> None:
    node = Node(Facts("n", "n", (), Amounts(2, 2**30, 2**30, 110), INFO), "cgroupfs")
    assert node.troubles(0.0)[0] == "container runtime status check may not have completed yet"
    node.runtime_ok_at = 100.0
    assert node.runtime_state(130.0).runtime_ready
    assert node.runtime_state(130.1).message == "container runtime is down"


def test_the_shards_pause_while_the_pleg_is_silent_and_not_before_it_has_spoken() -> None:
    node = Node(Facts("n", "n", (), Amounts(2, 2**30, 2**30, 110), INFO), "cgroupfs", runtime_ok_at=1000.0)
    assert node.runtime_state(1000.0).runtime_ready
    node.pleg = PlegHealth(810.0, 0.1, 0, 0, ())
    state = node.runtime_state(1000.0)
    assert (state.runtime_ready, state.message) == (
        False, "PLEG is not healthy: pleg was last seen active 3m10s ago; threshold is 3m0s",
    )  # fmt: skip
    node.pleg = PlegHealth(999.0, 0.1, 0, 0, ())
    assert node.runtime_state(1000.0).runtime_ready


def test_a_silent_pleg_is_named_with_its_age_and_joined_to_other_troubles() -> None:
    node = Node(Facts("n", "n", (), Amounts(2, 2**30, 2**30, 110), INFO), "cgroupfs", runtime_ok_at=0.0)
    node.pleg = PlegHealth(0.0, 0.1, 0, 0, ())
    assert "PLEG" not in str(node.troubles(180.0))
    condition = node.object(185.0)["status"]["conditions"][-1]
    assert condition["message"] == (
        "[container runtime is down, PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s]"
    )


def test_a_condition_turns_at_the_time_of_its_change_alone() -> None:
    node = Node(Facts("n", "n", (), Amounts(2, 2**30, 2**30, 110), INFO), "cgroupfs", runtime_ok_at=1000.0)
    node.pleg = PlegHealth(1000.0, 0.1, 0, 0, ())
    first = node.object(1000.0)["status"]["conditions"][-1]
    second = node.object(1010.0)["status"]["conditions"][-1]
    assert first["lastTransitionTime"] == second["lastTransitionTime"] == first["lastHeartbeatTime"]
    assert second["lastHeartbeatTime"] != first["lastHeartbeatTime"]
