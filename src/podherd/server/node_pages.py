"""Pages about the node and the agent itself: node, images, health, actors, drain."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from podherd import __version__
from podherd.model.settings import LOCK_FILE, Settings
from podherd.model.status import rfc3339
from podherd.model.url import without_secrets
from podherd.server.facts import Facts
from podherd.server.replies import BusyError, reply

AskNode = Callable[[str], Awaitable[Any]]
"""The node actor's answer to a question by its name. Raises BusyError."""


class NodePages:
    """Handlers over the facts, the node actor's answers and the agent's own files."""

    def __init__(
        self,
        facts: Facts,
        ask_node: AskNode,
        drain: Callable[[], Awaitable[None]],
        clock: Callable[[], float],
        settings: Settings,
    ) -> None:
        self._facts = facts
        self._ask_node = ask_node
        self._drain = drain
        self._clock = clock
        self._settings = settings

    async def node(self, _request: web.Request) -> web.Response:
        """`/v1/node`: the v1.Node and the last relist."""
        if (node := self._facts.node()) is None:
            raise BusyError("node", "the node actor has not spoken yet", "try again in a few seconds")
        return reply({"node": self._aged(node), "pleg": self._pleg()})

    def _aged(self, node: dict[str, Any]) -> dict[str, Any]:
        """The node with a time of creation: while no API server gives one, that of this agent's start."""
        metadata = node.get("metadata") or {}
        try:
            begun = (self._settings.root_dir / LOCK_FILE).stat().st_mtime  # the lock is written when an agent starts
        except OSError:
            return node
        return {**node, "metadata": {"creationTimestamp": rfc3339(begun), **metadata}}

    def _pleg(self) -> dict[str, Any] | None:
        if (pleg := self._facts.pleg) is None:
            return None
        return {
            "lastRelistAt": pleg.last_relist_at,
            "relistSeconds": pleg.relist_s,
            "sandboxes": pleg.sandboxes,
            "containers": pleg.containers,
            "stalePods": pleg.stale_pods,
        }

    async def images(self, _request: web.Request) -> web.Response:
        """`/v1/images`: the runtime's images as the node actor lists them."""
        return reply({"items": await self._ask_node("images")})

    async def health(self, _request: web.Request) -> web.Response:
        """`/healthz`: `ok`, or 500 with the reason."""
        ill = self._facts.ill(self._clock())
        return web.Response(text=ill or "ok", status=500 if ill else 200)

    async def actors(self, _request: web.Request) -> web.Response:
        """`/v1/actors`: what the supervisor wrote about its actors last."""
        try:
            return reply({"items": orjson.loads((self._settings.root_dir / "run" / "actors.json").read_bytes())})
        except (OSError, orjson.JSONDecodeError) as error:
            raise BusyError("actors", f"the supervisor's file cannot be read: {error}", "try again") from error

    async def agent(self, _request: web.Request) -> web.Response:
        """`/v1/agent`: how this agent was started."""
        settings = self._settings
        return reply({
            "version": __version__,
            "nodeName": settings.node_name,
            "runtimeEndpoint": settings.runtime_endpoint,
            "manifests": str(settings.manifests or ""),
            "manifestUrl": without_secrets(settings.manifest_url),
        })  # fmt: skip

    async def drain(self, _request: web.Request) -> web.Response:
        """POST `/v1/drain`: stop every pod gracefully; answers once no pod runs."""
        await self._drain()
        return reply({"drained": True})
