"""Kubeconfigs, good and bad; and the service account of a pod."""

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest

from podherd.errors import ConfigError
from podherd.kube.config import Access, ExecPlugin, Pem, Server, User, in_cluster
from podherd.kube.connect import access_of, connect
from podherd.kube.kubeconfig import load
from podherd.kube.transport import proxy_of
from podherd.model.settings import Settings

SERVER = "https://10.0.0.1:6443"
PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "bin/login", "interactiveMode": "Never"}


def written(place: Path, cluster: dict[str, Any], user: dict[str, Any], **top: Any) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "other", "user": {"as": "x"}}, {"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "default"}}],
        "current-context": "x",
        "preferences": {},
        **top,
    }
    file = place / "config"
    file.write_bytes(orjson.dumps(document))
    return file


def test_paths_start_from_the_directory_of_the_file(tmp_path: Path) -> None:
    user = {"client-certificate": "pki/a.crt", "client-key": "/abs/a.key", "tokenFile": "token"}
    found = load(written(tmp_path, {"server": f"{SERVER}/", "certificate-authority": "ca.crt"}, user))
    assert found.server == Server(SERVER, Pem(path=tmp_path / "ca.crt"))
    certificate, key = Pem(path=tmp_path / "pki/a.crt"), Pem(path=Path("/abs/a.key"))
    assert found.user == User(certificate, key, token_file=tmp_path / "token")


def test_data_goes_before_a_path(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    cluster = {"server": SERVER, "certificate-authority": "ca.crt", "certificate-authority-data": data}
    user = {"client-certificate-data": data, "client-key-data": data}
    found = load(written(tmp_path, cluster, user))
    assert found.server.authority == Pem(b"PEM")
    assert found.user == User(Pem(b"PEM"), Pem(b"PEM"))


def test_every_other_field_of_a_cluster(tmp_path: Path) -> None:
    cluster = {
        "server": SERVER,
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
        "insecure-skip-tls-verify": False,
    }
    found = load(written(tmp_path, cluster, {"token": "t"}))
    assert found.server == Server(SERVER, None, "kubernetes", "http://proxy:3128", compress=False)
    assert found.user == User(token="t")


def test_an_exec_plugin(tmp_path: Path) -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"server": SERVER, "extensions": [extension]}
    env = [{"name": "A", "value": "b"}]
    plugin = {**PLUGIN, "args": ["-x"], "env": env, "provideClusterInfo": True, "installHint": "get it"}
    found = load(written(tmp_path, cluster, {"exec": plugin})).user.plugin
    command = str(tmp_path / "bin/login")
    wanted = ExecPlugin(PLUGIN["apiVersion"], command, ("-x",), (("A", "b"),), True, "get it", {"audience": "a"})
    assert found == wanted


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    data = base64.b64encode(b"hidden-key").decode()
    user = {"token": "hidden-token", "client-key-data": data, "client-certificate-data": data}
    assert "hidden" not in repr(load(written(tmp_path, {"server": SERVER}, user)))


CLUSTERS: list[tuple[dict[str, Any], str]] = [
    (
        {"server": SERVER, "insecure-skip-tls-verify": True},
        r"clusters\[c\].cluster.insecure-skip-tls-verify: .*remove it",
    ),
    ({}, r"clusters\[c\].cluster.server: is missing"),
    ({"server": "http://10.0.0.1"}, r"server: http://10.0.0.1 is without TLS"),
    ({"server": "https://"}, "is not a URL"),
    ({"server": "https://a:port"}, "is not a URL"),
    ({"server": "ftp://a"}, "is not a URL"),
    ({"server": 6443}, "server: is not a string"),
    ({"server": SERVER, "certificate-authority-data": "%%"}, "certificate-authority-data: is not base64"),
    ({"server": SERVER, "certificate-authorty": "x"}, "certificate-authorty: is not known .*did you mean certificate-"),
    ({"server": SERVER, "proxy-url": "socks5://a"}, "proxy-url: .*SOCKS"),
    ({"server": SERVER, "insecure-skip-tls-verify": "no"}, "neither true nor false"),
]
USERS: list[tuple[dict[str, Any], str]] = [
    ({"auth-provider": {"name": "gcp"}}, r"users\[u\].user.auth-provider: is not supported .*exec"),
    ({"username": "a"}, r"users\[u\].user.username: is not supported .*client-certificate"),
    ({"password": "a"}, r"password: is not supported"),
    ({"as": "a"}, r"user.as: is not supported"),
    ({"client-certificate": "a"}, "client-key: is missing beside its other half"),
    ({"client-key": "a"}, "client-certificate: is missing beside its other half"),
    ({"token": 5}, "token: is not a string .*quotes"),
    ({"exec": {**PLUGIN, "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "exec.apiVersion: .*v1beta1"),
    ({"exec": {**PLUGIN, "command": ""}}, "exec.command: is missing"),
    ({"exec": {**PLUGIN, "interactiveMode": "Always"}}, "interactiveMode: Always cannot be"),
    ({"exec": {**PLUGIN, "args": [1]}}, "exec.args: is not a list of strings"),
    ({"exec": {**PLUGIN, "env": [1]}}, r"exec.env\[0\] is not a mapping"),
    ({"exec": [1]}, "exec is not a mapping"),
]
TOPS: list[tuple[dict[str, Any], str]] = [
    ({"current-context": ""}, "current-context: is missing"),
    ({"current-context": "y"}, "current-context: there is no context y .*there is x"),
    ({"contexts": [{"name": "x", "context": {"cluster": "d", "user": "u"}}]}, "context.cluster: there is no cluster d"),
    ({"contexts": [{"name": "x", "context": {"cluster": "c", "user": "d"}}]}, "context.user: there is no user d"),
    ({"contexts": {}}, "contexts: is not a list"),
    ({"contexts": [3]}, r"contexts\[0\] is not a mapping"),
]


@pytest.mark.parametrize(("cluster", "text"), CLUSTERS)
def test_a_bad_cluster_is_refused_with_its_field(tmp_path: Path, cluster: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        load(written(tmp_path, cluster, {}))
    assert str(tmp_path) in caught.value.thing
    assert caught.value.mend


@pytest.mark.parametrize(("user", "text"), USERS)
def test_a_bad_user_is_refused_with_its_field(tmp_path: Path, user: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        load(written(tmp_path, {"server": SERVER}, user))
    assert caught.value.mend


@pytest.mark.parametrize(("top", "text"), TOPS)
def test_a_bad_whole_is_refused_with_its_field(tmp_path: Path, top: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        load(written(tmp_path, {"server": SERVER}, {}, **top))


@pytest.mark.parametrize("data", [b"", b"[]", b"a: [", b"3", b"\xff\xfe"])
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "config"
    file.write_bytes(data)
    with pytest.raises(ConfigError):
        load(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none")


def test_the_service_account_of_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("c")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    server = Server("https://[fd00::1]:443", Pem(path=tmp_path / "ca.crt"))
    assert in_cluster(environ, tmp_path) == Access("--in-cluster", server, User(token_file=tmp_path / "token"))


@pytest.mark.parametrize("environ", [{}, {"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "1"}])
def test_outside_of_a_pod_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="--in-cluster"):
        in_cluster(environ, tmp_path)


def test_the_proxy_is_the_environments_but_never_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setenv("no_proxy", ".internal")
    assert proxy_of(Server("https://api.example.org")) == "http://proxy:1"
    assert proxy_of(Server("https://api.internal")) == ""
    assert proxy_of(Server("https://127.0.0.1:6443")) == ""
    assert proxy_of(Server("https://api.internal", proxy_url="http://own:2")) == "http://own:2"


async def test_a_broken_kubeconfig_is_refused_at_once_and_one_to_be_written_is_not(tmp_path: Path) -> None:
    file = tmp_path / "none"
    with pytest.raises(ConfigError):
        connect(Settings("a", tmp_path, "", kubeconfig=file), 0, 0)
    await connect(Settings("a", tmp_path, "", kubeconfig=file, bootstrap_kubeconfig=tmp_path / "first"), 0, 0).close()


def test_a_rotated_certificate_goes_first_where_rotation_is_on(tmp_path: Path) -> None:
    user = {"client-certificate": "a.crt", "client-key": "a.key"}
    file = written(tmp_path, {"server": SERVER}, user)
    plain = Settings("a", tmp_path, "", kubeconfig=file)
    assert access_of(plain).user.rotated is None
    rotating = Settings("a", tmp_path, "", kubeconfig=file, rotate_certificates=True)
    assert access_of(rotating).user.rotated == tmp_path / "pki/kubelet-client-current.pem"
