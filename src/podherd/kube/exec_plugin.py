"""Credential plugins of a kubeconfig's `exec`: run the program, keep what it hands out until that expires."""

import asyncio
import base64
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from podherd.errors import ConfigError
from podherd.kube.config import Access, ExecPlugin, Server

RUN_S = 60.0
"""How long a plugin may take."""
EARLY_S = 5.0
"""How long before its end a credential is no longer used: a request takes a moment."""
_INFO = "KUBERNETES_EXEC_INFO"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Handed:
    """What a plugin gave. until: epoch seconds; 0: it did not say. Empty parts were not given."""

    token: str = field(default="", repr=False)
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    until: float = 0.0


class Plugin:
    """Of one Access. Many requests may ask at once; the program runs once for all of them."""

    def __init__(self, access: Access) -> None:
        assert access.user.plugin is not None
        self._access = access
        self._plugin = access.user.plugin
        self._handed: Handed | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> Handed:
        """What holds now; runs the program where that is needed. Raises ConfigError when it fails."""
        async with self._lock:
            if self._handed is None or _is_over(self._handed, datetime.now(UTC).timestamp()):
                self._handed = None
                self._handed = read(await self._run(), self._plugin, self._access.thing)
            return self._handed

    def forget(self) -> None:
        """The server refused it."""
        self._handed = None

    async def _run(self) -> bytes:
        plugin, pipe = self._plugin, asyncio.subprocess.PIPE
        env = {**os.environ, **dict(plugin.env), _INFO: info(plugin, self._access.server)}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command, *plugin.args, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env
            )
        except OSError as error:
            hint = plugin.install_hint or f"install {plugin.command} on this node"
            raise self._failed(f"cannot be run: {error.strerror}", hint) from error
        try:
            async with asyncio.timeout(RUN_S):
                out, told = await process.communicate()
        except TimeoutError as error:
            raise self._failed(f"has not ended after {RUN_S:g} s") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            last = told.decode(errors="replace").strip()[-_SHOWN:]
            raise self._failed(f"ended with {process.returncode}: {last or 'it said nothing'}")
        return out

    def _failed(self, reason: str, mend: str = "run it by hand to see why") -> ConfigError:
        return ConfigError(self._access.thing, f"exec plugin {self._plugin.command} {reason}", mend)


def info(plugin: ExecPlugin, server: Server) -> str:
    """The ExecCredential that the plugin finds in its environment; it holds no secret."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        authority = server.authority.read() if server.authority else b""
        cluster = {
            "server": server.url,
            "tls-server-name": server.tls_name,
            "certificate-authority-data": base64.b64encode(authority).decode(),
            "proxy-url": server.proxy_url,
            "config": plugin.cluster_config,
        }
        spec["cluster"] = {name: value for name, value in cluster.items() if value}
    return orjson.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}).decode()


def read(out: bytes, plugin: ExecPlugin, thing: str) -> Handed:
    """What the plugin printed. Raises ConfigError when that is no ExecCredential of the version asked for."""
    try:
        told = orjson.loads(out)
        version = told["apiVersion"] if told["kind"] == "ExecCredential" else ""
        handed = _handed(told.get("status") or {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _useless(plugin, thing, "printed no ExecCredential") from error
    if version != plugin.api_version:
        raise _useless(plugin, thing, f"answered in {version}, not {plugin.api_version}")
    if not handed.token and not (handed.certificate and handed.key):
        raise _useless(plugin, thing, "gave neither a token nor a client certificate with its key")
    return handed


def _useless(plugin: ExecPlugin, thing: str, reason: str) -> ConfigError:
    return ConfigError(thing, f"exec plugin {plugin.command} {reason}", "run it by hand to see why")


def _handed(status: Mapping[str, Any]) -> Handed:
    until = status.get("expirationTimestamp")
    return Handed(
        status.get("token") or "",
        (status.get("clientCertificateData") or "").encode(),
        (status.get("clientKeyData") or "").encode(),
        datetime.fromisoformat(until).timestamp() if until else 0.0,
    )


def _is_over(handed: Handed, now: float) -> bool:
    return bool(handed.until) and now >= handed.until - EARLY_S
