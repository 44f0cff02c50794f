"""With which credentials images are pulled (kubelet behaviour, section 3.6)."""

import asyncio
import sys
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.kit.objects import look_in

from podherd.errors import ConfigError, CriError
from podherd.machines.objects import references
from podherd.machines.objects.found import Found
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model.docker_config import JSON_TYPE, Auth, DockerConfigError
from podherd.model.pull_record import PullAccount
from podherd.model.settings import Settings
from podherd.steps.credential_config import load
from podherd.steps.credentials import Credentials
from podherd.steps.known_objects import KnownObjects
from podherd.steps.runner import perform
from podherd.wire.codec import pack
from podherd.wire.objects import ObjectState, Ref

IMAGE = "reg.test/team/app:1"
SECRET = Ref("Secret", "shop", "pull")
START = Plan(sandbox_id="s0", start=(StartContainer("web", 0),))


def docker(name: str, password: str) -> bytes:
    return orjson.dumps({"auths": {"reg.test": {"username": name, "password": password}}})


def pull_secret(password: str) -> dict[str, Any]:
    return {"type": JSON_TYPE, "data": {".dockerconfigjson": b64encode(docker("pod", password)).decode()}}


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No docker config of this machine counts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def node(tmp_path: Path, **more: Any) -> Settings:
    return Settings("n1", tmp_path / "root", "unix:///none", **more)


def private(make_pod: Any) -> Any:
    return make_pod({"imagePullSecrets": [{"name": "pull"}, {"name": "none"}]}, {"name": "web", "image": IMAGE})


async def test_the_pods_come_before_the_nodes_and_missing_ones_are_named(make_pod: Any, tmp_path: Path) -> None:
    put(tmp_path / "root" / "config.json", docker("node", "n"))
    put(tmp_path / ".docker" / "config.json", docker("home", "h"))
    look = look_in((SECRET, Found(pull_secret("p"))))
    given = await Credentials(node(tmp_path), lambda: 0.0).for_image(IMAGE, private(make_pod), look)
    assert (given.auths, given.missing, given.failed) == ((Auth("pod", "p"), Auth("node", "n")), ("none",), ())
    assert list(given.sources) == [Auth("pod", "p")]


def put(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("place", ["root/config.json", "config.json", ".docker/config.json"])
async def test_the_nodes_own_file_may_stand_in_several_places(make_pod: Any, tmp_path: Path, place: str) -> None:
    put(tmp_path / place, docker("node", "n"))
    given = await Credentials(node(tmp_path), lambda: 0.0).for_image(IMAGE, make_pod(), look_in())
    assert given.auths == (Auth("node", "n"),)


async def test_a_broken_file_of_the_node_is_passed_over_for_the_next(make_pod: Any, tmp_path: Path) -> None:
    put(tmp_path / "root" / "config.json", b"{")
    put(tmp_path / ".dockercfg", orjson.dumps({"reg.test": {"username": "old", "password": "o"}}))
    given = await Credentials(node(tmp_path), lambda: 0.0).for_image(IMAGE, make_pod(), look_in())
    assert given.auths == (Auth("old", "o"),)


async def test_a_broken_secret_is_an_error(make_pod: Any, tmp_path: Path) -> None:
    broken = {"type": JSON_TYPE, "data": {".dockerconfigjson": b64encode(b"{").decode()}}
    look = look_in((SECRET, Found(broken)))
    with pytest.raises(DockerConfigError, match="secret shop/pull"):
        await Credentials(node(tmp_path), lambda: 0.0).for_image(IMAGE, private(make_pod), look)


class Registry:
    """A runtime that pulls only with the right password."""

    def __init__(self, bench: Any, right: str) -> None:
        self._bench, self._right = bench, right
        self.tried: list[str] = []
        bench.cri.pull_image = self.pull_image

    async def pull_image(self, image: str, _config: Any, auth: Any = None) -> str:
        self.tried.append(auth.username if auth else "")
        if not auth or auth.password != self._right:
            raise CriError("CRI PullImage", "UNKNOWN", f"401 for {self.tried[-1]}")
        self._bench.cri.images.add(image)
        return f"sha256:{image}"


async def test_each_credential_is_tried_until_one_works(bench: Any, make_pod: Any) -> None:
    put(bench.settings.root_dir / "config.json", docker("node", "right"))
    registry = Registry(bench, "right")
    tell_secret(bench, private(make_pod), "wrong")
    synced = await perform(bench.context(START, private(make_pod)))
    assert isinstance(synced.results[0], Started)
    assert registry.tried == ["pod", "node"]


async def test_what_every_one_of_them_failed_with_is_told_and_no_password(bench: Any, make_pod: Any) -> None:
    put(bench.settings.root_dir / "config.json", docker("node", "bad-node"))
    Registry(bench, "right")
    tell_secret(bench, private(make_pod), "bad-pod")
    synced = await perform(bench.context(START, private(make_pod)))
    assert synced.results == (StartFailed("web", "ErrImagePull", "[401 for pod, 401 for node]", image_pull=True),)
    assert "bad-" not in str(bench.told())


def tell_secret(bench: Any, pod: Any, password: str) -> None:
    objects = bench.tools.objects = KnownObjects(lambda _needs: None)
    objects.want(pod)
    objects.take(ObjectState((SECRET,), pack(pull_secret(password))))
    objects.take(ObjectState((Ref("Secret", "shop", "none"),), b"", 'secret "none" not found', missing=True))
    for namespace in ("shop", "default"):
        objects.take(ObjectState((Ref("Services", namespace, ""),), pack([])))


async def test_pulls_with_other_credentials_do_not_wait_for_each_other(bench: Any) -> None:
    gate = bench.cri.gate["pull_image"] = asyncio.Event()
    tried = []

    async def pull_image(_image: str, _config: Any, auth: Any = None) -> str:
        tried.append(auth.username if auth else "")
        await gate.wait()
        return "x"

    bench.cri.pull_image = pull_image
    bench.tools.pulls._turn = asyncio.Semaphore(4)
    kinds = [(), (Auth("a", ""),), (Auth("a", ""),), (Auth("b", ""),)]
    pulls = [asyncio.ensure_future(bench.tools.pulls.pull("i", None, auths)) for auths in kinds]
    await bench.until(lambda: len(tried) == 3)
    gate.set()
    await asyncio.gather(*pulls)
    assert sorted(tried) == ["", "a", "b"]


PLUGIN = """#!{python}
import json, os, sys
asked = json.load(sys.stdin)
open({log!r}, "a").write(json.dumps([asked, sys.argv[1:], os.environ.get("ZONE")]) + "\\n")
{body}
"""
ANSWER = """json.dump({{"kind": "CredentialProviderResponse", "apiVersion": asked["apiVersion"],
 "cacheKeyType": "{key}", "cacheDuration": {cache},
 "auth": {{"*.test/team": {{"username": "plug", "password": "in"}}}}}}, sys.stdout)"""
VERSION = "credentialprovider.kubelet.k8s.io/v1"
TOKENS = {
    "serviceAccountTokenAudience": "reg",
    "cacheType": "ServiceAccount",
    "requireServiceAccount": True,
    "requiredServiceAccountAnnotationKeys": ["a"],
}
ACCOUNT = {"metadata": {"uid": "sa", "name": "robot", "namespace": "shop", "annotations": {"a": "1", "b": "2"}}}


class Plugin:
    """A provider `ecr` for `*.test`, and what it was asked."""

    def __init__(self, tmp_path: Path, body: str, **fields: Any) -> None:
        self._log = tmp_path / "asked"
        text = PLUGIN.format(python=sys.executable, log=str(self._log), body=body)
        put(tmp_path / "bin" / "ecr", text.encode(), 0o700)
        provider = {
            "name": "ecr", "matchImages": ["*.test"], "defaultCacheDuration": "1m", "apiVersion": VERSION,
            "args": ["get", "-v"], "env": [{"name": "ZONE", "value": "z1"}], **fields,
        }  # fmt: skip
        config = {
            "kind": "CredentialProviderConfig", "apiVersion": "kubelet.config.k8s.io/v1", "providers": [provider],
        }  # fmt: skip
        path = put(tmp_path / "providers.yaml", orjson.dumps(config))
        self.now = 1000.0
        settings = node(tmp_path, credential_config=path, credential_bin_dir=tmp_path / "bin")
        self.credentials = Credentials(settings, lambda: self.now)

    def asked(self) -> list[Any]:
        return [orjson.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


async def given(plugin: Plugin, make_pod: Any, image: str = IMAGE) -> Any:
    return await plugin.credentials.for_image(image, make_pod(), look_in())


async def test_a_plugin_is_asked_as_the_protocol_says(make_pod: Any, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path, ANSWER.format(key="Image", cache="None"))
    assert (await given(plugin, make_pod)).auths == (Auth("plug", "in"),)
    request = {"kind": "CredentialProviderRequest", "apiVersion": VERSION, "image": IMAGE}
    assert plugin.asked() == [[request, ["get", "-v"], "z1"]]
    assert (await given(plugin, make_pod, "other.example/x")).auths == ()
    assert len(plugin.asked()) == 1


@pytest.mark.parametrize(
    ("key", "cache", "asked"),
    [("Image", "None", 3), ("Registry", "None", 2), ("Global", '"1m"', 1), ("Global", '"0s"', 4)],
)
async def test_answers_hold_for_image_registry_or_all_as_long_as_they_say(
    make_pod: Any, tmp_path: Path, key: str, cache: str, asked: int
) -> None:
    plugin = Plugin(tmp_path, ANSWER.format(key=key, cache=cache))
    for image in (IMAGE, IMAGE, "reg.test/team/other", "two.test/x"):
        await given(plugin, make_pod, image)
    assert len(plugin.asked()) == asked
    plugin.now += 61
    await given(plugin, make_pod)
    assert len(plugin.asked()) == asked + 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit('no token')", "ended with exit code 1: no token"),
        ("print('{}')", "gave no CredentialProviderResponse"),
        (
            """print('{"kind":"CredentialProviderResponse","apiVersion":"v0"}')""",
            "answered with apiVersion 'v0', not 'credentialprovider.kubelet.k8s.io/v1'",
        ),
        (ANSWER.format(key="Moon", cache="None"), "gave the cacheKeyType 'Moon', not Image, Registry or Global"),
    ],
)
async def test_a_plugin_that_fails_is_told_and_the_image_pulled_without(
    make_pod: Any, tmp_path: Path, body: str, why: str
) -> None:
    found = await given(Plugin(tmp_path, body), make_pod)
    assert found.auths == ()
    assert found.failed == (f"credential provider ecr: {why}",)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": "../ecr"}, "must be that of a program"),
        ({"matchImages": []}, "at least one image pattern"),
        ({"apiVersion": "v1"}, "apiVersion 'v1' must be one of"),
        ({"defaultCacheDuration": ""}, "defaultCacheDuration is required"),
        ({"defaultCacheDuration": "soon"}, "'soon' is not a duration"),
        ({"tokenAttributes": {**TOKENS, "serviceAccountTokenAudience": ""}}, "serviceAccountTokenAudience is required"),
        ({"tokenAttributes": {**TOKENS, "cacheType": "Pod"}}, "cacheType must be one of ServiceAccount, Token"),
        ({"tokenAttributes": {**TOKENS, "requireServiceAccount": None}}, "requireServiceAccount must be true or false"),
        ({"tokenAttributes": {**TOKENS, "requireServiceAccount": False}}, "need requireServiceAccount: true"),
        ({"tokenAttributes": {**TOKENS, "optionalServiceAccountAnnotationKeys": ["a"]}}, "both required and optional"),
        ({"tokenAttributes": TOKENS, "apiVersion": f"{VERSION}beta1"}, "tokenAttributes need apiVersion"),
    ],
)
def test_a_config_that_cannot_be_followed_is_refused(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    Plugin(tmp_path, "", **fields)
    with pytest.raises(ConfigError, match=why):
        load(tmp_path / "providers.yaml")


class Robot:
    """A pod with a service account, and a plugin that takes its token."""

    def __init__(self, make_pod: Any, tmp_path: Path, body: str = "", **tokens: Any) -> None:
        answer = ANSWER.format(key="Image", cache="None")
        self.plugin = Plugin(tmp_path, body or answer, tokenAttributes={**TOKENS, **tokens})
        self.pod = make_pod({"serviceAccountName": "robot"}, {"name": "web", "image": IMAGE})
        self.account = references.account(self.pod)
        self.token = references.token(self.pod, {"audience": "reg"})

    async def given(self, account: Any = ACCOUNT, token: str = "t0", pod: Any = None) -> Any:
        """For the image, where the account stands so and this token was given."""
        look = look_in((self.account, Found(account)), (self.token, Found({"token": token} if token else None, "no")))
        return await self.plugin.credentials.for_image(IMAGE, pod or self.pod, look)


async def test_a_plugin_may_be_told_of_the_pods_service_account(make_pod: Any, tmp_path: Path) -> None:
    robot = Robot(make_pod, tmp_path, optionalServiceAccountAnnotationKeys=["b", "c"])
    found = await robot.given()
    assert (robot.account.kind, robot.token.name, '"audience":"reg"' in robot.token.detail) == (
        "ServiceAccount", "robot", True,
    )  # fmt: skip
    ((request, _, _),) = robot.plugin.asked()
    assert (request["serviceAccountToken"], request["serviceAccountAnnotations"]) == ("t0", {"a": "1", "b": "2"})
    assert found.sources == {Auth("plug", "in"): PullAccount("sa", "shop", "robot")}


def test_a_token_is_asked_for_once_the_account_is_known_to_take_part(make_pod: Any, tmp_path: Path) -> None:
    robot = Robot(make_pod, tmp_path)
    refs = robot.plugin.credentials.refs
    assert refs(robot.pod, look_in()) == (robot.account,)
    assert refs(robot.pod, look_in((robot.account, Found({"metadata": {"uid": "sa"}})))) == (robot.account,)
    assert refs(robot.pod, look_in((robot.account, Found(ACCOUNT)))) == (robot.account, robot.token)
    assert refs(make_pod({}, {"name": "web", "image": "other.example/x"}), look_in()) == ()


@pytest.mark.parametrize(("cache", "asked"), [("ServiceAccount", 1), ("Token", 2)])
async def test_an_answer_is_good_for_the_account_or_for_one_token(
    make_pod: Any, tmp_path: Path, cache: str, asked: int
) -> None:
    robot = Robot(make_pod, tmp_path, cacheType=cache)
    for token in ("t0", "t0", "t1"):
        await robot.given(token=token)
    assert len(robot.plugin.asked()) == asked
    other = {"metadata": {**ACCOUNT["metadata"], "uid": "sb"}}
    await robot.given(account=other)
    assert len(robot.plugin.asked()) == asked + 1


async def test_an_account_without_the_annotation_is_none_of_the_plugins_business(make_pod: Any, tmp_path: Path) -> None:
    robot = Robot(make_pod, tmp_path)
    assert (await robot.given(account={"metadata": {"uid": "sa"}}))[:3] == ((), (), ())
    assert robot.plugin.asked() == []


@pytest.mark.parametrize(("account", "token"), [(None, "t0"), (ACCOUNT, "")])
async def test_an_account_or_token_that_could_not_be_had_is_told(
    make_pod: Any, tmp_path: Path, account: Any, token: str
) -> None:
    found = await Robot(make_pod, tmp_path).given(account, token)
    assert found.auths == ()
    assert "failed to get service account" in found.failed[0]


async def test_a_static_pod_is_asked_for_without_a_token_where_the_plugin_wants_that(
    make_pod: Any, tmp_path: Path
) -> None:
    robot = Robot(make_pod, tmp_path, requireServiceAccount=False, requiredServiceAccountAnnotationKeys=[])
    static = replace(robot.pod, source="file")
    assert (await robot.given(pod=static)).sources == {}
    ((request, _, _),) = robot.plugin.asked()
    assert request.keys() == {"kind", "apiVersion", "image"}
    assert robot.plugin.credentials.refs(static, look_in()) == ()


async def test_a_static_pod_is_none_of_the_business_of_a_plugin_that_wants_an_account(
    make_pod: Any, tmp_path: Path
) -> None:
    robot = Robot(make_pod, tmp_path)
    assert (await robot.given(pod=replace(robot.pod, source="file"))).auths == ()


async def test_a_token_that_comes_back_as_password_is_refused(make_pod: Any, tmp_path: Path) -> None:
    echo = ANSWER.format(key="Image", cache="None").replace('"in"', 'asked["serviceAccountToken"]')
    found = await Robot(make_pod, tmp_path, echo).given()
    assert "gave the service account token as the password" in found.failed[0]
    assert "t0" not in str(found)


async def test_an_account_by_whose_token_an_image_was_pulled_may_use_it(make_pod: Any, tmp_path: Path) -> None:
    robot = Robot(make_pod, tmp_path)
    look = look_in((robot.account, Found(ACCOUNT)), (robot.token, Found({"token": "t0"})))
    assert robot.plugin.credentials.sources(IMAGE, robot.pod, look) == (PullAccount("sa", "shop", "robot"),)
    assert robot.plugin.credentials.sources(IMAGE, robot.pod, look_in()) == ()
    assert robot.plugin.asked() == []
