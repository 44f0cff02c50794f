"""The objects actor against an API server that is scripted: what is followed, refused, fetched and told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.objects import ObjectsActor
from podherd.errors import ApiError
from podherd.kube.door import Api, Body, Dropped, Listed, News, Put, Query, Trouble
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.objects import Needs, ObjectState, Ref

SECRET = Ref("Secret", "shop", "key")
PATH = "/api/v1/namespaces/shop/secrets"
DETAIL = '{"audience":"vault","expirationSeconds":600,"pod":{"name":"web","uid":"u1"}}'
TOKEN = Ref("ServiceAccountToken", "shop", "robot", DETAIL)
BUNDLES = {"resources": [{"name": "clustertrustbundles"}]}
SHARDS = ("pod_shard-0", "pod_shard-1")


def key(value: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "key", "namespace": "shop"}, "data": {"k": value}, **more}


class Script(Api):
    """Follows stand open; the test tells into them by path. Refuses the first `refusals` of them."""

    def __init__(self) -> None:
        self.told: dict[str, Callable[[News], None]] = {}
        self.begun: list[tuple[str, Query]] = []
        self.refusals = 0
        self.gets: list[str] = []
        self.posts: list[tuple[str, Body]] = []
        self.answers: dict[str, dict[str, Any] | ApiError] = {}
        self.closed = False

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:
        self.begun.append((path, dict(query)))
        if self.refusals:
            self.refusals -= 1
            told(Trouble("no relationship found", 403))
        self.told[path] = told
        try:
            await asyncio.Event().wait()
        finally:
            if self.told.get(path) is told:
                del self.told[path]

    async def get(self, path: str, _query: Query | None = None) -> dict[str, Any]:
        self.gets.append(path)
        return self._answer(path)

    async def create(self, path: str, body: Body, _query: Query | None = None) -> dict[str, Any]:
        self.posts.append((path, body))
        return self._answer(path)

    def _answer(self, path: str) -> dict[str, Any]:
        answer = self.answers.get(path) or ApiError(path, 404, "NotFound", f"{path} not found")
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def close(self) -> None:
        self.closed = True


class Shard:
    """Keeps what it was sent."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def deliver(self, frame: bytes) -> None:
        self.heard.extend(codec.decode(frame).messages)

    @property
    def states(self) -> list[ObjectState]:
        return [each for each in self.heard if isinstance(each, ObjectState)]


class Stage:
    """The actor between shards and script."""

    def __init__(self, actor: ObjectsActor, api: Script, shards: list[Shard]) -> None:
        self.actor, self.api, self.shards = actor, api, shards

    async def need(self, *refs: Ref, uid: str = "u1", shard: int = 0) -> None:
        await self.actor.deliver(codec.encode(SHARDS[shard], [Needs(uid, refs)]))

    async def heard(self, count: int, shard: int = 0) -> list[ObjectState]:
        await until(lambda: len(self.shards[shard].states) >= count)
        return self.shards[shard].states

    async def tell(self, *news: News, path: str = PATH) -> None:
        await until(lambda: path in self.api.told)
        for each in news:
            self.api.told[path](each)


@asynccontextmanager
async def staged(root: Path, **settings: Any) -> AsyncIterator[Stage]:
    bus, api, shards = LocalBus(), Script(), [Shard(), Shard()]
    for name, shard in zip(SHARDS, shards, strict=True):
        bus.join(name, shard)
    node = Settings("n1", root, "unix:///none", **settings)
    actor = ObjectsActor("objects", node, bus, api=api)
    await actor.start()
    try:
        yield Stage(actor, api, shards)
    finally:
        await actor.stop()
    assert api.closed


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as made:
        yield made


async def test_it_asks_every_shard_what_it_needs(stage: Stage) -> None:
    await until(lambda: all(Hello("objects") in shard.heard for shard in stage.shards))


async def test_two_pods_of_two_shards_share_one_follow_of_one_object(stage: Stage) -> None:
    await stage.need(SECRET)
    await stage.need(SECRET, uid="u2", shard=1)
    await stage.tell(Listed([key("MQ==")]))
    for shard in (0, 1):
        (state,) = await stage.heard(1, shard)
        assert codec.unpack(state.body)["data"] == {"k": "MQ=="}
    assert stage.api.begun == [(PATH, {"fieldSelector": "metadata.name=key"})]


async def test_changes_and_the_end_of_an_object_are_told(stage: Stage) -> None:
    await stage.need(SECRET)
    await stage.tell(Listed([]))
    assert [(each.problem, each.missing) for each in await stage.heard(1)] == [('secret "key" not found', True)]
    await stage.tell(Put(key("MQ==")))
    await stage.heard(2)
    await stage.tell(Put(key("Mg==")), Dropped(key("Mg==")))
    assert (await stage.heard(3))[-1].missing


async def test_refusals_right_after_binding_are_tried_again_at_once_and_not_told(stage: Stage) -> None:
    stage.api.refusals = 2
    await stage.need(SECRET)
    await until(lambda: len(stage.api.begun) == 3)
    await stage.tell(Listed([key("MQ==")]))
    (state,) = await stage.heard(1)
    assert state.body


async def test_an_immutable_object_is_not_followed_further(stage: Stage) -> None:
    await stage.need(SECRET)
    await stage.tell(Listed([key("MQ==", immutable=True)]))
    await stage.heard(1)
    await until(lambda: not stage.api.told)


async def test_an_absent_server_takes_nothing_away(stage: Stage) -> None:
    await stage.need(SECRET)
    await stage.tell(Listed([key("MQ==")]))
    await stage.heard(1)
    await stage.tell(Trouble("connection refused"), Trouble(""), Put(key("Mg==")))
    assert [bool(each.body) for each in await stage.heard(2)] == [True, True]


async def test_a_token_is_asked_for_the_pod_and_its_audience(stage: Stage) -> None:
    path = "/api/v1/namespaces/shop/serviceaccounts/robot/token"
    status = {"token": "t", "expirationTimestamp": "2100-01-01T00:00:00Z"}
    stage.api.answers[path] = {"status": status}
    await stage.need(TOKEN)
    (state,) = await stage.heard(1)
    assert codec.unpack(state.body) == status
    ((posted, body),) = stage.api.posts
    assert posted == path
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u1"}
    assert body["spec"] == {"audiences": ["vault"], "expirationSeconds": 600, "boundObjectRef": pod}


async def test_an_account_that_is_not_there_is_told_and_asked_for_again(stage: Stage) -> None:
    path = "/api/v1/namespaces/shop/serviceaccounts/robot/token"
    stage.api.answers[path] = ApiError(path, 404, "NotFound", 'serviceaccounts "robot" not found')
    await stage.need(TOKEN)
    (state,) = await stage.heard(1)
    assert state.problem == 'failed to fetch token: serviceaccounts "robot" not found'
    stage.api.answers[path] = {"status": {"token": "t", "expirationTimestamp": "2100-01-01T00:00:00Z"}}
    assert (await stage.heard(2))[-1].body


async def test_claims_are_fetched_since_no_node_may_watch_them(stage: Stage) -> None:
    path = "/api/v1/namespaces/shop/persistentvolumeclaims/data"
    stage.api.answers[path] = {"metadata": {"name": "data"}, "status": {"phase": "Bound"}}
    await stage.need(Ref("PersistentVolumeClaim", "shop", "data"), Ref("PersistentVolume", "", "pv1"))
    states = {each.of.kind: each for each in await stage.heard(2)}
    assert codec.unpack(states["PersistentVolumeClaim"].body)["status"] == {"phase": "Bound"}
    assert states["PersistentVolume"].problem == 'persistentvolumes "pv1" not found'
    assert stage.api.begun == []


async def test_services_of_all_namespaces_are_one_follow(stage: Stage) -> None:
    await stage.need(Ref("Services", "shop", ""), Ref("Services", "default", ""))
    service = {"metadata": {"name": "db", "namespace": "shop"}, "spec": {"clusterIP": "10.0.0.9", "ports": []}}
    await stage.tell(Listed([service]), path="/api/v1/services")
    told = {each.of.namespace: codec.unpack(each.body) for each in await stage.heard(2)}
    assert [each["metadata"]["name"] for each in told["shop"]] == ["db"]
    assert told["default"] == []
    assert stage.api.begun == [("/api/v1/services", {})]


async def test_bundles_of_a_signer_are_told_together(stage: Stage) -> None:
    detail = '{"labelSelector":{"matchLabels":{"a":"b"}},"signerName":"x.test/y"}'
    path = "/apis/certificates.k8s.io/v1/clustertrustbundles"
    stage.api.answers["/apis/certificates.k8s.io/v1"] = BUNDLES
    await stage.need(Ref("ClusterTrustBundle", "", "", detail))
    await stage.tell(Listed([{"metadata": {"name": "b"}}, {"metadata": {"name": "a"}}]), path=path)
    (state,) = await stage.heard(1)
    assert [each["metadata"]["name"] for each in codec.unpack(state.body)["items"]] == ["a", "b"]
    assert stage.api.begun == [(path, {"fieldSelector": "spec.signerName=x.test/y", "labelSelector": "a=b"})]


async def test_without_watching_objects_are_fetched(tmp_path: Path) -> None:
    async with staged(tmp_path, object_changes="Get") as stage:
        stage.api.answers[f"{PATH}/key"] = key("MQ==")
        await stage.need(SECRET)
        assert (await stage.heard(1))[0].body
        assert stage.api.begun == []


async def test_bundles_are_followed_in_the_version_that_the_server_has_asked_for_once(stage: Stage) -> None:
    stage.api.answers["/apis/certificates.k8s.io/v1"] = {"resources": [{"name": "certificatesigningrequests"}]}
    stage.api.answers["/apis/certificates.k8s.io/v1beta1"] = BUNDLES
    path = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"
    await stage.need(Ref("ClusterTrustBundle", "", "a"))
    await stage.tell(Listed([{"metadata": {"name": "a"}}]), path=path)
    assert (await stage.heard(1))[0].body
    await stage.need(Ref("ClusterTrustBundle", "", "b"), uid="u2")
    await until(lambda: len(stage.api.begun) == 2)
    assert [begun for begun, _ in stage.api.begun] == [path, path]
    assert stage.api.gets == ["/apis/certificates.k8s.io/v1", "/apis/certificates.k8s.io/v1beta1"]


async def test_a_server_that_is_away_is_asked_again_which_version_it_has(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.actors.objects.RETRY_S", 0.001)
    root = "/apis/certificates.k8s.io/v1"
    stage.api.answers[root] = ApiError(root, 0, "", "connection refused")
    await stage.need(Ref("ClusterTrustBundle", "", "a"))
    assert "connection refused" in (await stage.heard(1))[0].problem
    stage.api.answers[root] = BUNDLES
    await stage.tell(Listed([{"metadata": {"name": "a"}}]), path=f"{root}/clustertrustbundles")
    assert (await stage.heard(2))[-1].body


async def test_a_certificate_is_asked_for_with_the_uids_of_account_and_node(stage: Stage) -> None:
    root = "/apis/certificates.k8s.io/v1/namespaces/shop/podcertificaterequests"
    chain = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    times = {"beginRefreshAt": "2100-01-01T00:00:00Z", "notAfter": "2100-01-01T01:00:00Z"}
    status = {"conditions": [{"type": "Issued"}], "certificateChain": chain, **times}
    stage.api.answers |= {
        "/api/v1/namespaces/shop/serviceaccounts/robot": {"metadata": {"uid": "sa"}},
        "/api/v1/nodes/n1": {"metadata": {"uid": "no"}},
        root: {"metadata": {"name": "req-1"}},
        f"{root}/req-1": {"metadata": {"name": "req-1"}, "status": status},
    }
    detail = '{"keyType":"ED25519","pod":{"name":"web","uid":"u1"},"signerName":"x.test/y"}'
    await stage.need(Ref("PodCertificate", "shop", "robot", detail))
    await until(lambda: any(each.body for each in stage.shards[0].states))
    first, last = stage.shards[0].states
    assert first.problem == "credential bundle is not issued yet"
    assert codec.unpack(last.body)["chain"] == chain
    ((path, body),) = stage.api.posts
    assert (path, body["spec"]["serviceAccountUID"], body["spec"]["nodeUID"]) == (root, "sa", "no")


async def test_a_signer_that_denies_is_told_and_not_asked_again(stage: Stage) -> None:
    detail = '{"keyType":"DSA","pod":{"name":"web","uid":"u1"},"signerName":"x.test/y"}'
    stage.api.answers["/api/v1/namespaces/shop/serviceaccounts/robot"] = {"metadata": {"uid": "sa"}}
    stage.api.answers["/api/v1/nodes/n1"] = {"metadata": {"uid": "no"}}
    await stage.need(Ref("PodCertificate", "shop", "robot", detail))
    await until(lambda: 'unknown key type "DSA"' in [each.problem for each in stage.shards[0].states])
    assert stage.api.posts == []
