"""What pods may use of what others had pulled (kubelet behaviour, section 3.6)."""

import asyncio
import json
import shutil
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from podherd.errors import CriError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model.docker_config import JSON_TYPE
from podherd.steps.known_objects import KnownObjects
from podherd.steps.pulls import of_shard
from podherd.steps.runner import perform
from podherd.wire.codec import pack
from podherd.wire.objects import ObjectState, Ref

IMAGE = "reg.test/team/app:1"
START = Plan(sandbox_id="s0", start=(StartContainer("web", 0),))
REFUSED = StartFailed("web", "ErrImagePull", "401 for nobody", image_pull=True)


class Node:
    """Shards of one root directory, and a registry that wants the password `right`."""

    def __init__(self, bench: Any, make_pod: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self._make_pod = bench, make_pod
        monkeypatch.setenv("HOME", str(bench.settings.root_dir))
        self.pulls = 0
        self.needs_password = True
        bench.cri.pull_image = self._pull
        self.restart()

    def restart(self, **settings: Any) -> None:
        self.bench.tools.settings = replace(self.bench.settings, **settings)
        self.bench.tools.pulls = of_shard(self.bench.cri, self.bench.tools.settings, lambda: self.bench.now[0])

    async def _pull(self, image: str, _config: Any, auth: Any = None) -> str:
        self.pulls += 1
        if self.needs_password and (auth is None or auth.password != "right"):
            raise CriError("CRI PullImage", "UNKNOWN", f"401 for {auth.username if auth else 'nobody'}")
        self.bench.cri.images.add(image)
        return f"sha256:{image}"

    async def run(self, password: str = "", policy: str = "IfNotPresent", secret: str = "pull") -> Any:
        """Start a pod; with a pull secret where a password is given. What became of its container."""
        spec = {"imagePullSecrets": [{"name": secret}]} if password else {}
        pod = self._make_pod(spec, {"name": "web", "image": IMAGE, "imagePullPolicy": policy})
        objects = self.bench.tools.objects = KnownObjects(lambda _needs: None)
        objects.want(pod)
        for namespace in ("shop", "default"):
            objects.take(ObjectState((Ref("Services", namespace, ""),), pack([])))
        if password:
            auths = orjson.dumps({"auths": {"reg.test": {"username": "me", "password": password}}})
            data = {".dockerconfigjson": b64encode(auths).decode()}
            metadata = {"uid": f"uid-{secret}", "namespace": "shop", "name": secret}
            body = pack({"type": JSON_TYPE, "metadata": metadata, "data": data})
            objects.take(ObjectState((Ref("Secret", "shop", secret),), body))
        return (await perform(self.bench.context(START, pod))).results[0]

    def files(self, kind: str) -> list[Path]:
        place: Path = self.bench.settings.root_dir / "image_manager" / kind
        return sorted(place.iterdir()) if place.is_dir() else []


@pytest.fixture
def node(bench: Any, make_pod: Any, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(bench, make_pod, monkeypatch)


async def test_an_image_that_took_a_secret_is_not_for_pods_without_it(node: Node) -> None:
    assert isinstance(await node.run("right"), Started)
    assert await node.run() == REFUSED
    assert await node.run("wrong", secret="mine") == replace(REFUSED, message="401 for me")
    assert node.pulls == 3
    assert isinstance(await node.run("right"), Started)
    assert isinstance(await node.run("right", secret="copy"), Started)
    assert node.pulls == 3
    assert node.bench.told()[-3] == (
        "Normal",
        "Pulled",
        f'Container image "{IMAGE}" already present on machine and can be accessed by the pod',
    )


async def test_with_the_policy_never_such_an_image_looks_absent(node: Node) -> None:
    await node.run("right")
    result = await node.run(policy="Never")
    text = f'Container image "{IMAGE}" is not present with pull policy of Never'
    assert result == StartFailed("web", "ErrImageNeverPull", text)


async def test_what_was_there_before_or_took_no_secret_is_for_everybody(node: Node) -> None:
    node.bench.cri.images.add(IMAGE)
    assert isinstance(await node.run(), Started)
    assert node.pulls == 0
    node.bench.cri.images.clear()
    node.needs_password = False
    node.bench.now[0] += 5
    assert isinstance(await node.run(), Started)
    node.needs_password = True
    assert isinstance(await node.run(), Started)
    assert node.pulls == 1


async def test_another_agent_of_the_same_root_directory_knows_it_too(node: Node) -> None:
    await node.run("right")
    node.restart()
    assert await node.run() == REFUSED
    assert isinstance(await node.run("right"), Started)


async def test_a_pull_that_was_broken_off_leaves_an_image_for_nobody_until_it_is_pulled_again(node: Node) -> None:
    gate, pull = asyncio.Event(), node.bench.cri.pull_image

    async def slow(*args: Any) -> str:
        gate.set()
        await asyncio.Event().wait()
        return str(await pull(*args))

    node.bench.cri.pull_image = slow
    running = asyncio.create_task(node.run("right"))
    await gate.wait()
    await node.bench.tools.pulls.close()
    await asyncio.gather(running, return_exceptions=True)
    node.bench.cri.pull_image = pull
    node.bench.cri.images.add(IMAGE)
    node.restart()
    assert await node.run() == REFUSED
    assert isinstance(await node.run("right"), Started)
    assert node.files("pulling") == []


async def test_a_failed_pull_leaves_no_file(node: Node) -> None:
    await node.run()
    assert (node.files("pulling"), node.files("pulled")) == ([], [])


async def test_the_file_of_a_pull_under_way_goes_with_the_last_puller(node: Node) -> None:
    one, other = (of_shard(node.bench.cri, node.bench.settings, lambda: 0.0)._records for _ in range(2))
    assert one
    assert other
    with one.pull(IMAGE):
        with other.pull(IMAGE):
            (file,) = node.files("pulling")
        assert node.files("pulling") == [file]
        assert json.loads(file.read_bytes())["image"] == IMAGE
    assert node.files("pulling") == []


async def test_a_record_holds_no_password_and_is_the_owners_alone(node: Node) -> None:
    await node.run("right")
    (file,) = node.files("pulled")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    record = json.loads(file.read_bytes())
    (secret,) = record["credentialMapping"]["reg.test/team/app"]["kubernetesSecrets"]
    assert (record["imageRef"], secret["uid"], secret["namespace"]) == (f"sha256:{IMAGE}", "uid-pull", "shop")
    assert b"right" not in file.read_bytes()


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"imageRef":"another"}'])
async def test_a_record_that_cannot_be_read_is_for_nobody_and_replaced_by_a_pull(node: Node, text: bytes) -> None:
    await node.run("right")
    (file,) = node.files("pulled")
    file.write_bytes(text)
    assert await node.run() == REFUSED
    assert isinstance(await node.run("right"), Started)
    assert json.loads(file.read_bytes())["imageRef"] == f"sha256:{IMAGE}"


async def test_a_pull_that_cannot_be_noted_does_not_begin(node: Node) -> None:
    shutil.rmtree(node.bench.settings.root_dir / "image_manager", ignore_errors=True)
    node.bench.settings.root_dir.mkdir(parents=True, exist_ok=True)
    (node.bench.settings.root_dir / "image_manager").write_bytes(b"")
    result = await node.run("right")
    assert result.reason == "ErrImagePull"
    assert "failed to record image pull intent" in result.message
    assert node.pulls == 0


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"pull_verification": "NeverVerify"}, True),
        ({"pull_verification": "AlwaysVerify"}, False),
        ({"pull_verification": "NeverVerifyAllowlistedImages", "pull_allowlist": ("reg.test/team/*",)}, True),
        ({"pull_verification": "NeverVerifyAllowlistedImages"}, False),
    ],
)
async def test_the_configured_policy_decides(node: Node, settings: dict[str, Any], allowed: bool) -> None:
    node.bench.cri.images.add(IMAGE)
    node.restart(**settings)
    assert isinstance(await node.run(), Started) is allowed
