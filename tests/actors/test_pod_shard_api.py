"""The shard of a node of a cluster: who hears of its pods' statuses, events and ends, and who is told again."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.actors.test_pod_shard import IMAGE, SHARD, End, Herd, body_of
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts, VolumesInUse
from podherd.wire.objects import Needs, ObjectState, Ref
from podherd.wire.status import PodEvent, PodForgotten, PodOver, StatusChanged

DELETED = {"deletionTimestamp": "2027-01-15T08:00:09Z", "deletionGracePeriodSeconds": 1}
CONF = {"volumes": [{"name": "conf", "configMap": {"name": "web", "defaultMode": 420}}]}


class Objects(End):
    """Knows that there are no services, and nothing of anything else."""

    def __init__(self, cluster: "Cluster") -> None:
        super().__init__()
        self._cluster = cluster

    async def react(self, message: Any) -> None:
        refs = message.refs if isinstance(message, Needs) else ()
        await self._cluster.tell(
            "objects", *(ObjectState((ref,), codec.pack([])) for ref in refs if ref.kind == "Services")
        )

    def config_maps(self) -> set[Ref]:
        """Those that were asked for."""
        return {ref for needs in self.of(Needs) for ref in needs.refs if ref.kind == "ConfigMap"}


class Cluster(Herd):
    """With the actors that only a node of a cluster has."""

    def __init__(self, runtime: Hollow, root: Path) -> None:
        super().__init__(runtime, root)
        self.settings = replace(self.settings, kubeconfig=root / "none", journal_mb=4)
        others = ("status", "events", "objects")
        self.bus = LocalBus(("sources", "pleg", "node", "server", SHARD, *others))
        self.settings.root_dir.mkdir()
        self.status, self.events, self.objects = End(), End(), Objects(self)
        for name in ("server", "sources", "node", "pleg", *others):
            self.bus.join(name, getattr(self, name))

    async def give(self, body: dict[str, Any], *refused: str, **metadata: Any) -> None:
        meta = body["metadata"] | metadata | {"annotations": {"kubernetes.io/config.source": "api"}}
        packed = codec.pack(body | {"metadata": meta})
        desired = Desired(meta["uid"], meta["namespace"], meta["name"], "api", packed, "api", *refused)
        await self.tell("sources", desired, Roster((meta["uid"],), True))

    def told(self) -> list[StatusChanged]:
        return self.status.of(StatusChanged)

    async def until_running(self) -> None:
        await self.status.until(lambda: self.told() and self.told()[-1].phase == "Running")

    async def until_finished(self) -> StatusChanged:
        await self.status.until(lambda: self.told() and self.told()[-1].finished)
        last: StatusChanged = self.told()[-1]
        return last

    def volume_file(self) -> Path:
        return self.settings.pod_dir("u1") / "volumes/kubernetes.io~configmap/conf/key"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    with own_hollow("--image", IMAGE, "--log-dir-writes") as runtime:
        one = Cluster(runtime, tmp_path)
        await one.begin()
        yield one
        await one.end()
        await one.cri.close()


async def test_a_deleted_pod_is_finished_and_its_records_stay_until_it_is_gone(cluster: Cluster) -> None:
    volumes = [{"name": "data", "emptyDir": {}}]
    await cluster.give(body_of("u1", volumes=volumes))
    await cluster.until_running()
    assert (cluster.settings.pod_dir("u1") / "volumes").exists()
    await cluster.give(body_of("u1", volumes=volumes), **DELETED)
    last = await cluster.until_finished()
    assert (last.phase, last.deleting, last.source) == ("Failed", True, "api")
    assert not (cluster.settings.pod_dir("u1") / "volumes").exists()
    assert len(await cluster.containers()) == 1
    assert cluster.settings.pod_log_dir("shop", "web", "u1").exists()
    await cluster.sources.until(lambda: cluster.sources.of(PodOver))
    await cluster.tell("sources", Gone("u1", "shop", "web", "deleted"))
    await cluster.status.until(lambda: cluster.status.of(PodForgotten))
    assert await cluster.containers() == []
    assert not cluster.settings.pod_dir("u1").exists()
    assert not cluster.settings.pod_log_dir("shop", "web", "u1").exists()


async def test_server_and_events_hear_every_event_and_both_hear_every_status(cluster: Cluster) -> None:
    await cluster.give(body_of("u1"))
    await cluster.until_running()
    await cluster.until_phases(u1="Running")
    reasons = ["Pulled", "Created", "Started"]
    for end in (cluster.events, cluster.server):
        await end.until(lambda end=end: [each.reason for each in end.of(PodEvent)] == reasons)


async def test_whoever_begins_anew_is_told_what_it_must_know(cluster: Cluster) -> None:
    await cluster.give(body_of("u1"), "OutOfcpu", "no room")
    assert (await cluster.until_finished()).phase == "Failed"
    await cluster.sources.until(lambda: cluster.sources.of(PodOver))
    cluster.status.heard.clear()
    cluster.sources.heard.clear()
    await cluster.tell("status", Hello("status"))
    await cluster.tell("sources", Hello("sources"))
    assert (await cluster.until_finished()).uid == "u1"
    await cluster.sources.until(lambda: cluster.sources.of(PodOver) == [PodOver("u1")])


async def test_an_evicted_pod_fails_with_the_reason(cluster: Cluster) -> None:
    await cluster.give(body_of("u1"))
    await cluster.until_running()
    await cluster.tell("node", Evict("u1", "shop", "web", "Evicted", "low", 1, "low"))
    last = await cluster.until_finished()
    status = codec.unpack(last.status)
    assert (last.deleting, status["phase"], status["reason"]) == (False, "Failed", "Evicted")


async def test_what_the_node_offers_is_a_fact_of_the_host(cluster: Cluster) -> None:
    facts = NodeFacts("n1", "", False, {}, {}, (), {}, {"cpu": "1500m", "memory": "1Gi", "bad": "x"})
    await cluster.tell("node", facts)
    assert cluster.shard._tools.node == facts
    assert cluster.shard._tools.host().allocatable == {"cpu": 1500, "memory": 1 << 30}


async def test_volumes_in_use_are_told_also_when_there_are_none_and_again_to_a_node_actor_that_begins_anew(
    cluster: Cluster,
) -> None:
    none = VolumesInUse(SHARD, ())
    await cluster.node.until(lambda: cluster.node.of(VolumesInUse) == [none])
    await cluster.tell("node", Hello("node"))
    await cluster.node.until(lambda: cluster.node.of(VolumesInUse) == [none, none])


async def test_an_object_that_changes_is_written_anew_and_is_in_no_journal(cluster: Cluster) -> None:
    await cluster.give(body_of("u1", **CONF))
    await cluster.objects.until(cluster.objects.config_maps)
    (ref,) = cluster.objects.config_maps()

    async def say(word: str) -> None:
        config_map = {"metadata": {"name": "web", "namespace": "shop"}, "data": {"key": word}}
        await cluster.tell("objects", ObjectState((ref,), codec.pack(config_map)))

    await say("first-word")
    await cluster.until_running()
    assert cluster.volume_file().read_text() == "first-word"
    before = await cluster.containers()
    await say("second-word")
    await until(lambda: cluster.volume_file().read_text() == "second-word")
    assert [one.id for one in await cluster.containers()] == [one.id for one in before]
    cluster.objects.heard.clear()
    await cluster.tell("objects", Hello("objects"))
    await cluster.objects.until(lambda: cluster.objects.config_maps() == {ref})
    await cluster.end()
    written = b"".join(path.read_bytes() for path in cluster.settings.root_dir.glob("journal/**/*.mp"))
    assert b"u1" in written
    assert b"first-word" not in written
    await cluster.begin()


async def test_a_container_is_resized_where_it_runs(cluster: Cluster) -> None:
    def sized(memory: str) -> dict[str, Any]:
        body = body_of("u1")
        body["spec"]["containers"][0]["resources"] = {"limits": {"memory": memory}, "requests": {"memory": memory}}
        return body

    await cluster.give(sized("64Mi"))
    await cluster.until_running()
    (before,) = await cluster.containers()
    await cluster.give(sized("128Mi"))

    async def limit() -> int:
        status = await cluster.cri.container_status(before.id)
        return status.resources.linux.memory_limit_in_bytes

    async def is_resized() -> bool:
        return await limit() == 128 << 20

    await until(is_resized)
    assert [one.id for one in await cluster.containers()] == [before.id]
    await cluster.status.until(
        lambda: "PodResizeInProgress" not in str(codec.unpack(cluster.told()[-1].status)["conditions"])
    )
