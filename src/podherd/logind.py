"""systemd-logind over D-Bus: holding a shutdown of the machine back, and hearing of one.

The way of https://systemd.io/INHIBITOR_LOCKS/: a delay lock is a file descriptor; it is let go by closing it.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbus_fast import BusType, DBusError, Message, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.errors import AuthError, InvalidAddressError

from podherd.errors import PodherdError

LOGIND = "org.freedesktop.login1"
LOGIND_PATH = "/org/freedesktop/login1"
MANAGER = "org.freedesktop.login1.Manager"
_BUS = "org.freedesktop.DBus"
_SYSTEMD = "org.freedesktop.systemd1"
SIGNAL = "PrepareForShutdown"
CONF_DIR = Path("/etc/systemd/logind.conf.d")
CONF = "99-kubelet.conf"
"""As the kubelet names it: the two replace each other on one machine."""
SIGHUP = 1
WITHIN_S = 10.0
TRIES = 5
FIRST_S = 0.1


class LogindError(PodherdError):
    """logind cannot be asked, or refuses."""


class Logind:
    """One connection to the system bus. Its locks outlive it: they are plain descriptors."""

    def __init__(self, bus: MessageBus) -> None:
        self._bus = bus

    @classmethod
    async def connect(cls) -> "Logind":
        """On the bus that DBUS_SYSTEM_BUS_ADDRESS names, or the machine's own. Raises LogindError."""
        try:
            async with asyncio.timeout(WITHIN_S):
                return cls(await MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect())
        except (OSError, EOFError, TimeoutError, AuthError, DBusError, InvalidAddressError) as error:
            raise LogindError("system bus", f"cannot be reached: {error or type(error).__name__}") from error

    async def longest_delay_s(self) -> float:
        """How long at most logind lets a shutdown be held back (InhibitDelayMaxSec). Raises LogindError."""
        return float(await self._property("InhibitDelayMaxUSec")) / 1e6

    async def allow_delay(self, seconds: int, conf_dir: Path = CONF_DIR) -> None:
        """Configure logind so that it lets a shutdown be held back so long. Raises LogindError when it does not."""
        file = _configure(conf_dir, seconds)
        await self._call(_SYSTEMD, "/org/freedesktop/systemd1", f"{_SYSTEMD}.Manager", "KillUnit", "ssi",
                         "systemd-logind.service", "all", SIGHUP)  # fmt: skip
        for number in range(TRIES):
            if (longest_s := await self.longest_delay_s()) >= seconds:
                return
            await asyncio.sleep(FIRST_S * 2**number)
        reason = f"allows {longest_s:g} s of delay, and {seconds} s are wanted"
        raise LogindError("logind", reason, f"set InhibitDelayMaxSec={seconds} in {file}")

    async def inhibit(self, who: str, why: str) -> int:
        """Hold the next shutdown back; the descriptor to close. Raises LogindError."""
        reply = await self._call(LOGIND, LOGIND_PATH, MANAGER, "Inhibit", "ssss", "shutdown", who, why, "delay")
        if not reply.unix_fds:
            raise LogindError("logind", "gave no lock")
        return int(reply.unix_fds[reply.body[0]])

    async def is_preparing(self) -> bool:
        """Whether a shutdown is under way. Raises LogindError."""
        return bool(await self._property("PreparingForShutdown"))

    async def listen(self, told: Callable[[bool], None]) -> None:
        """From now on tell of each shutdown that begins, and of each that is called off. Raises LogindError."""

        def hear(message: Message) -> None:
            if message.message_type is MessageType.SIGNAL and (message.interface, message.member) == (MANAGER, SIGNAL):
                told(bool(message.body and message.body[0] is True))

        rule = f"type='signal',sender='{LOGIND}',path='{LOGIND_PATH}',interface='{MANAGER}',member='{SIGNAL}'"
        self._bus.add_message_handler(hear)
        await self._call(_BUS, "/org/freedesktop/DBus", _BUS, "AddMatch", "s", rule)

    async def wait_lost(self) -> None:
        """Return once the bus has broken the connection off."""
        try:
            await self._bus.wait_for_disconnect()  # type: ignore[no-untyped-call]
        except (OSError, EOFError, DBusError):
            return

    def close(self) -> None:
        """Leave the bus."""
        self._bus.disconnect()

    async def _property(self, name: str) -> Any:
        reply = await self._call(LOGIND, LOGIND_PATH, f"{_BUS}.Properties", "Get", "ss", MANAGER, name)
        return reply.body[0].value

    async def _call(
        self, who: str, path: str, interface: str, member: str, signature: str, *body: str | int
    ) -> Message:
        call = Message(who, path, interface, member, signature=signature, body=list(body))
        try:
            async with asyncio.timeout(WITHIN_S):
                reply = await self._bus.call(call)
        except (OSError, EOFError, TimeoutError, DBusError) as error:
            raise LogindError(who, f"{member}: no answer: {error or type(error).__name__}") from error
        if reply is None or reply.message_type is MessageType.ERROR:
            why = f"{reply.error_name}: {reply.body[0] if reply.body else ''}" if reply else "no reply"
            raise LogindError(who, f"{member}: {why}")
        return reply


def _configure(conf_dir: Path, seconds: int) -> Path:
    """The file that was written."""
    file = conf_dir / CONF
    try:
        conf_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        file.write_text(f"# Kubelet logind override\n[Login]\nInhibitDelayMaxSec={seconds}\n")
    except OSError as error:
        raise LogindError(str(file), f"cannot be written: {error.strerror}") from error
    return file


def let_go(descriptor: int) -> None:
    """Give a lock back: nothing holds the shutdown back any more for its sake."""
    os.close(descriptor)
