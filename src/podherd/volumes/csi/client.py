"""Calls to a driver over its unix socket: one channel for one deed, so that a driver that restarts is no matter."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple

import grpc

from podherd.volumes.csi.messages import CSI, METHODS, REGISTRATION, message
from podherd.volumes.errors import VolumeError

CALL_S = 120.0
"""As the kubelet's csiTimeout."""
STAGE_UNSTAGE = 1
SINGLE_NODE_MULTI_WRITER = 5
VOLUME_MOUNT_GROUP = 6
_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.default_authority", "localhost"),
)
_UNFINISHED = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"})


class CsiError(VolumeError):
    """A call failed. code: of gRPC, such as `NOT_FOUND`. unfinished: the driver may still be at it."""

    def __init__(self, method: str, code: str, details: str) -> None:
        name = "".join(word.capitalize() for word in code.split("_")).replace("Cancelled", "Canceled")
        super().__init__(f"CSI {method}", details or code, words=f"rpc error: code = {name} desc = {details}")
        self.code = code

    @property
    def unfinished(self) -> bool:
        """Whether the operation may be in progress yet."""
        return self.code in _UNFINISHED


class NodeInfo(NamedTuple):
    """What a driver says of this node. max_volumes: 0 for no limit. topology: labels of the node."""

    node_id: str
    max_volumes: int
    topology: Mapping[str, str]


class Plugin:
    """One socket, in an `async with`. Every call raises CsiError."""

    def __init__(self, socket: str) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{socket}", options=_OPTIONS)

    async def __aenter__(self) -> "Plugin":
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        await self._channel.close()

    async def call(self, method: str, timeout_s: float = CALL_S, **fields: Any) -> Any:
        """The reply to a method of `messages.METHODS`."""
        package, request, reply = METHODS[method]
        asked = message(package, request)(**fields)
        done: Any = self._channel.unary_unary(
            method,
            request_serializer=lambda it: it.SerializeToString(),
            response_deserializer=message(package, reply).FromString,
        )
        try:
            return await done(asked, timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise CsiError(method.rpartition("/")[2], error.code().name, error.details() or "") from error

    async def node(self, method: str, **fields: Any) -> Any:
        """A method of the Node service."""
        return await self.call(f"/{CSI}.Node/{method}", **fields)

    async def capabilities(self) -> frozenset[int]:
        """What the Node service can (NodeServiceCapability.RPC.Type)."""
        reply = await self.node("NodeGetCapabilities")
        return frozenset(each.rpc.type for each in reply.capabilities)

    async def node_info(self) -> NodeInfo:
        """What the driver says of this node."""
        reply = await self.node("NodeGetInfo")
        return NodeInfo(reply.node_id, reply.max_volumes_per_node, dict(reply.accessible_topology.segments))

    async def registration(self, method: str, timeout_s: float, **fields: Any) -> Any:
        """A method of the Registration service."""
        return await self.call(f"/{REGISTRATION}.Registration/{method}", timeout_s, **fields)
