"""The node actor's part in CSI: drivers that register, and what the API is told of them (kubelet behaviour, 13.7)."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

from podherd.errors import ApiError
from podherd.kube.connect import connect
from podherd.kube.csi_node import CsiNode
from podherd.machines import node_events as heard
from podherd.model.settings import Settings
from podherd.volumes.csi.registration import Driver, Registrar

FIRST_S = 0.1
MOST_S = 7.0
"""Back-off of making the CSINode object."""
NOT_YET = "CSINode is not yet initialized"
"""The kubelet's words of a node that is not Ready for want of it."""

Turn = Callable[[heard.Event], None]


class NodeCsi:
    """Its works run for ever and never raise for what a server or a driver does.

    turn: the actor's, for what they learn.
    Its client is not that of the heartbeats: a driver that registers again and again costs only drivers.
    """

    def __init__(self, settings: Settings, turn: Turn, log: Any) -> None:
        self._turn = turn
        self._log = log
        self._api = connect(settings, settings.kube_api_qps, settings.kube_api_burst)
        self._node = CsiNode(self._api, settings.node_name)
        self._registrar = Registrar(str(settings.root_dir), self._told, self._install, self._node.uninstall, self._warn)

    def works(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What the actor is to run."""
        self._turn(heard.CsiNodeState(NOT_YET))
        yield "make the CSINode object", self._ensure()
        yield "register CSI drivers", self._registrar.run()

    async def close(self) -> None:
        """Break everything off."""
        await self._api.close()

    async def _ensure(self) -> None:
        """Until the Node object is there, and the API server takes its CSINode."""
        wait_s, told = FIRST_S, ""
        while True:
            try:
                await self._node.ensure()
            except ApiError as error:
                if error.reason != told:
                    told = error.reason
                    self._log.warning("no CSINode object", reason=told)
                await asyncio.sleep(wait_s)
                wait_s = min(MOST_S, 2 * wait_s)
            else:
                self._turn(heard.CsiNodeState(""))
                return

    async def _install(self, driver: Driver) -> None:
        info = driver.info
        await self._node.install(driver.name, info.node_id, info.max_volumes, info.topology)

    def _told(self, sockets: Mapping[str, str]) -> None:
        self._log.info("CSI drivers", registered=sorted(sockets))
        self._turn(heard.CsiSockets(dict(sockets)))

    def _warn(self, what: str, why: str) -> None:
        self._log.warning("CSI driver not registered", socket=what, reason=why)
