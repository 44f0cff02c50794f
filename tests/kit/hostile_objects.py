"""What a newer, a foreign or a broken API server may send as a pod, taken all the way that a pod goes on this node."""

import asyncio
import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from podherd.cri.convert import Host, cautions, container_config, sandbox_config
from podherd.errors import PodherdError
from podherd.journal.inputs import wanted_of
from podherd.kube.door import Dropped, Listed, News, Put
from podherd.machines.admission import Admission
from podherd.machines.objects.references import references
from podherd.machines.pod import events as heard
from podherd.machines.pod import instructions as told
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import Event, Started
from podherd.machines.sources.instructions import Instruction, Upsert
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.sources.apiserver import ApiSource
from podherd.wire import codec
from podherd.wire.desired import Desired
from podherd.wire.node import NodeFacts, RuntimeState
from podherd.wire.objects import Needs
from podherd.wire.observed import ObservedRoster

Object = dict[str, Any]
FACTS = NodeFacts("n1", "", False, {"zone": "a"}, {}, (), {}, {"cpu": "2", "memory": "4Gi", "pods": "110"})
SETTINGS = Settings("n1", Path("/none"), "unix:///none")
HOST = Host(memory_bytes=4 << 30, cpu_milli=2000, resolv_conf="nameserver 192.0.2.1\n", ips=("192.0.2.1",))


class NoServer:
    """In the place of a client: nobody asks it for anything."""

    async def follow(self, *_: Any) -> None:
        """Tell nothing."""
        await asyncio.Event().wait()


class Way:
    """The source, the sources' machine, admission and a shard's machine, one after the other."""

    def __init__(self) -> None:
        self._heard: list[Event] = []
        self._source = ApiSource(NoServer(), "n1", self._heard.append, lambda: 1.0)  # type: ignore[arg-type]
        self._sources = SourcesMachine(1, ("api",), Admission())
        self._shard = ShardMachine(Policy(node_name="n1", host_ips=HOST.ips))
        self._sources.handle(0.0, Started(), FACTS)
        runtime = RuntimeState(runtime_ready=True, network_ready=True, message="", cgroup_driver="")
        self._shard.handle(0.0, ObservedRoster((), 0.0), runtime)

    def tell(self, news: News) -> dict[str, Desired]:
        """What shards are told of this news, by uid. Raises whatever goes wrong: the actor would end by it."""
        self._source.hear(news)
        events, self._heard[:] = list(self._heard), []
        answer: list[Instruction] = self._sources.handle(1.0, *events)
        return {each.message.uid: each.message for each in answer if isinstance(each, Upsert)}

    def decide(self, desired: Desired) -> list[told.Instruction]:
        """What the shard has done for it; raises what the machine caught as a fault of its own."""
        wanted = wanted_of(desired)
        assert isinstance(wanted, heard.Wanted), wanted
        answer = self._shard.handle(1.0, wanted)
        for each in answer:
            if isinstance(each, told.Fault):
                raise each.error
            if isinstance(each, told.Publish):
                codec.pack(each.status)
                json.dumps(each.status).encode()
        return answer


def carried_out(pod: Pod) -> Iterator[str]:
    """Why parts of it cannot be had here; anything else that is thrown would be a fault."""
    codec.encode("pod_shard-0", [Needs(pod.uid, references(pod))])
    try:
        list(cautions(pod, SETTINGS, HOST))
        sandbox_config(pod, 0, SETTINGS, "/kubepods/pod", host=HOST)
    except PodherdError as error:
        yield str(error)
    for container in pod.every_container:
        try:
            container_config(pod, container, 0, "sha256:1", SETTINGS, host=HOST, pod_ips=("192.0.2.9",))
        except PodherdError as error:
            yield str(error)


def good(name: str = "good") -> Object:
    """A pod that there is nothing against."""
    meta = {"uid": f"u-{name}", "namespace": "default", "name": name, "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z"}  # fmt: skip
    return {"metadata": meta, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "x:1"}]}}


def rich() -> Object:
    """A pod that uses much of what a pod may say."""
    found: Object = json.loads((Path(__file__).parent / "rich_pod.json").read_bytes())
    return found


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in the object but its own."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield (*path, name)
        yield from places(each, (*path, name))


def with_junk(item: Object, path: tuple[str | int, ...], junk: Any) -> Object:
    """A copy in which something else stands at this place."""
    made = copy.deepcopy(item)
    holder: Any = made
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = junk
    return made


def survived(item: Object) -> str:
    """Take the object all the way, beside a good one; why it does not run, in the node's words, or empty."""
    way, beside = Way(), good()
    found = way.tell(Listed([item, beside]))
    safe = found.pop("u-good")
    assert (safe.refused, safe.name) == ("", "good")
    why = [text for desired in found.values() for text in _decided(way, desired)]
    assert any(isinstance(each, told.Sync) for each in way.decide(safe))
    again = {**item, "metadata": {**_mapping(item.get("metadata")), "resourceVersion": "2"}}
    way.tell(Put(again))
    way.tell(Dropped(again))
    assert way.tell(Put({**beside, "metadata": {**beside["metadata"], "resourceVersion": "9"}})) == {}
    return "; ".join(why)


def _decided(way: Way, desired: Desired) -> Iterator[str]:
    way.decide(desired)
    if desired.refused:
        yield f"{desired.refused}: {desired.refused_message}"
        return
    wanted = wanted_of(replace(desired))
    assert isinstance(wanted, heard.Wanted)
    yield from carried_out(wanted.pod)


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
