"""The node actor's dealings with the API server: registration, the Node's status, its Lease (kubelet behaviour, 7)."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from podherd.errors import ApiError
from podherd.kube.connect import connect, keeps_certificate
from podherd.kube.door import Dropped, Listed, News, Put, Trouble
from podherd.kube.node_object import lease_of, renewed, status_patch, to_adopt
from podherd.machines import node_events as heard
from podherd.model.settings import Settings
from podherd.wire import codec

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
FIRST_S = 0.1
MOST_S = 7.0
"""Back-off of registration and of making the Lease."""
JITTER = 0.04
RENEW = 0.25
"""Part of the Lease's duration after which it is renewed."""

Turn = Callable[[heard.Event], None]


class NodeApi:
    """Its works run for ever and never raise for what a server does. turn: the actor's, for what they learn.

    Heartbeats have a client of their own, without a limit: nothing else may make the node look dead.
    """

    def __init__(
        self,
        settings: Settings,
        node: Callable[[float], dict[str, Any]],
        turn: Turn,
        clock: Callable[[], float],
        log: Any,
    ) -> None:
        self._settings = settings
        self._node = node
        self._turn = turn
        self._clock = clock
        self._log = log
        self._name = settings.node_name
        self._path = f"{NODES}/{settings.node_name}"
        self._api = connect(settings, 0, 0)
        self._status: tuple[bytes, dict[str, str]] | None = None
        self._due = asyncio.Event()
        self._known = asyncio.Event()
        self._uid = ""

    def works(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What the actor is to run."""
        query = {"fieldSelector": f"metadata.name={self._name}"}
        yield "follow the Node", self._api.follow(NODES, query, self._told)
        yield "report the Node's status", self._report()
        yield "renew the Lease", self._lease()
        if self._settings.register_node:
            yield "register the Node", self._register()
        if keeps_certificate(self._settings):
            # Here, since keys and certificates are long to import.
            from podherd.kube.rotation import run_rotation

            yield "keep the certificate", run_rotation(self._settings, lambda text: self._log.info(text))

    def report(self, status: bytes, labels: dict[str, str]) -> None:
        """Send this status next, and put these labels right with it; one that waits is replaced."""
        self._status = status, labels
        self._due.set()

    async def close(self) -> None:
        """Break everything off."""
        await self._api.close()

    def _told(self, news: News) -> None:
        match news:
            case Listed(items):
                self._see(items[0] if items else None)
            case Put(body):
                self._see(body)
            case Dropped():
                self._see(None)
            case Trouble(reason) if reason:
                self._log.warning("node not followed", reason=reason)
            case Trouble():
                self._log.info("node followed again")

    def _see(self, body: dict[str, Any] | None) -> None:
        if self._uid and body is None:
            self._log.warning("the Node object was deleted", mend="it is made again when the agent starts")
        self._uid = body["metadata"]["uid"] if body else ""
        (self._known.set if body else self._known.clear)()
        self._turn(heard.ApiNode(codec.pack(body) if body else b""))

    async def _register(self) -> None:
        """Make the Node object or take over the one that is there; once (a deleted Node is not made anew)."""
        wait_s = FIRST_S
        while True:
            try:
                await self._create_or_adopt()
            except ApiError as error:
                self._log.warning("node not registered", reason=error.reason)
                await asyncio.sleep(wait_s)
                wait_s = min(MOST_S, 2 * wait_s)
            else:
                return

    async def _create_or_adopt(self) -> None:
        wanted = self._node(self._clock())
        try:
            self._see(await self._api.create(NODES, wanted))
        except ApiError as error:
            if error.status not in (403, 409):
                raise
            there = await self._api.get(self._path)
            if (change := to_adopt(there, wanted)) is not None:
                there = await self._api.patch(self._path, change)
            self._see(there)

    async def _report(self) -> None:
        wait_s = FIRST_S
        while True:
            await self._due.wait()
            self._due.clear()
            if self._status is None:
                continue
            (status, labels), self._status = self._status, None
            try:
                there = await self._api.patch(f"{self._path}/status", status_patch(codec.unpack(status), labels))
            except ApiError as error:
                self._log.warning("node status not taken", reason=error.reason)
                await asyncio.sleep(wait_s)
                wait_s = min(MOST_S, 2 * wait_s)
                self._turn(heard.ReportFailed())
            else:
                wait_s = FIRST_S
                self._turn(heard.Reported(codec.pack(there)))

    async def _lease(self) -> None:
        """Renewed for ever, whatever else the server is slow with."""
        lease: dict[str, Any] | None = None
        wait_s = FIRST_S
        while True:
            await self._known.wait()
            try:
                lease = await self._renew(lease)
            except ApiError as error:
                self._log.warning("lease not renewed", reason=error.reason)
                lease = None
                await asyncio.sleep(wait_s)
                wait_s = min(MOST_S, 2 * wait_s)
                continue
            wait_s = FIRST_S
            await asyncio.sleep(self._settings.node_lease_s * RENEW * (1 + JITTER * random.random()))

    async def _renew(self, lease: dict[str, Any] | None) -> dict[str, Any]:
        now = self._clock()
        if lease is None:
            try:
                lease = await self._api.get(f"{LEASES}/{self._name}")
            except ApiError as error:
                if error.status != 404:
                    raise
                return await self._api.create(LEASES, lease_of(self._name, self._uid, self._settings.node_lease_s, now))
        path = f"{LEASES}/{self._name}"
        return await self._api.replace(path, renewed(lease, self._name, self._uid, self._settings.node_lease_s, now))
