"""The sources actor with an API server: a scripted one tells, shards and the status actor hear."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.sources import SourcesActor
from podherd.errors import ApiError
from podherd.journal.replay import journals, replay
from podherd.journal.story.line import Kind
from podherd.journal.story.story import story
from podherd.kube.door import Dropped, Listed, Put, Trouble
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.control import Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts
from podherd.wire.status import PodOver, SourceProblem

FACTS = NodeFacts("n1", "", False, {"zone": "a"}, {}, (), {}, {"cpu": "2", "pods": "110"})


class Peer:
    """Keeps what it was sent."""

    def __init__(self):
        self.heard = []

    async def deliver(self, frame):
        self.heard.extend(codec.decode(frame).messages)

    def of(self, kind):
        return [message for message in self.heard if isinstance(message, kind)]


class Api:
    """A server that says what a test lets it say."""

    def __init__(self):
        self.tell = None
        self.labels = {"zone": "a"}
        self.closed = False

    async def follow(self, _path, _query, told):
        self.tell = told
        await asyncio.Event().wait()

    async def get(self, path):
        if self.labels is None:
            raise ApiError(path, 403, "Forbidden", "no")
        return {"metadata": {"labels": self.labels}}

    async def close(self):
        self.closed = True


class Herd:
    """The actor and its peers."""

    def __init__(self, actor, peers, api):
        self.actor, self.peers, self.api = actor, peers, api

    @property
    def shard(self):
        return self.peers["pod_shard-0"]

    @property
    def status(self):
        return self.peers["status"]

    async def say(self, sender, *messages):
        await self.actor.deliver(codec.encode(sender, messages))

    async def desired(self, count):
        await until(lambda: len(self.shard.of(Desired)) >= count)
        return self.shard.of(Desired)


@asynccontextmanager
async def _started(tmp_path, facts=FACTS):
    bus, api = LocalBus(), Api()
    peers = {name: Peer() for name in ("pod_shard-0", "server", "node", "status")}
    for name, peer in peers.items():
        bus.join(name, peer)
    settings = Settings("n1", tmp_path, "unix:///none", shards=1, kubeconfig=Path("kubeconfig"))
    actor = SourcesActor("sources", settings, bus, api=api)
    await actor.start()
    herd = Herd(actor, peers, api)
    if facts:
        await herd.say("node", facts)
    await until(lambda: api.tell)
    try:
        yield herd
    finally:
        await actor.stop()
    assert api.closed


def _pod(name, version="1", *, cpu="100m", metadata=None, status=None, **spec):
    return {
        "metadata": {"uid": f"u-{name}", "namespace": "default", "name": name, "resourceVersion": version,
                     "creationTimestamp": "2026-01-01T00:00:00Z", **(metadata or {})},
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}], **spec},
        "status": status or {"phase": "Pending"},
    }  # fmt: skip


async def test_a_pod_goes_from_the_server_to_its_shard_and_to_the_status_actor(tmp_path):
    async with _started(tmp_path) as herd:
        herd.api.tell(Listed([_pod("a")]))
        (desired,) = await herd.desired(1)
        assert (desired.uid, desired.source, desired.refused) == ("u-a", "api", "")
        await until(lambda: herd.status.of(ApiRoster))
        assert [pod.uid for pod in herd.status.of(ApiPod)] == ["u-a"]
        await until(lambda: herd.shard.of(Roster))
        assert herd.shard.of(Roster)[-1] == Roster(("u-a",), complete=True)
        herd.api.tell(Dropped(_pod("a")))
        await until(lambda: herd.shard.of(Gone) and herd.status.of(ApiPodGone))


async def test_a_server_that_is_away_takes_nothing_away(tmp_path):
    async with _started(tmp_path) as herd:
        herd.api.tell(Listed([_pod("a")]))
        await herd.desired(1)
        herd.api.tell(Trouble("no answer"))
        await until(lambda: herd.peers["server"].of(SourceProblem))
        assert not herd.shard.of(Gone)


async def test_a_status_actor_that_starts_is_told_everything(tmp_path):
    async with _started(tmp_path) as herd:
        herd.api.tell(Listed([_pod("a")]))
        await until(lambda: herd.status.of(ApiRoster))
        herd.status.heard.clear()
        await herd.say("status", Hello("status"))
        await until(lambda: herd.status.of(ApiRoster))
        assert [pod.uid for pod in herd.status.of(ApiPod)] == ["u-a"]


async def test_a_critical_pod_makes_another_leave_and_then_runs(tmp_path):
    async with _started(tmp_path) as herd:
        herd.api.tell(Listed([_pod("a", cpu="2")]))
        await herd.desired(1)
        herd.api.tell(Put(_pod("system", cpu="1", priority=2_000_000_000)))
        await until(lambda: herd.shard.of(Evict))
        assert herd.shard.of(Evict)[0].uid == "u-a"
        await herd.say("pod_shard-0", PodOver("u-a"))
        assert (await herd.desired(2))[-1].uid == "u-system"


@pytest.mark.parametrize(("labels", "refused"), [({"zone": "b"}, ""), (None, "NodeAffinity")])
async def test_a_label_that_is_not_known_yet_is_looked_up(tmp_path, labels, refused):
    async with _started(tmp_path) as herd:
        herd.api.labels = labels
        herd.api.tell(Put(_pod("a", nodeSelector={"zone": "b"})))
        assert (await herd.desired(1))[0].refused == refused


async def test_whatever_the_server_sends_other_pods_are_not_touched(tmp_path):
    async with _started(tmp_path) as herd:
        broken = [{}, {"metadata": {"uid": ".."}}, {**_pod("b"), "spec": None}, {**_pod("c"), "status": "none"}]
        herd.api.tell(Listed([*broken, _pod("a")]))
        desired = {each.uid: each.refused for each in await herd.desired(3)}
        assert desired == {"u-a": "", "u-b": "UnexpectedAdmissionError", "u-c": ""}


async def test_the_journal_of_it_can_be_replayed(tmp_path):
    async with _started(tmp_path, facts=None) as herd:
        herd.api.tell(
            Listed([_pod("a", cpu="2"), _pod("m", metadata={"annotations": {"kubernetes.io/config.mirror": "h"}})])
        )
        await herd.say("node", FACTS)
        await herd.desired(1)
        herd.api.tell(Put(_pod("b", priority=2_000_000_000)))
        herd.api.tell(Put(_pod("c", nodeSelector={"zone": "b"})))
        await herd.say("pod_shard-0", PodOver("u-a"), Hello("pod_shard-0"))
        await herd.say("status", Hello("status"))
        await herd.desired(3)
    (files,) = journals(tmp_path / "journal")
    outcome = replay(files)
    assert outcome.differs is None
    assert outcome.turns >= 8
    assert _told(tmp_path, "a") == ["api default/a created: pod wanted (uid u-a)",
                                    "the pod has to make room: Preempted in order to admit critical pod"]  # fmt: skip
    assert _told(tmp_path, "c")[0].startswith("api default/c created: refused by the node: OutOfcpu: Node didn't have")


def _told(root, name):
    return [line.text for line in story(root, name)[1] if line.kind is Kind.SOURCE]
