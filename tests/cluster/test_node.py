"""The node actor against a real API server: it registers as its own user, reports, and keeps its Lease."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.actors.conftest import Ear
from tests.kit.cluster import ControlPlane, KubectlError
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.node import NodeActor
from podherd.actors.roster import actor_names
from podherd.model.settings import Settings
from podherd.wire.control import Hello
from podherd.wire.node import NodeFacts, PlegHealth
from podherd.wire.status import NodeEvent

LONG_S = 30.0


@pytest.fixture(scope="module")
def hollow() -> Iterator[Hollow]:
    with own_hollow("--image", "img:1") as runtime:
        yield runtime


class Stand:
    """A node actor, all other actors being ears."""

    def __init__(self, settings: Settings) -> None:
        names = actor_names(settings.shards, serves_api=True)
        bus = LocalBus(names)
        self.ears = {name: Ear() for name in names}
        for name, ear in self.ears.items():
            bus.join(name, ear)
        self.node = NodeActor("node", settings, bus)

    def healthy(self) -> None:
        """As the PLEG tells after each list."""
        self.node.receive("pleg", [PlegHealth(self.node.clock(), 0.01, 0, 0, ())])

    def events(self) -> list[str]:
        """Reasons of what was recorded about the node."""
        return [event.reason for event in self.ears["events"].of(NodeEvent)]

    def facts(self) -> NodeFacts:
        """What the sources know of the node."""
        found: list[NodeFacts] = self.ears["sources"].of(NodeFacts)
        return found[-1]


@asynccontextmanager
async def running(settings: Settings) -> Any:
    """The stand, its PLEG well."""
    stand = Stand(settings)
    await stand.node.start()
    stand.healthy()
    try:
        yield stand
    finally:
        await stand.node.stop()


@pytest.fixture
def settings_of(control_plane: ControlPlane, hollow: Hollow, tmp_path: Path) -> Iterator[Callable[..., Settings]]:
    """Settings of nodes by name. Their objects go with the test: a node that says Ready is given other tests' pods."""
    names = list[str]()

    def made(name: str, **more: Any) -> Settings:
        names.append(name)
        settings = Settings(
            node_name=name, root_dir=tmp_path, runtime_endpoint=hollow.endpoint, node_ips=("192.0.2.7",), journal_mb=0,
            kubeconfig=control_plane.node_kubeconfig(name), node_labels=(("disk", "ssd"),), node_lease_s=1,
            node_taints=(("dedicated", "test", "NoSchedule"),), node_status_update_s=0.2,
        )  # fmt: skip
        return replace(settings, **more)

    yield made
    control_plane.kubectl("delete", "nodes", "--ignore-not-found", *names)


async def seen(control_plane: ControlPlane, *what: str) -> dict[str, Any]:
    """An object; nothing where there is none."""
    try:
        return await asyncio.to_thread(control_plane.get, *what)
    except KubectlError:
        return {}


def is_ready(node: dict[str, Any]) -> bool:
    """Whether a Node says so."""
    told = node.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in told)


async def wait_for(
    control_plane: ControlPlane, what: tuple[str, ...], done: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    """The object once it is as wanted."""
    found: dict[str, Any] = {}

    async def look() -> bool:
        nonlocal found
        found = await seen(control_plane, *what)
        return bool(done(found))

    await until(look, LONG_S)
    return found


async def ready(control_plane: ControlPlane, name: str) -> dict[str, Any]:
    """The Node once it says Ready."""
    return await wait_for(control_plane, ("node", name), is_ready)


async def test_a_node_registers_as_its_own_user_and_becomes_ready(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    async with running(settings_of("reg-1")) as stand:
        node = await ready(control_plane, "reg-1")
        status = node["status"]
        assert node["metadata"]["labels"]["disk"] == "ssd"
        assert node["metadata"]["annotations"]["volumes.kubernetes.io/controller-managed-attach-detach"] == "true"
        assert {"key": "dedicated", "value": "test", "effect": "NoSchedule"} in node["spec"]["taints"]
        assert {"type": "InternalIP", "address": "192.0.2.7"} in status["addresses"]
        assert [each["type"] for each in status["conditions"]] == [
            "MemoryPressure", "DiskPressure", "PIDPressure", "Ready",
        ]  # fmt: skip
        assert status["capacity"]["pods"] == "110"
        assert status["allocatable"]["memory"] != status["capacity"]["memory"]
        assert status["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250
        assert status["nodeInfo"]["kubeletVersion"].startswith("v1.37.")
        await until(lambda: stand.ears["sources"].of(NodeFacts) and stand.facts().uid == node["metadata"]["uid"])
        await until(lambda: "NodeReady" in stand.events())
        assert stand.events()[0] == "Starting"
        assert {"NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"} <= set(stand.events())


async def test_the_lease_is_owned_by_the_node_and_renewed(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    async with running(settings_of("lease-1")):
        node = await ready(control_plane, "lease-1")
        times = set[str]()
        async with asyncio.timeout(LONG_S):
            while len(times) < 3:
                lease = await seen(control_plane, "lease", "-n", "kube-node-lease", "lease-1")
                times |= {lease["spec"]["renewTime"]} if lease else set()
        assert lease["spec"]["holderIdentity"] == "lease-1"
        assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_a_lease_that_somebody_took_away_or_changed_is_held_again(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    where = ("lease", "-n", "kube-node-lease", "lease-2")
    async with running(settings_of("lease-2")):
        await ready(control_plane, "lease-2")
        first = await wait_for(control_plane, where, bool)
        patch = '{"spec": {"holderIdentity": "thief"}}'
        await asyncio.to_thread(control_plane.kubectl, "patch", *where, "--type=merge", "-p", patch)
        held = await wait_for(control_plane, where, lambda it: it and it["spec"]["holderIdentity"] == "lease-2")
        assert held["metadata"]["uid"] == first["metadata"]["uid"]
        await asyncio.to_thread(control_plane.kubectl, "delete", *where)
        await wait_for(control_plane, where, lambda it: it and it["metadata"]["uid"] != held["metadata"]["uid"])


async def test_a_node_that_begins_anew_adopts_its_object_and_stays_ready(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    settings = settings_of("again-1")
    async with running(settings):
        first = await ready(control_plane, "again-1")
    edit = ("label", "node", "again-1", "--overwrite", "kubernetes.io/os=plan9", "disk=hdd", "own=x")
    await asyncio.to_thread(control_plane.kubectl, *edit)
    async with running(settings) as stand:
        told = stand.ears["sources"]
        await until(lambda: told.of(NodeFacts) and stand.facts().uid)
        await until(lambda: stand.facts().labels.get("kubernetes.io/os") == "linux")
        labels = stand.facts().labels
        assert (labels["own"], labels["disk"]) == ("x", "hdd")
        again = await ready(control_plane, "again-1")
    assert again["metadata"]["uid"] == first["metadata"]["uid"]
    turned = [
        next(each["lastTransitionTime"] for each in node["status"]["conditions"] if each["type"] == "Ready")
        for node in (first, again)
    ]
    assert turned[0] == turned[1]
    assert not {"NodeReady", "NodeNotReady"} & set(stand.events())


async def test_a_node_that_is_not_to_register_reports_on_the_object_that_somebody_made(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    async with running(settings_of("given-1", register_node=False)) as stand:
        await until(lambda: stand.ears["sources"].of(NodeFacts))
        assert not await seen(control_plane, "node", "given-1")
        made = "apiVersion: v1\nkind: Node\nmetadata: {name: given-1}\n"
        await asyncio.to_thread(control_plane.apply, made)
        node = await ready(control_plane, "given-1")
        assert node["metadata"].get("labels", {}).get("disk") is None
        await until(lambda: stand.facts().uid == node["metadata"]["uid"])


async def test_resources_that_others_tell_of_may_be_used_and_what_they_write_over_is_put_right(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    """As Kubernetes documents it: whoever has an extended resource writes its capacity, and the node the rest."""
    async with running(settings_of("extended-1")) as stand:
        first = await ready(control_plane, "extended-1")
        memory = first["status"]["capacity"]["memory"]
        patch = '{"status": {"capacity": {"example.com/dongle": "4", "memory": "1Ki"}}}'
        edit = ("patch", "node", "extended-1", "--subresource=status", "--type=merge", "-p", patch)
        await asyncio.to_thread(control_plane.kubectl, *edit)
        told = await wait_for(
            control_plane, ("node", "extended-1"), lambda it: it["status"]["allocatable"].get("example.com/dongle")
        )
        assert told["status"]["allocatable"]["example.com/dongle"] == "4"
        await wait_for(control_plane, ("node", "extended-1"), lambda it: it["status"]["capacity"]["memory"] == memory)
        await until(lambda: stand.facts().allocatable.get("example.com/dongle") == "4")
        patch = '{"status": {"capacity": {"example.com/dongle": null}}}'
        edit = ("patch", "node", "extended-1", "--subresource=status", "--type=merge", "-p", patch)
        await asyncio.to_thread(control_plane.kubectl, *edit)
        await wait_for(
            control_plane, ("node", "extended-1"), lambda it: "example.com/dongle" not in it["status"]["allocatable"]
        )


async def test_a_node_that_the_cluster_gave_up_is_ready_again_at_its_next_report(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    async with running(settings_of("given-up-1")) as stand:
        await ready(control_plane, "given-up-1")
        patch = '{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}'
        edit = ("patch", "node", "given-up-1", "--subresource=status", "--type=strategic", "-p", patch)
        await asyncio.to_thread(control_plane.kubectl, *edit)
        await until(lambda: stand.events().count("NodeReady") == 2)
        await ready(control_plane, "given-up-1")


async def test_who_greets_is_told_the_facts_and_a_label_that_changes_is_told_to_all(
    control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    async with running(settings_of("facts-1")) as stand:
        await ready(control_plane, "facts-1")
        for name in ("sources", "status", "events", "pod_shard-0"):
            stand.ears[name].heard.clear()
            stand.node.receive(name, [Hello(name)])
            await until(lambda name=name: stand.ears[name].of(NodeFacts))
        await asyncio.to_thread(control_plane.kubectl, "label", "node", "facts-1", "zone=z9")
        for name in ("sources", "status", "events", "pod_shard-1"):
            await until(
                lambda name=name: [each for each in stand.ears[name].of(NodeFacts) if each.labels.get("zone") == "z9"]
            )


async def test_a_node_lives_through_an_api_server_that_is_away(
    own_control_plane: ControlPlane, settings_of: Callable[..., Settings]
) -> None:
    plane = own_control_plane
    settings = settings_of("away-1", kubeconfig=plane.node_kubeconfig("away-1"))
    await asyncio.to_thread(plane.stop_api)
    async with running(settings) as stand:
        await until(lambda: stand.ears["sources"].of(NodeFacts))
        await asyncio.to_thread(plane.start_api)
        first = await ready(plane, "away-1")
        await asyncio.to_thread(plane.stop_api)
        stand.node.receive("pleg", [PlegHealth(0.0, 0.01, 0, 0, ())])
        await until(lambda: "NodeNotReady" in stand.events())
        stand.healthy()
        await asyncio.to_thread(plane.start_api)
        where = ("lease", "-n", "kube-node-lease", "away-1")
        lease = await wait_for(plane, where, bool)
        await wait_for(plane, where, lambda it: it and it["spec"]["renewTime"] != lease["spec"]["renewTime"])
        again = await ready(plane, "away-1")
        assert again["metadata"]["uid"] == first["metadata"]["uid"]
