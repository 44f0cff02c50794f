"""The client of a hollow runtime's control service, for tests and benchmarks."""

from types import TracebackType
from typing import Any, cast

import grpc
import orjson

from podherd.errors import CriError
from podherd.hollow.control_calls import SERVICE

_TIMEOUT_S = 30.0


class Control:
    """`async with Control("unix:///path") as control: await control.kill(pod="default/web", container="app")`.

    Every method raises CriError with the server's code and text.
    """

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._channel = grpc.aio.insecure_channel(endpoint, options=(("grpc.max_receive_message_length", -1),))

    async def __aenter__(self) -> "Control":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave the socket."""
        await self._channel.close()

    async def call(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """Any method of the service by its name; waits for a socket that is not there yet."""
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(f"/{SERVICE}/{name}")
        try:
            reply = await ask(orjson.dumps(fields), timeout=_TIMEOUT_S, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            raise CriError(f"{self.endpoint} {name}", error.code().name, error.details() or "no details") from error
        return cast("dict[str, Any]", orjson.loads(reply) or {})

    async def kill(
        self, *, container_id: str = "", pod: str = "", container: str = "", exit_code: int = 137, reason: str = ""
    ) -> str:
        """End a container now, by its id or by `namespace/name` of its pod and its own name; its id."""
        fields = {"container_id": container_id, "pod": pod, "container": container}
        reply = await self.call("Kill", **fields, exit_code=exit_code, reason=reason)
        return str(reply["container_id"])

    async def lose_sandbox(self, pod: str, kill_containers: bool = False) -> str:
        """A pod's sandbox is not ready any more; its id."""
        return str((await self.call("Sandbox", pod=pod, kill_containers=kill_containers))["sandbox_id"])

    async def fault(self, method: str = "*", **fields: Any) -> int:
        """Arm a fault: namespace, pod, container, image (globs), code, message, delay, hang, times, when; its id."""
        return int((await self.call("Fault", method=method, **fields))["id"])

    async def clear_faults(self, fault_id: int | None = None) -> None:
        """Disarm one fault or all; calls they hold go on."""
        await self.call("ClearFaults", id=fault_id)

    async def script(self, rules: list[dict[str, Any]] | None = None, images: list[str] | None = None) -> None:
        """Follow these rules (match, actions) from now on; none: no rules."""
        await self.call("Script", rules=rules or [], images=images or [])

    async def wipe(self, images: bool = False) -> None:
        """Forget all sandboxes and containers."""
        await self.call("Wipe", images=images)

    async def reboot(self) -> None:
        """All sandboxes not ready, all running containers exited 255."""
        await self.call("Reboot")

    async def events(self, on: bool) -> None:
        """Whether GetContainerEvents is there."""
        await self.call("Events", on=on)

    async def ready(self, condition: str, ready: bool, reason: str = "", message: str = "") -> None:
        """Set RuntimeReady or NetworkReady."""
        await self.call("Ready", condition=condition, ready=ready, reason=reason, message=message)

    async def restart(self, down_s: float = 0.0) -> None:
        """The socket is away for `down_s`; the records stay."""
        await self.call("Restart", down_s=down_s)

    async def stats(self) -> dict[str, Any]:
        """Counts of the server, see ControlCalls.stats."""
        return await self.call("Stats")

    async def journal(self, since: int = 0) -> list[dict[str, Any]]:
        """Entries (see journal.Entry) after number `since`."""
        entries: list[dict[str, Any]] = (await self.call("Journal", since=since))["entries"]
        return entries
