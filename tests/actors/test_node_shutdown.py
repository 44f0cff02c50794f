"""The node actor when the machine shuts down: it hears of it on a real D-Bus, ends the pods, lets the machine go."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hollow import Hollow
from tests.kit.logind import Logind, own_bus, own_logind
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.node import NodeActor
from podherd.machines import shutdown
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import ACTIVE_PODS, Answer, Ask
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts

Herd = tuple[LocalBus, dict[str, Any]]
SHARDS = ("pod_shard-0", "pod_shard-1")


@pytest.fixture
async def logind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Logind]:
    monkeypatch.setattr(shutdown, "LOOK_S", 0.02)
    with own_bus(tmp_path) as bus:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
        async with own_logind(bus, tmp_path / "conf", longest_s=60) as running:
            yield running


@pytest.fixture
async def actor(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], logind: Logind
) -> AsyncIterator[NodeActor]:
    settings = replace(settings_at(hollow.endpoint), shutdown_grace_s=60.0, shutdown_grace_critical_s=20.0)
    node = NodeActor("node", settings, herd[0])
    await node.start()
    await until(lambda: logind.asked)
    yield node
    await node.stop()


def questions(herd: Herd, shard: str) -> int:
    return sum(each.what == ACTIVE_PODS for each in herd[1][shard].of(Ask))


def answer(node: NodeActor, shard: str, *pods: tuple[str, str, str, int]) -> None:
    node.receive(shard, [Answer(1, codec.pack(pods))])


async def test_pods_are_ended_through_their_shards_and_then_the_machine_may_go(
    herd: Herd, actor: NodeActor, logind: Logind
) -> None:
    logind.tell(True)
    for shard in SHARDS:
        await until(lambda shard=shard: questions(herd, shard))
    assert herd[1]["sources"].of(NodeFacts)[-1].shutting_down
    answer(actor, SHARDS[0], ("u1", "default", "web", 0))
    answer(actor, SHARDS[1], ("u2", "kube-system", "dns", 2_000_000_000))
    await until(lambda: herd[1][SHARDS[0]].of(Evict))
    (order,) = herd[1][SHARDS[0]].of(Evict)
    assert (order.uid, order.reason, order.grace_s) == ("u1", "Terminated", 40)
    assert herd[1][SHARDS[1]].of(Evict) == []
    answer(actor, SHARDS[0])
    await until(lambda: herd[1][SHARDS[1]].of(Evict))
    assert logind.held() == 1
    answer(actor, SHARDS[1])
    await until(lambda: logind.held() == 0)


async def test_a_shutdown_that_is_called_off_leaves_the_node_as_it_was_and_the_next_is_held_back(
    herd: Herd, actor: NodeActor, logind: Logind
) -> None:
    logind.tell(True)
    await until(lambda: questions(herd, SHARDS[0]) > 1)
    actor.receive(SHARDS[0], [Answer(1, b"", "no answer")])
    for shard in SHARDS:
        answer(actor, shard)
    await until(lambda: logind.held() == 0)
    logind.tell(False)
    await until(lambda: not herd[1]["sources"].of(NodeFacts)[-1].shutting_down)
    await until(lambda: logind.held() == 1)
