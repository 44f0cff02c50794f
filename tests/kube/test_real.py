"""The client, follows and certificates against a real kube-apiserver."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kit.waiting import until

from podherd.errors import ApiError
from podherd.kube.certificate_files import certificate_of
from podherd.kube.client import Client
from podherd.kube.connect import access_of, connect
from podherd.kube.door import MERGE, Dropped, Listed, News, Put, Trouble
from podherd.kube.resume import Resume
from podherd.kube.rotation import run_rotation
from podherd.model.settings import Settings

if TYPE_CHECKING:
    from tests.kit.cluster import ControlPlane
    from tests.kit.cluster_fixtures import Starter

MAPS = "/api/v1/namespaces/default/configmaps"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def bare(control_planes: "Starter") -> "Iterator[ControlPlane]":
    """One without controllers, which these tests may stop."""
    with control_planes("kube", controllers=False) as running:
        yield running


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    client = connect(Settings("a", Path("/nowhere"), "", kubeconfig=kubeconfig), 0, 0)
    try:
        yield client
    finally:
        await client.close()


async def user_of(client: Client) -> str:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    name: str = (await client.create(WHO, review))["status"]["userInfo"]["username"]
    return name


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_an_objects_life(control_plane: "ControlPlane") -> None:
    path = f"{MAPS}/kube-life"
    async with client_of(control_plane.admin_kubeconfig) as client:
        made = await client.create(MAPS, config_map("kube-life", a="1"))
        with pytest.raises(ApiError) as caught:
            await client.create(MAPS, config_map("kube-life"))
        assert (caught.value.status, caught.value.code) == (409, "AlreadyExists")
        await client.patch(path, {"data": {"b": "2"}})
        await client.patch(path, {"data": {"a": None}}, MERGE)
        assert (await client.get(path))["data"] == {"b": "2"}
        with pytest.raises(ApiError) as caught:
            await client.replace(path, made)
        assert (caught.value.status, caught.value.code) == (409, "Conflict")
        with pytest.raises(ApiError) as caught:
            await client.delete(path, "not-its-uid")
        assert caught.value.status == 409
        await client.delete(path, made["metadata"]["uid"])
        await client.delete(path)
        with pytest.raises(ApiError) as caught:
            await client.get(path)
        assert (caught.value.status, caught.value.code) == (404, "NotFound")


async def test_a_follow_tells_what_was_and_what_comes(control_plane: "ControlPlane") -> None:
    news: list[News] = []
    query = {"fieldSelector": "metadata.name=kube-follow"}
    async with client_of(control_plane.admin_kubeconfig) as client:
        task = asyncio.create_task(client.follow(MAPS, query, news.append))
        await until(lambda: news)
        await client.create(MAPS, config_map("kube-follow"))
        await client.patch(f"{MAPS}/kube-follow", {"data": {"a": "1"}})
        await client.delete(f"{MAPS}/kube-follow")
        await until(lambda: len(news) == 4)
        task.cancel()
    assert [type(one) for one in news] == [Listed, Put, Put, Dropped]


async def test_more_than_a_page_is_listed_whole(control_plane: "ControlPlane", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.resume.PAGE", 2)
    news: list[News] = []
    async with client_of(control_plane.admin_kubeconfig) as client:
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        every = {item["metadata"]["name"] for item in (await client.get(roles))["items"]}
        task = asyncio.create_task(client.follow(roles, {}, news.append))
        await until(lambda: news)
        task.cancel()
    assert isinstance(news[0], Listed)
    assert {item["metadata"]["name"] for item in news[0].items} >= every
    assert {(item["kind"], item["apiVersion"]) for item in news[0].items} == {
        ("ClusterRole", "rbac.authorization.k8s.io/v1")
    }


class Stale(Resume):
    """Takes its first list for one of long ago."""

    def listed(self, page: Mapping[str, Any]) -> list[News]:
        first = not self._version and not self._failures
        return super().listed({**page, "metadata": {"resourceVersion": "1"}} if first else page)


async def test_a_follow_outlives_the_server(bare: "ControlPlane") -> None:
    news: list[News] = []
    async with client_of(bare.admin_kubeconfig) as client:
        task = asyncio.create_task(client.follow(MAPS, {"fieldSelector": "metadata.name=kube-out"}, news.append))
        await until(lambda: news)
        await asyncio.to_thread(bare.stop_api)
        await until(lambda: any(isinstance(one, Trouble) for one in news))
        await asyncio.to_thread(bare.start_api)
        await client.create(MAPS, config_map("kube-out"))
        await until(lambda: any(isinstance(one, Put) for one in news) or lists_of(news)[-1].items, 60)
        task.cancel()
    assert [bool(one.reason) for one in news if isinstance(one, Trouble)] == [True, False]


async def test_a_version_that_is_too_old_is_listed_anew_in_silence(
    bare: "ControlPlane", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was started anew has no changes of before."""
    monkeypatch.setattr("podherd.kube.follow.Resume", Stale)
    await asyncio.to_thread(bare.stop_api)
    await asyncio.to_thread(bare.start_api)
    news: list[News] = []
    async with client_of(bare.admin_kubeconfig) as client:
        task = asyncio.create_task(client.follow(MAPS, {"fieldSelector": "metadata.name=kube-stale"}, news.append))
        await until(lambda: len(news) == 2)
        await client.create(MAPS, config_map("kube-stale"))
        await client.delete(f"{MAPS}/kube-stale")
        await until(lambda: len(news) == 4)
        task.cancel()
    assert [type(one) for one in news] == [Listed, Listed, Put, Dropped]


def lists_of(news: list[News]) -> list[Listed]:
    return [one for one in news if isinstance(one, Listed)]


async def test_a_certificate_file_that_changes_is_used_at_once(
    control_plane: "ControlPlane", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.kube.credentials.CHECK_S", 0.0)
    first = control_plane.authority.client("kube-first", "first")
    second = control_plane.authority.client("kube-second", "second")
    kubeconfig = control_plane.kubeconfig_for("kube-changing")
    files = control_plane.home / "kube-changing.crt", control_plane.home / "kube-changing.key"
    async with client_of(kubeconfig) as client:
        for pair, name in ((first, "first"), (second, "second")):
            for source, target in zip(pair, files, strict=True):
                copy = tmp_path / target.name
                copy.write_bytes(source.read_bytes())
                os.replace(copy, target)
            assert await user_of(client) == name


async def test_a_server_of_another_authority_is_refused(control_plane: "ControlPlane", tmp_path: Path) -> None:
    from tests.kit.certificates import Authority

    other = Authority(tmp_path)
    text = control_plane.admin_kubeconfig.read_text()
    file = tmp_path / "kubeconfig"
    file.write_text(text.replace(str(control_plane.authority.certificate), str(other.certificate)))
    async with client_of(file) as client:
        with pytest.raises(ApiError, match="TLS: ") as caught:
            await client.get("/version")
    assert caught.value.status == 0


@pytest.mark.parametrize(("name", "known"), [("kubernetes.default", True), ("elsewhere", False)])
async def test_the_servers_name_is_checked(
    control_plane: "ControlPlane", tmp_path: Path, name: str, known: bool
) -> None:
    text = control_plane.admin_kubeconfig.read_text()
    file = tmp_path / "kubeconfig"
    file.write_text(text.replace('"cluster": {', f'"cluster": {{"tls-server-name": "{name}",', 1))
    async with client_of(file) as client:
        if known:
            assert "gitVersion" in await client.get("/version")
        else:
            with pytest.raises(ApiError, match="TLS: "):
                await client.get("/version")


async def test_a_node_gets_its_first_certificate_and_renews_it(control_plane: "ControlPlane", tmp_path: Path) -> None:
    first = await asyncio.to_thread(control_plane.bootstrap_kubeconfig)
    told: list[str] = []
    settings = Settings(
        "kube-booted",
        tmp_path,
        "",
        kubeconfig=tmp_path / "kubeconfig",
        bootstrap_kubeconfig=first,
        rotate_certificates=True,
    )
    waiting = connect(settings, 0, 0)
    with pytest.raises(ApiError, match="cannot be read"):
        await waiting.get("/version")
    late = timedelta()
    task = asyncio.create_task(run_rotation(settings, told.append, lambda: datetime.now(UTC) + late))
    try:
        await until(lambda: "the first client certificate is here" in told, 60)
        assert await user_of(waiting) == "system:node:kube-booted"
        current = certificate_of(access_of(settings))
        assert current is not None
        task.cancel()
        # Nine tenths of its life later: due, and not over.
        late = (current.not_valid_after_utc - datetime.now(UTC)) * 0.95
        task = asyncio.create_task(run_rotation(settings, told.append, lambda: datetime.now(UTC) + late))
        await until(lambda: "the client certificate is renewed" in told, 60)
        task.cancel()
        newer = certificate_of(access_of(settings))
        assert newer is not None
        assert newer.serial_number != current.serial_number
        assert await user_of(waiting) == "system:node:kube-booted"
        assert not (tmp_path / "pki" / "kubelet-client.key.tmp").exists()
    finally:
        task.cancel()
        await waiting.close()
