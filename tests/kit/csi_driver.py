"""A CSI driver for tests: a real gRPC server on a unix socket, whose volumes are directories that it binds for real."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from podherd.volumes.csi.messages import METHODS, message
from podherd.volumes.mounting import is_mount

STAGE_UNSTAGE = 1
VOLUME_MOUNT_GROUP = 6
NAME = "test.csi.podherd.dev"


class CsiDriver:
    """Serves the Node service and, on a socket of its own, plugin registration.

    calls: method and request of every call, in order. failures: for a method, the next code and details; each is used
    once. can: NodeServiceCapability types.
    """

    def __init__(self, folder: Path, *can: int, name: str = NAME) -> None:
        self.name = name
        self.can = can
        self.backing = folder / "backing"
        self.backing.mkdir(parents=True, exist_ok=True)
        self.socket = str(folder / "csi.sock")
        self.calls: list[tuple[str, Any]] = []
        self.failures: dict[str, list[tuple[grpc.StatusCode, str]]] = {}
        self.told: list[tuple[bool, str]] = []
        self.kind = "CSIPlugin"
        self.versions = ["1.12.0"]
        self.node = {
            "node_id": "node-7",
            "max_volumes_per_node": 9,
            "accessible_topology": {"segments": {"rack": "r1"}},
        }

    def asked(self, method: str) -> list[Any]:
        """The requests of one method."""
        return [request for called, request in self.calls if called == method]

    def methods(self) -> list[str]:
        """What was called, questions for capabilities left out."""
        return [method for method, _ in self.calls if method != "NodeGetCapabilities"]

    def data(self, handle: str) -> Path:
        """The directory that the volume of this handle is."""
        path = self.backing / handle.replace("/", "_")
        path.mkdir(exist_ok=True)
        return path

    def get_info(self, _request: Any) -> dict[str, Any]:
        return {"type": self.kind, "name": self.name, "endpoint": self.socket, "supported_versions": self.versions}

    def notify_registration_status(self, request: Any) -> dict[str, Any]:
        self.told.append((request.plugin_registered, request.error))
        return {}

    def node_get_info(self, _request: Any) -> dict[str, Any]:
        return self.node

    def node_get_capabilities(self, _request: Any) -> dict[str, Any]:
        return {"capabilities": [{"rpc": {"type": one}} for one in self.can]}

    def node_stage_volume(self, request: Any) -> dict[str, Any]:
        _bind(str(self.data(request.volume_id)), request.staging_target_path)
        return {}

    def node_unstage_volume(self, request: Any) -> dict[str, Any]:
        _unbind(request.staging_target_path)
        return {}

    def node_publish_volume(self, request: Any) -> dict[str, Any]:
        os.makedirs(request.target_path, exist_ok=True)
        _bind(request.staging_target_path or str(self.data(request.volume_id)), request.target_path)
        if request.readonly:
            subprocess.run(["mount", "-o", "remount,bind,ro", request.target_path], check=True)
        return {}

    def node_unpublish_volume(self, request: Any) -> dict[str, Any]:
        _unbind(request.target_path)
        if os.path.isdir(request.target_path):
            os.rmdir(request.target_path)
        return {}


def _bind(source: str, target: str) -> None:
    if not is_mount(target):
        subprocess.run(["mount", "--bind", source, target], check=True)


def _unbind(target: str) -> None:
    if os.path.isdir(target) and is_mount(target):
        subprocess.run(["umount", target], check=True)


@asynccontextmanager
async def serving(driver: CsiDriver, socket: str = "") -> AsyncIterator[CsiDriver]:
    """The driver listens on its own socket, or on this one, where it may register too."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Handlers(driver),))
    server.add_insecure_port(f"unix:{socket or driver.socket}")
    await server.start()
    try:
        yield driver
    finally:
        await server.stop(None)


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, driver: CsiDriver) -> None:
        self._driver = driver

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        if (method := METHODS.get(handler_call_details.method)) is None:
            return None
        package, request, reply = method
        return grpc.unary_unary_rpc_method_handler(
            self._answering(handler_call_details.method.rpartition("/")[2], message(package, reply)),
            request_deserializer=message(package, request).FromString,
            response_serializer=lambda it: it.SerializeToString(),
        )

    def _answering(self, method: str, reply: Any) -> Callable[..., Any]:
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in method).lstrip("_")

        async def answer(request: Any, context: Any) -> Any:
            self._driver.calls.append((method, request))
            if failures := self._driver.failures.get(method):
                await context.abort(*failures.pop(0))
            return reply(**getattr(self._driver, name)(request))

        return answer
