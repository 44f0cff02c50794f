"""The pod shard on an in-process bus and a real hollow runtime: pods start, change, restart and go."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.actors import pod_shard
from podherd.actors.local_bus import LocalBus
from podherd.actors.pod_shard import PodShardActor
from podherd.cri.client import Cri
from podherd.cri.convert.observed import observed
from podherd.errors import CriError, RuntimeRefusedError
from podherd.journal.inputs import wanted_of
from podherd.machines.pod import advance
from podherd.machines.pod import instructions as told
from podherd.machines.pod.events import Unreadable
from podherd.model.keys import POD_NAME, POD_NAMESPACE, POD_UID, shard_of
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Drain, Drained, Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster, Reinspect
from podherd.wire.status import PodEvent, PodForgotten, StatusChanged

IMAGE = "reg.test/web:1"
SHARD = "pod_shard-0"


class End:
    """A test's end of the bus: keeps what it is sent and lets a test wait for a condition on it."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._changed = asyncio.Event()

    async def deliver(self, frame: bytes) -> None:
        messages = codec.decode(frame).messages
        self.heard += messages
        for message in messages:
            await self.react(message)
        self._changed.set()

    async def react(self, message: Any) -> None:
        """What this end does by itself."""

    async def until(self, condition: Callable[[], Any], within_s: float = 20.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.heard if isinstance(message, kind)]


class Looker(End):
    """A PLEG that inspects a pod when it is asked to, and everything when told to."""

    def __init__(self, herd: "Herd") -> None:
        super().__init__()
        self._herd = herd
        self.rosters = 0

    async def react(self, message: Any) -> None:
        with suppress(CriError):
            if isinstance(message, Reinspect):
                await self.look(lambda uid: uid == message.uid, [message])
            elif isinstance(message, Hello):
                await self.look_at_all()

    async def look_at_all(self) -> None:
        at = self._herd.clock()
        uids = await self.look(lambda _uid: True, [])
        await self._herd.tell("pleg", ObservedRoster(tuple(uids), at))
        self.rosters += 1

    async def look(self, wanted: Callable[[str], bool], asked: list[Reinspect]) -> list[str]:
        at, cri = self._herd.clock(), self._herd.cri
        sandboxes = pb.ListPodSandboxResponse.FromString(await cri.list_sandboxes_raw()).items
        containers = pb.ListContainersResponse.FromString(await cri.list_containers_raw()).containers
        pods = {one.labels[POD_UID]: (one.labels[POD_NAMESPACE], one.labels[POD_NAME]) for one in sandboxes}
        found: list[Any] = [
            Observed(one.uid, one.namespace, one.name, at, (), ()) for one in asked if one.uid not in pods
        ]
        for uid in filter(wanted, pods):
            held = [(await cri.sandbox_status(one.id)).status for one in sandboxes if one.labels[POD_UID] == uid]
            mine = [one for one in containers if one.labels[POD_UID] == uid]
            try:
                seen = [(one.pod_sandbox_id, await cri.container_status(one.id)) for one in mine]
            except CriError:
                continue
            found.append(observed(uid, *pods[uid], at, held, seen))
        await self._herd.tell("pleg", *found)
        return list(pods)


class Herd:
    """The shard, its neighbours and the runtime."""

    def __init__(self, runtime: Hollow, root: Path) -> None:
        self.settings = Settings(
            node_name="n1",
            root_dir=root / "root",
            runtime_endpoint=runtime.endpoint,
            pod_logs_dir=root / "log" / "pods",
            cgroup_root="/podherd-test-none",
            pull_qps=0,
        )
        self.ahead_s = 0.0
        self.bus = LocalBus(("sources", "pleg", "node", "server", SHARD))
        self.cri = Cri(runtime.endpoint)
        self.server, self.sources, self.node, self.pleg = End(), End(), End(), Looker(self)
        for name in ("server", "sources", "node", "pleg"):
            self.bus.join(name, getattr(self, name))

    def clock(self) -> float:
        return time.time() + self.ahead_s

    async def begin(self) -> None:
        self.shard = PodShardActor(SHARD, self.settings, self.bus, self.clock)
        await self.shard.start()
        self.bus.join(SHARD, self.shard)
        rosters = self.pleg.rosters
        await self.node.until(lambda: self.node.of(Hello))
        await self.pleg.until(lambda: self.pleg.rosters > rosters)
        await self.tell("node", RuntimeState(True, True, "", "cgroupfs"))

    async def end(self) -> None:
        self.bus.leave(SHARD)
        await self.shard.stop()

    async def tell(self, sender: str, *messages: Any) -> None:
        if messages:
            await self.bus.deliver(SHARD, codec.encode(sender, messages))

    async def want(self, *bodies: dict[str, Any]) -> None:
        desired = [
            Desired(meta["uid"], meta["namespace"], meta["name"], "file", codec.pack(body), "test")
            for body in bodies
            for meta in (body["metadata"],)
        ]
        await self.tell("sources", *desired, Roster(tuple(one.uid for one in desired), True))

    def statuses(self) -> dict[str, StatusChanged]:
        """The newest by uid, without those forgotten."""
        newest: dict[str, StatusChanged] = {}
        for message in self.server.heard:
            if isinstance(message, StatusChanged):
                newest[message.uid] = message
            elif isinstance(message, PodForgotten):
                newest.pop(message.uid, None)
        return newest

    def phases(self) -> dict[str, str]:
        return {uid: status.phase for uid, status in self.statuses().items()}

    async def until_phases(self, **phases: str) -> None:
        await self.server.until(lambda: self.phases() == phases)

    def reasons(self, uid: str) -> list[str]:
        return [event.reason for event in self.server.of(PodEvent) if event.uid == uid]

    async def containers(self) -> list[pb.Container]:
        return list(pb.ListContainersResponse.FromString(await self.cri.list_containers_raw()).containers)


def body_of(uid: str, name: str = "web", image: str = IMAGE, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "app",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "uid": uid,
            "name": name,
            "namespace": "shop",
            "annotations": {"kubernetes.io/config.source": "file"},
        },
        "spec": {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 1,
            "dnsPolicy": "Default",
            "containers": [container],
            **spec,
        },
    }


@pytest.fixture
def runtime() -> Iterator[Hollow]:
    with own_hollow("--image", IMAGE, "--log-dir-writes") as hollow:
        yield hollow


@pytest.fixture
async def herd(runtime: Hollow, tmp_path: Path) -> AsyncIterator[Herd]:
    one = Herd(runtime, tmp_path)
    await one.begin()
    yield one
    await one.end()
    await one.cri.close()


async def test_fifty_pods_start_change_and_go(herd: Herd) -> None:
    names = [f"web-{n}" for n in range(50)]
    await herd.want(*(body_of(f"u-{name}", name) for name in names))
    await herd.until_phases(**{f"u-{name}": "Running" for name in names})
    assert len(await herd.containers()) == 50
    assert herd.reasons("u-web-7") == ["Pulled", "Created", "Started"]

    # An edit of a static pod is a new uid under the same full name: the old one ends, then the new one starts.
    edited = [body_of(f"v-{name}", name, terminationGracePeriodSeconds=2) for name in names[:5]]
    await herd.want(*edited, *(body_of(f"u-{name}", name) for name in names[5:]))
    kept = {f"u-{name}": "Running" for name in names[5:]}
    await herd.until_phases(**kept, **{f"v-{name}": "Running" for name in names[:5]})
    assert herd.reasons("u-web-0")[-1] == "Killing"

    await herd.want()
    await herd.until_phases()
    assert await herd.containers() == []
    assert list(herd.settings.root_dir.glob("pods/*")) == []
    assert list(herd.settings.pod_logs_dir.iterdir()) == []
    assert list((herd.settings.pod_logs_dir.parent / "containers").iterdir()) == []


async def test_a_shard_that_begins_anew_adopts_what_runs(herd: Herd) -> None:
    await herd.want(body_of("u1"))
    await herd.until_phases(u1="Running")
    before = await herd.containers()
    await herd.end()
    herd.server.heard.clear()
    await herd.begin()
    await herd.want(body_of("u1"))
    await herd.until_phases(u1="Running")
    assert [one.id for one in await herd.containers()] == [one.id for one in before]
    assert herd.reasons("u1") == []


async def test_a_server_that_begins_anew_hears_every_status(herd: Herd) -> None:
    await herd.want(body_of("u1"), body_of("u2", "other"))
    await herd.until_phases(u1="Running", u2="Running")
    herd.server.heard.clear()
    await herd.tell("server", Hello("server"))
    await herd.until_phases(u1="Running", u2="Running")


async def test_questions_about_pods_are_answered(herd: Herd) -> None:
    await herd.want(body_of("u1"))
    args = codec.pack({"namespace": "shop", "name": "web"})
    await herd.tell("server", Ask(1, "pod", args), Ask(2, "moon", args))
    none = codec.pack({"namespace": "shop", "name": "none"})
    await herd.tell("server", Ask(3, "pod", none))
    await herd.server.until(lambda: sum(type(one).__name__ == "Answer" for one in herd.server.heard) == 3)
    answers = {one.id: one for one in herd.server.heard if type(one).__name__ == "Answer"}
    assert codec.unpack(answers[1].body)["pod"]["metadata"]["uid"] == "u1"
    assert codec.unpack(answers[1].body)["cause"] == "test"
    assert "moon" in answers[2].error
    assert answers[3].error == "no such pod on this node"


async def test_a_body_that_cannot_be_read_is_reported(herd: Herd) -> None:
    bad = Desired("u9", "shop", "bad", "file", codec.pack({"spec": {}}), "test")
    torn = Desired("u8", "shop", "torn", "file", b"\xc1", "test")
    await herd.tell("sources", bad, torn, Roster(("u9", "u8"), True))
    await herd.server.until(lambda: {event.uid for event in herd.server.of(PodEvent)} == {"u9", "u8"})
    assert {event.reason for event in herd.server.of(PodEvent)} == {"FailedValidation"}


async def test_an_instruction_that_cannot_be_performed_costs_its_own_pod_alone(
    herd: Herd, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = herd.shard._perform[told.Sync]

    def throws(sync: told.Sync) -> None:
        if sync.uid == "bad":
            raise RuntimeError("boom")
        begin(sync)

    monkeypatch.setitem(herd.shard._perform, told.Sync, throws)
    await herd.want(body_of("bad", "bad"), body_of("good", "good"))
    await herd.until_phases(bad="Pending", good="Running")
    await herd.server.until(lambda: herd.reasons("bad") == ["FailedSync"])
    monkeypatch.setitem(herd.shard._perform, told.Sync, begin)
    herd.ahead_s = 20.0
    await herd.pleg.look_at_all()
    await herd.tell("node", RuntimeState(False, True, "", "cgroupfs"), RuntimeState(True, True, "", "cgroupfs"))
    await herd.until_phases(bad="Running", good="Running")


async def test_a_pod_that_the_machine_throws_at_is_told_of_and_the_others_run(
    herd: Herd, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = advance.plan
    monkeypatch.setattr(advance, "plan", lambda case: 1 // 0 if case.record.uid == "bad" else decide(case))
    await herd.want(body_of("bad", "bad"), body_of("good", "good"))
    await herd.until_phases(good="Running")
    await herd.server.until(lambda: herd.reasons("bad") == ["FailedSync"])


async def test_a_status_that_cannot_be_packed_keeps_no_other_from_a_server_that_begins_anew(
    herd: Herd, monkeypatch: pytest.MonkeyPatch
) -> None:
    await herd.want(body_of("bad", "bad"), body_of("good", "good"))
    await herd.until_phases(bad="Running", good="Running")
    herd.server.heard.clear()
    pack = pod_shard.status_of
    monkeypatch.setattr(pod_shard, "status_of", lambda publish: 1 // 0 if publish.uid == "bad" else pack(publish))
    await herd.tell("server", Hello("server"))
    await herd.until_phases(good="Running")


async def test_a_question_that_makes_no_sense_is_answered_too(herd: Herd) -> None:
    await herd.tell("server", Ask(1, "pod", codec.pack({})))
    await herd.server.until(lambda: herd.server.of(Answer))
    assert herd.server.of(Answer)[0].error == "fault in the agent: KeyError"


@pytest.mark.parametrize("body", [None, [], {"metadata": None}, {"metadata": {"uid": "u"}, "spec": {"containers": 5}}])
def test_a_body_of_any_shape_is_a_pod_that_cannot_be_read(body: Any) -> None:
    event = wanted_of(Desired("u", "shop", "odd", "file", codec.pack(body), "test"))
    assert isinstance(event, Unreadable)


async def test_a_drain_stops_every_pod_and_says_so(herd: Herd) -> None:
    await herd.want(body_of("u1"), body_of("u2", "other"))
    await herd.until_phases(u1="Running", u2="Running")
    await herd.tell("server", Drain())
    await herd.server.until(lambda: herd.server.of(Drained))
    assert [one for one in await herd.containers() if one.state == pb.CONTAINER_RUNNING] == []


async def test_the_host_ip_of_a_status_follows_the_nodes(herd: Herd) -> None:
    await herd.tell("node", RuntimeState(True, True, "", "cgroupfs", ("192.0.2.77", "2001:db8::7")))
    await herd.want(body_of("u1"))
    await herd.until_phases(u1="Running")
    status = codec.unpack(herd.statuses()["u1"].status)
    assert status["hostIPs"] == [{"ip": "192.0.2.77"}, {"ip": "2001:db8::7"}]
    assert herd.shard._tools.host().ips == ("192.0.2.77", "2001:db8::7")


async def test_an_image_that_is_absent_is_pulled_once_for_all(herd: Herd) -> None:
    await herd.want(*(body_of(f"u{n}", f"p{n}", "reg.test/new:1") for n in range(4)))
    await herd.until_phases(**{f"u{n}": "Running" for n in range(4)})
    assert herd.reasons("u0") == ["Pulling", "Pulled", "Created", "Started"]


async def test_a_runtime_that_comes_late_is_waited_for(herd: Herd, runtime: Hollow) -> None:
    runtime.kill9()
    await herd.want(body_of("u1"))
    await herd.server.until(lambda: "FailedCreatePodSandBox" in herd.reasons("u1"))
    assert herd.phases() == {"u1": "Pending"}
    await herd.tell("node", RuntimeState(False, False, "away", ""))
    runtime.start()
    await herd.cri.wait_ready()
    herd.ahead_s = 20.0
    await herd.pleg.look_at_all()
    await herd.tell("node", RuntimeState(True, True, "", ""))
    await herd.until_phases(u1="Running")


async def test_the_name_of_a_runtime_that_was_refused_at_first_is_learnt_when_it_is_ready(
    herd: Herd, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_self: Cri, _on_wait: Any = None) -> Any:
        raise RuntimeRefusedError("unix:///cri", "it does not speak CRI v1")

    await herd.end()
    with monkeypatch.context() as patched:
        patched.setattr(Cri, "wait_ready", refused)
        herd.shard = PodShardActor(SHARD, herd.settings, herd.bus, herd.clock)
        await herd.shard.start()
        assert herd.shard._meeting is not None
        await herd.shard._meeting
    herd.bus.join(SHARD, herd.shard)
    await herd.pleg.look_at_all()
    await herd.tell("node", RuntimeState(True, True, "", "cgroupfs"))
    await herd.want(body_of("u1"))
    await herd.until_phases(u1="Running")
    status = codec.unpack(herd.statuses()["u1"].status)
    assert status["containerStatuses"][0]["containerID"].startswith("hollow://")


async def test_statuses_tell_what_the_runtime_can_and_what_the_node_refuses(herd: Herd) -> None:
    deep, bad = body_of("u1", volumes=[{"name": "v", "emptyDir": {}}]), body_of("u2", "bad")
    mount = {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "IfPossible"}
    deep["spec"]["containers"][0]["volumeMounts"] = [mount]
    bad["spec"]["securityContext"] = {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    await herd.want(deep, bad)
    await herd.until_phases(u1="Running", u2="Failed")
    status = codec.unpack(herd.statuses()["u1"].status)["containerStatuses"][0]
    assert status["volumeMounts"][0]["recursiveReadOnly"] == "Enabled"
    assert codec.unpack(herd.statuses()["u2"].status)["reason"] == "SysctlForbidden"
    assert herd.reasons("u2") == ["SysctlForbidden"]


async def test_a_wiped_runtime_does_not_overwrite_logs(herd: Herd) -> None:
    """Case STATE-3, whole: restartCount 8 is reported, `8.log` is written, the old files stay as they are."""
    logs = herd.settings.pod_log_dir("shop", "web", "u1") / "app"
    logs.mkdir(parents=True)
    old = ["0.log", "1.log", "7.log", "7.log.20260101-000000.gz", "junk.txt"]
    for name in old:
        (logs / name).write_text(name)
    await herd.want(body_of("u1"))
    await herd.until_phases(u1="Running")
    (container,) = await herd.containers()
    assert container.metadata.attempt == 8
    status = codec.unpack(herd.statuses()["u1"].status)["containerStatuses"][0]
    assert (status["restartCount"], status["containerID"]) == (8, f"hollow://{container.id}")
    assert sorted(path.name for path in logs.iterdir()) == sorted([*old, "8.log"])
    assert {name: (logs / name).read_text() for name in old} == {name: name for name in old}


async def test_removing_a_pod_while_its_sandbox_hangs_cancels_the_start(runtime: Hollow, tmp_path: Path) -> None:
    herd = Herd(runtime, tmp_path)
    await herd.begin()
    body = body_of("u1")
    body["metadata"]["annotations"]["hollow.podherd.io/sandbox-delay"] = "3600"
    await herd.want(body)
    await herd.server.until(lambda: herd.phases() == {"u1": "Pending"})
    await herd.tell("sources", Gone("u1", "shop", "web", "file removed"), Roster((), True))
    await herd.until_phases()
    await herd.end()
    await herd.cri.close()


async def test_directories_left_behind_go_unless_somebody_wants_their_pod(runtime: Hollow, tmp_path: Path) -> None:
    herd = Herd(runtime, tmp_path)
    index = int(SHARD.rpartition("-")[2])
    names = [name for n in range(20) if shard_of("shop", name := f"old-{n}", herd.settings.shards) == index][:2]
    for name in names:
        (herd.settings.pod_dir(f"u-{name}") / "volumes").mkdir(parents=True)
        herd.settings.pod_log_dir("shop", name, f"u-{name}").mkdir(parents=True)
    lost = herd.settings.pod_dir("u-lost") / "volumes"
    lost.mkdir(parents=True)
    wanted, unwanted = names
    await herd.begin()
    await herd.want(body_of(f"u-{wanted}", wanted))
    await herd.until_phases(**{f"u-{wanted}": "Running"})
    await until(lambda: not herd.settings.pod_dir(f"u-{unwanted}").exists())
    await until(lambda: not herd.settings.pod_log_dir("shop", unwanted, f"u-{unwanted}").exists())
    assert herd.settings.pod_dir(f"u-{wanted}").exists()
    assert lost.exists()
    await herd.end()
