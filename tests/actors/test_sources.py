"""The sources actor on the in-process bus: real files in, wire messages out."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import structlog
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.sources import SourcesActor
from podherd.model.keys import shard_of
from podherd.model.settings import Settings
from podherd.model.view import pod_of
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.node import NodeFacts
from podherd.wire.status import SourceProblem

PEERS = ("pod_shard-0", "pod_shard-1", "server", "node")
FACTS = NodeFacts("Node1", "", False, {"zone": "a"}, {}, (), {}, {"cpu": "2", "pods": "10000"})


class Peer:
    """Keeps what it was sent."""

    def __init__(self):
        self.heard = []

    async def deliver(self, frame):
        self.heard.extend(codec.decode(frame).messages)

    def of(self, kind):
        return [message for message in self.heard if isinstance(message, kind)]


def _manifest(name, image="x:1"):
    containers = f"[{{name: a, image: '{image}'}}]"
    return f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: {containers}}}}}"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "manifests"
    path.mkdir()
    return path


@pytest.fixture
def peers():
    return {name: Peer() for name in PEERS}


@asynccontextmanager
async def _actor(tmp_path, peers, facts=FACTS, **settings):
    bus = LocalBus()
    for name, peer in peers.items():
        bus.join(name, peer)
    actor = SourcesActor("sources", Settings("Node1", tmp_path, "unix:///none", **settings), bus)
    await actor.start()
    if facts:
        await actor.deliver(codec.encode("node", [facts]))
    try:
        yield actor
    finally:
        await actor.stop()


def _all(peers, kind):
    return [message for peer in peers.values() for message in peer.of(kind)]


async def _hello(actor, sender):
    await actor.deliver(codec.encode(sender, [Hello(sender)]))


async def test_each_pod_reaches_its_shard_before_the_complete_roster(tmp_path, folder, peers):
    for number in range(20):
        (folder / f"{number}.yaml").write_text(_manifest(f"p{number}"))
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: len(_all(peers, Roster)) == 2)
    for shard in (0, 1):
        heard = peers[f"pod_shard-{shard}"].heard
        desired = [message for message in heard if isinstance(message, Desired)]
        assert {shard_of(message.namespace, message.name, 2) for message in desired} == {shard}
        assert heard[-1] == Roster(tuple(message.uid for message in desired), complete=True)
    assert len(_all(peers, Desired)) == 20


async def test_the_body_is_a_pod_that_a_shard_can_read(tmp_path, folder, peers):
    (folder / "web.yaml").write_text(_manifest("web"))
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: _all(peers, Desired))
    (message,) = _all(peers, Desired)
    pod = pod_of(codec.unpack(message.body))
    assert (pod.uid, pod.namespace, pod.name, pod.source) == (message.uid, "default", "web-node1", "file")
    assert message.cause == f"file {folder}/web.yaml created"
    assert pod.annotations["kubernetes.io/config.seen"].endswith("Z")


async def test_an_edit_and_a_removal_act_at_once(tmp_path, folder, peers):
    path = folder / "web.yaml"
    path.write_text(_manifest("web", "x:1"))
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: len(_all(peers, Roster)) == 2)
        first = _all(peers, Desired)[0]
        path.write_text(_manifest("web", "x:2"))
        await until(lambda: len(_all(peers, Desired)) == 2)
        assert [gone.uid for gone in _all(peers, Gone)] == [first.uid]
        path.unlink()
        await until(lambda: len(_all(peers, Gone)) == 2)


async def test_a_bad_file_is_a_problem_for_the_server_until_it_is_mended(tmp_path, folder, peers):
    path = folder / "web.yaml"
    path.write_text("kind: Pod")
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: peers["server"].of(SourceProblem))
        assert peers["server"].of(SourceProblem)[0].thing == str(path)
        assert "apiVersion" in peers["server"].of(SourceProblem)[0].problem
        path.write_text(_manifest("web"))
        await until(lambda: _all(peers, Desired))
        await until(lambda: peers["server"].of(SourceProblem)[-1].problem == "")


async def test_a_shard_that_starts_again_is_told_everything_again(tmp_path, folder, peers):
    for number in range(6):
        (folder / f"{number}.yaml").write_text(_manifest(f"p{number}"))
    async with _actor(tmp_path, peers, manifests=folder) as actor:
        await until(lambda: len(_all(peers, Roster)) == 2)
        shard, other = peers["pod_shard-1"], len(peers["pod_shard-0"].heard)
        before = [message for message in shard.heard if not isinstance(message, Hello)]
        shard.heard.clear()
        await _hello(actor, "pod_shard-1")
        await until(lambda: shard.of(Roster))
        assert sorted(map(repr, shard.heard)) == sorted(map(repr, before))
        assert len(peers["pod_shard-0"].heard) == other


async def test_a_server_that_starts_again_is_told_every_problem_again(tmp_path, folder, peers):
    (folder / "bad").write_text("bad")
    async with _actor(tmp_path, peers, manifests=folder) as actor:
        await until(lambda: peers["server"].of(SourceProblem))
        peers["server"].heard.clear()
        await _hello(actor, "server")
        await until(lambda: peers["server"].of(SourceProblem))
        assert peers["server"].heard[0].thing == str(folder / "bad")


async def test_a_problem_is_logged_once_however_often_it_is_told(tmp_path, folder, peers):
    (folder / "bad.yaml").write_text("hello")
    with structlog.testing.capture_logs() as lines:
        async with _actor(tmp_path, peers, manifests=folder) as actor:
            await until(lambda: peers["server"].of(SourceProblem))
            await actor.deliver(codec.encode("server", [Hello("server")]))
            await until(lambda: len(peers["server"].of(SourceProblem)) == 2)
    assert [line["event"] for line in lines].count("manifest problem") == 1


async def test_without_sources_everything_is_known_and_nothing_is_wanted(tmp_path, peers):
    async with _actor(tmp_path, peers):
        await until(lambda: len(_all(peers, Roster)) == 2)
    assert set(_all(peers, Roster)) == {Roster((), complete=True)}


async def test_nothing_is_complete_while_a_configured_url_does_not_answer(tmp_path, folder, peers):
    (folder / "web.yaml").write_text(_manifest("web"))
    async with _actor(tmp_path, peers, manifests=folder, manifest_url="http://127.0.0.1:9/"):
        await until(lambda: len(_all(peers, Roster)) == 2)
        await until(lambda: peers["server"].of(SourceProblem))
        (folder / "web.yaml").unlink()
        (folder / "other.yaml").write_text(_manifest("other"))
        await until(lambda: len(_all(peers, Desired)) == 2)
        await asyncio.sleep(0)
        assert not _all(peers, Gone)
        assert not any(roster.complete for roster in _all(peers, Roster))


async def test_its_first_word_to_the_server_is_hello(tmp_path, folder, peers):
    (folder / "bad.yaml").write_text("kind: Pod\nspec: [")
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: peers["server"].of(SourceProblem))
    assert [type(message) for message in peers["server"].heard] == [Hello, SourceProblem]


async def test_a_reader_that_fails_in_an_unforeseen_way_ends_the_actor(tmp_path, folder, peers, monkeypatch, fatal):
    async def run(_self):
        raise KeyError("unforeseen")

    monkeypatch.setattr("podherd.sources.file.FileSource.run", run)
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: fatal)
    assert "KeyError: 'unforeseen'" in fatal[0]
    fatal.clear()


async def test_static_pods_wait_for_the_facts_of_the_node_which_it_asks_for(tmp_path, folder, peers):
    (folder / "web.yaml").write_text(_manifest("web"))
    async with _actor(tmp_path, peers, facts=None, manifests=folder) as actor:
        await until(lambda: peers["node"].of(Hello) and peers["pod_shard-0"].of(Hello))
        assert not _all(peers, Desired)
        await actor.deliver(codec.encode("node", [FACTS]))
        await until(lambda: _all(peers, Desired))


async def test_a_static_pod_that_the_node_cannot_take_leaves_with_the_reason(tmp_path, folder, peers):
    (folder / "web.yaml").write_text(_manifest("web").replace("spec: {", "spec: {nodeSelector: {zone: b}, "))
    async with _actor(tmp_path, peers, manifests=folder):
        await until(lambda: _all(peers, Desired))
    assert _all(peers, Desired)[0].refused == "NodeAffinity"
