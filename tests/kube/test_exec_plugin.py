"""Credential plugins: what they are told, what they say, how long it holds."""

import base64
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.kube.script import PODS, refuses, says, speaking_to

from podherd.errors import ApiError, ConfigError
from podherd.kube.config import Access, ExecPlugin, Pem, Server, User
from podherd.kube.exec_plugin import Plugin, info, read

V1 = "client.authentication.k8s.io/v1"


def program(place: Path, status: dict[str, Any], code: int = 0) -> ExecPlugin:
    """A plugin that prints this, with the number of its run as the end of the token, and notes what it was told."""
    file = place / "plugin.py"
    file.write_text(
        f"""
import json, os, sys
runs = {str(place / "runs")!r}
open(runs, "a").write(os.environ["KUBERNETES_EXEC_INFO"] + "\\n")
status = {status!r}
if "token" in status:
    status["token"] += str(len(open(runs).readlines()))
print(json.dumps({{"apiVersion": {V1!r}, "kind": "ExecCredential", "status": status}}))
print("some words", file=sys.stderr)
sys.exit({code})
"""
    )
    return ExecPlugin(V1, sys.executable, (str(file),), (("A", "b"),))


def access(plugin: ExecPlugin) -> Access:
    return Access("kubeconfig f", Server("https://a"), User(plugin=plugin))


async def test_what_it_says_is_kept_while_it_holds(tmp_path: Path) -> None:
    plugin = Plugin(access(program(tmp_path, {"token": "t", "expirationTimestamp": "2999-01-01T00:00:00Z"})))
    assert [(await plugin.current()).token for _ in range(2)] == ["t1", "t1"]
    plugin.forget()
    assert (await plugin.current()).token == "t2"


async def test_what_has_expired_is_asked_for_anew(tmp_path: Path) -> None:
    plugin = Plugin(access(program(tmp_path, {"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"})))
    assert [(await plugin.current()).token for _ in range(2)] == ["t1", "t2"]


async def test_a_401_runs_it_once_more(tmp_path: Path) -> None:
    user = User(plugin=program(tmp_path, {"token": "t"}))
    async with speaking_to(refuses(401, "Unauthorized"), says({}), user=user) as (client, script):
        await client.get(PODS)
        await client.get(PODS)
    assert [one.headers["Authorization"] for one in script.asked] == ["Bearer t1", "Bearer t2", "Bearer t2"]


async def test_one_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    user = User(plugin=program(tmp_path, {}, code=3))
    async with speaking_to(says({}), user=user) as (client, _):
        with pytest.raises(ApiError, match="ended with 3: some words"):
            await client.get(PODS)


async def test_one_that_is_not_there_is_told_with_the_hint() -> None:
    plugin = Plugin(access(ExecPlugin(V1, "no-such-program-here", install_hint="get it")))
    with pytest.raises(ConfigError, match=r"cannot be run: .*get it"):
        await plugin.current()


async def test_one_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.exec_plugin.RUN_S", 0.05)
    plugin = Plugin(access(ExecPlugin(V1, sys.executable, ("-c", "import time; time.sleep(600)"))))
    with pytest.raises(ConfigError, match="has not ended"):
        await plugin.current()


def test_the_cluster_is_told_only_where_it_is_asked_for() -> None:
    server = Server("https://a", Pem(b"PEM"), "kubernetes")
    assert orjson.loads(info(ExecPlugin(V1, "p"), server))["spec"] == {"interactive": False}
    told = orjson.loads(info(ExecPlugin(V1, "p", provide_cluster_info=True, cluster_config={"x": 1}), server))
    authority = base64.b64encode(b"PEM").decode()
    cluster = {"server": "https://a", "tls-server-name": "kubernetes", "certificate-authority-data": authority}
    assert told["spec"] == {"interactive": False, "cluster": {**cluster, "config": {"x": 1}}}
    assert (told["apiVersion"], told["kind"]) == (V1, "ExecCredential")


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (b"", "no ExecCredential"),
        (b"[]", "no ExecCredential"),
        (orjson.dumps({"kind": "ExecCredential", "apiVersion": V1}), "neither a token nor"),
        (orjson.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": 3}), "no ExecCredential"),
        (orjson.dumps({"kind": "ExecCredential", "apiVersion": V1 + "beta1", "status": {"token": "t"}}), "answered in"),
        (
            orjson.dumps(
                {"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "t", "expirationTimestamp": "soon"}}
            ),
            "no ExecCredential",
        ),
    ],
)
def test_what_is_of_no_use_is_refused(out: bytes, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read(out, ExecPlugin(V1, "p"), "kubeconfig f")


def test_a_certificate_is_taken() -> None:
    status = {"clientCertificateData": "C", "clientKeyData": "K"}
    handed = read(
        orjson.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}), ExecPlugin(V1, "p"), "f"
    )
    assert (handed.certificate, handed.key, handed.until) == (b"C", b"K", 0.0)
