"""The PLEG actor against a hollow runtime."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.hollow import Hollow
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.pleg import PlegActor
from podherd.cri.client import Cri
from podherd.hollow.control import Control
from podherd.model import keys
from podherd.model.keys import shard_of
from podherd.model.settings import Settings
from podherd.wire.control import Hello
from podherd.wire.node import PlegHealth
from podherd.wire.observed import Observed, ObservedRoster, Reinspect

Herd = tuple[LocalBus, dict[str, Any]]


@pytest.fixture
async def pleg(herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings]) -> AsyncIterator[PlegActor]:
    actor = PlegActor("pleg", settings_at(hollow.endpoint), herd[0])
    yield actor
    await actor.stop()


@pytest.fixture
async def cri(hollow: Hollow) -> AsyncIterator[Cri]:
    client = Cri(hollow.endpoint)
    yield client
    await client.close()


async def make(cri: Cri, name: str) -> str:
    """A pod of one running container; its container's id."""
    labels = {keys.POD_NAME: name, keys.POD_NAMESPACE: "ns", keys.POD_UID: f"uid-{name}"}
    metadata = pb.PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="ns")
    sandbox = pb.PodSandboxConfig(metadata=metadata, labels=labels)
    box = await cri.run_sandbox(sandbox)
    config = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image="img:1"), labels=labels
    )
    ident = await cri.create_container(box, config, sandbox)
    await cri.start_container(ident)
    return ident


def seen(herd: Herd, name: str) -> list[Observed]:
    ear = herd[1][f"pod_shard-{shard_of('ns', name, 2)}"]
    return [observed for observed in ear.of(Observed) if observed.name == name]


def states(herd: Herd, name: str) -> list[str]:
    views = seen(herd, name)
    return [container.state for container in views[-1].containers] if views else []


async def test_what_was_there_is_told_then_the_roster_of_each_shard(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        await make(cri, name)
    await pleg.start()
    ears = [herd[1]["pod_shard-0"], herd[1]["pod_shard-1"]]
    await until(lambda: all(ear.of(ObservedRoster) for ear in ears))
    for shard, ear in enumerate(ears):
        mine = {f"uid-{name}" for name in names if shard_of("ns", name, 2) == shard}
        assert set(ear.of(ObservedRoster)[0].uids) == mine
        assert {observed.uid for observed in ear.heard[: -len(ear.of(ObservedRoster))]} == mine
    await until(lambda: herd[1]["server"].of(PlegHealth) and herd[1]["node"].of(PlegHealth))
    assert herd[1]["node"].of(PlegHealth)[0].sandboxes == 6


async def test_a_view_holds_what_the_runtime_tells(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    ident = await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    view = seen(herd, "web")[-1]
    (box,), (container,) = view.sandboxes, view.containers
    assert (container.id, container.sandbox_id, container.image) == (ident, box.id, "docker.io/library/img:1")
    assert box.ready
    assert box.ips


async def test_a_view_of_what_ended_holds_its_last_words(herd: Herd, pleg: PlegActor, cri: Cri, tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text("no beans")
    labels = {keys.POD_NAME: "web", keys.POD_NAMESPACE: "ns", keys.POD_UID: "uid-web"}
    sandbox = pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(name="web", uid="uid-web", namespace="ns"), labels=labels
    )
    box = await cri.run_sandbox(sandbox)
    config = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name="main"),
        image=pb.ImageSpec(image="img:1"),
        labels=labels,
        annotations={keys.CONTAINER_TERMINATION_MESSAGE_PATH: "/said", "hollow.podherd.io/exit-code": "3"},
        mounts=[pb.Mount(container_path="/said", host_path=str(said))],
    )
    await cri.start_container(await cri.create_container(box, config, sandbox))
    await pleg.start()
    await until(lambda: states(herd, "web") == ["exited"])
    (container,) = seen(herd, "web")[-1].containers
    assert (container.exit_code, container.message) == (3, "no beans")


async def test_an_exit_is_told_by_the_events_before_the_next_relist(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], cri: Cri, control: Control
) -> None:
    actor = PlegActor("pleg", replace(settings_at(hollow.endpoint), relist_s=3600.0), herd[0])
    ident = await make(cri, "web")
    await actor.start()
    await until(lambda: states(herd, "web") == ["running"])

    async def killed_and_seen() -> bool:
        # The stream may not be open yet at the first try: every restart of the wait kills another container.
        name = f"k{time.monotonic_ns()}"
        other = await make(cri, name)
        actor.receive("pod_shard-0", [Reinspect(f"uid-{name}", "ns", name, time.time())])
        await until(lambda: states(herd, name) == ["running"])
        await control.kill(container_id=other)
        try:
            await until(lambda: states(herd, name) == ["exited"], 0.5)
        except TimeoutError:
            return False
        return True

    await until(killed_and_seen)
    await control.kill(container_id=ident)
    await until(lambda: states(herd, "web") == ["exited"])
    await actor.stop()


async def test_without_events_the_relist_finds_an_exit(herd: Herd, pleg: PlegActor, cri: Cri, control: Control) -> None:
    await control.events(False)
    ident = await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    await control.kill(container_id=ident)
    await until(lambda: states(herd, "web") == ["exited"])


async def test_a_demand_is_answered_from_a_list_begun_after_it(
    herd: Herd, hollow: Hollow, settings_at: Callable[[str], Settings], cri: Cri
) -> None:
    actor = PlegActor("pleg", replace(settings_at(hollow.endpoint), relist_s=3600.0), herd[0])
    await actor.start()
    await until(lambda: herd[1]["pod_shard-0"].of(ObservedRoster))
    await make(cri, "web")
    deed_at = time.time()
    actor.receive("pod_shard-0", [Reinspect("uid-web", "ns", "web", deed_at)])
    await until(lambda: states(herd, "web") == ["running"])
    assert seen(herd, "web")[-1].at > deed_at
    await actor.stop()


async def test_a_pod_that_is_gone_is_told_empty(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    await cri.remove_sandbox(seen(herd, "web")[-1].sandboxes[0].id)
    await until(lambda: seen(herd, "web")[-1].sandboxes == ())


async def test_a_hung_pod_is_stale_and_holds_no_other(
    herd: Herd, pleg: PlegActor, cri: Cri, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case PLEG-1 on the wire."""
    monkeypatch.setattr("podherd.actors.pleg.LOOK_S", 0.4)
    names = [f"p{number}" for number in range(40)]
    idents = {name: await make(cri, name) for name in names}
    await pleg.start()
    await until(lambda: all(states(herd, name) == ["running"] for name in names))
    await control.fault("ContainerStatus", pod="p7", hang=True)
    for ident in idents.values():
        await control.kill(container_id=ident)
    await until(lambda: all(states(herd, name) == ["exited"] for name in names if name != "p7"), 4.0)
    await until(lambda: seen(herd, "p7")[-1].stale)
    assert states(herd, "p7") == ["running"]
    await until(lambda: herd[1]["server"].of(PlegHealth)[-1].stale_pods == ("uid-p7",))
    assert not any(observed.stale for name in names if name != "p7" for observed in seen(herd, name))
    await control.clear_faults()
    await until(lambda: states(herd, "p7") == ["exited"])
    assert seen(herd, "p7")[-1].stale == ""


async def test_a_runtime_that_restarts_loses_nothing(herd: Herd, pleg: PlegActor, cri: Cri, control: Control) -> None:
    ident = await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    await control.restart(0.5)
    await control.kill(container_id=ident)
    await until(lambda: states(herd, "web") == ["exited"])


async def test_two_sandboxes_keep_their_own_containers(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    first = seen(herd, "web")[-1].sandboxes[0].id
    await cri.stop_sandbox(first)
    labels = {keys.POD_NAME: "web", keys.POD_NAMESPACE: "ns", keys.POD_UID: "uid-web"}
    metadata = pb.PodSandboxMetadata(name="web", uid="uid-web", namespace="ns", attempt=1)
    second = await cri.run_sandbox(pb.PodSandboxConfig(metadata=metadata, labels=labels))
    await until(lambda: len(seen(herd, "web")[-1].sandboxes) == 2)
    view = seen(herd, "web")[-1]
    assert [box.id for box in view.sandboxes] == [second, first]
    assert [container.sandbox_id for container in view.containers] == [first]


async def test_a_shard_that_says_hello_hears_its_pods_and_the_roster(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    await make(cri, "web")
    await pleg.start()
    await until(lambda: states(herd, "web") == ["running"])
    name = f"pod_shard-{shard_of('ns', 'web', 2)}"
    await until(lambda: herd[1][name].of(ObservedRoster))
    herd[1][name].heard.clear()
    pleg.receive(name, [Hello(name)])
    await until(lambda: herd[1][name].of(ObservedRoster))
    assert [type(message) for message in herd[1][name].heard] == [Observed, ObservedRoster]


async def test_a_flood_of_events_is_left_to_the_relists(herd: Herd, pleg: PlegActor, cri: Cri) -> None:
    await pleg.start()
    await asyncio.gather(*(make(cri, f"p{number}") for number in range(60)))
    await until(lambda: all(states(herd, f"p{number}") == ["running"] for number in range(60)))


async def test_an_unforeseen_exception_of_one_look_is_a_failed_look(
    herd: Herd, pleg: PlegActor, cri: Cri, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Cri.container_status

    async def status(self: Cri, ident: str, *args: Any) -> Any:
        if ident == bad:
            raise KeyError("unforeseen")
        return await honest(self, ident, *args)

    bad, _ = await make(cri, "bad"), await make(cri, "web")
    with monkeypatch.context() as patched:
        patched.setattr(Cri, "container_status", status)
        await pleg.start()
        await until(lambda: states(herd, "web") == ["running"])
        await until(lambda: seen(herd, "bad") and "KeyError" in seen(herd, "bad")[-1].stale)
    await until(lambda: states(herd, "bad") == ["running"])


async def test_an_unforeseen_exception_of_a_relist_is_a_failed_relist(
    herd: Herd, pleg: PlegActor, cri: Cri, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    async def lists(_self: Cri, _timeout_s: float) -> bytes:
        tried.append(1.0)
        raise KeyError("unforeseen")

    await make(cri, "web")
    with monkeypatch.context() as patched:
        patched.setattr(Cri, "list_sandboxes_raw", lists)
        await pleg.start()
        await until(lambda: len(tried) >= 2)
    await until(lambda: states(herd, "web") == ["running"])


async def test_a_turn_of_its_own_that_fails_ends_the_actor(
    pleg: PlegActor, monkeypatch: pytest.MonkeyPatch, fatal: list[str]
) -> None:
    await pleg.start()
    monkeypatch.setattr(pleg._machine, "handle", lambda *_: {}["unforeseen"])
    await until(lambda: fatal)
    assert "KeyError" in fatal[0]
    monkeypatch.undo()
    fatal.clear()
