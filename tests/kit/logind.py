"""A D-Bus of a test's own, by the real dbus-daemon, and on it a small systemd-logind that shuts down as it is told.

A real logind would take the machine with it.
"""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from dbus_fast.aio import MessageBus
from dbus_fast.constants import PropertyAccess
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property, dbus_signal

from podherd.logind import CONF, LOGIND, LOGIND_PATH

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"""
SYSTEMD = "org.freedesktop.systemd1"
END_S = 10.0


class Bus:
    """A dbus-daemon that can be ended and run again at its address."""

    def __init__(self, home: Path) -> None:
        self.socket = home / "bus"
        self._config = home / "bus.conf"
        self._config.write_text(CONFIG.format(socket=self.socket))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """For DBUS_SYSTEM_BUS_ADDRESS."""
        return f"unix:path={self.socket}"

    def start(self) -> None:
        """Run it; returns when it takes connections, which it says by its address."""
        command = ["dbus-daemon", f"--config-file={self._config}", "--nofork", "--nopidfile", "--print-address"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith(b"unix:")

    def stop(self) -> None:
        """End it; every connection breaks off."""
        if (process := self._process) is None:
            return
        self._process = None
        process.kill()
        process.wait(END_S)
        assert process.stdout is not None
        process.stdout.close()
        self.socket.unlink(missing_ok=True)


@contextmanager
def own_bus(home: Path) -> Iterator[Bus]:
    """One that runs."""
    bus = Bus(home)
    bus.start()
    try:
        yield bus
    finally:
        bus.stop()


class Logind(ServiceInterface):
    """org.freedesktop.login1.Manager. locks: the other ends of those that were given; they end when they are let go."""

    def __init__(self, conf_dir: Path, longest_s: int = 5) -> None:
        super().__init__("org.freedesktop.login1.Manager")
        self.conf_dir = conf_dir
        self.longest_s = longest_s
        self.preparing = False
        self.asked: list[tuple[str, str, str, str]] = []
        self.locks: list[int] = []
        self._given: list[int] = []

    @dbus_method(name="Inhibit")
    def inhibit(self, what: "s", who: "s", why: "s", mode: "s") -> "h":  # type: ignore[name-defined] # noqa: F821
        """As logind's: a pipe of which the asker holds one end."""
        self.asked.append((what, who, why, mode))
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self.locks.append(ours)
        self._given.append(theirs)
        return theirs

    @dbus_property(access=PropertyAccess.READ, name="InhibitDelayMaxUSec")
    def longest_delay(self) -> "t":  # type: ignore[name-defined] # noqa: F821
        """Microseconds."""
        return self.longest_s * 1_000_000

    @dbus_property(access=PropertyAccess.READ, name="PreparingForShutdown")
    def is_preparing(self) -> "b":  # type: ignore[name-defined] # noqa: F821
        """Whether a shutdown is under way."""
        return self.preparing

    @dbus_signal(name="PrepareForShutdown")
    def tell(self, active: bool) -> "b":  # type: ignore[name-defined] # noqa: F821
        """A shutdown begins, or is called off."""
        self.preparing = active
        return active

    def read_config(self) -> None:
        """As after a SIGHUP."""
        for line in (self.conf_dir / CONF).read_text().splitlines():
            if line.startswith("InhibitDelayMaxSec="):
                self.longest_s = int(line.partition("=")[2])

    def held(self) -> int:
        """How many locks nobody has let go, of those that have reached their askers."""
        while self._given:
            os.close(self._given.pop())
        return sum(_is_open(lock) for lock in self.locks)

    def close(self) -> None:
        """Let all locks go."""
        for lock in (*self.locks, *self._given):
            os.close(lock)


def _is_open(lock: int) -> bool:
    try:
        return bool(os.read(lock, 1))
    except BlockingIOError:
        return True


class Systemd(ServiceInterface):
    """org.freedesktop.systemd1.Manager, as far as it signals logind."""

    def __init__(self, logind: Logind) -> None:
        super().__init__("org.freedesktop.systemd1.Manager")
        self._logind = logind

    @dbus_method(name="KillUnit")
    def kill_unit(self, unit: "s", whom: "s", number: "i") -> None:  # type: ignore[name-defined] # noqa: F821
        """SIGHUP to logind makes it read its configuration."""
        if (unit, whom, number) == ("systemd-logind.service", "all", 1):
            self._logind.read_config()


@asynccontextmanager
async def own_logind(bus: Bus, conf_dir: Path, longest_s: int = 5) -> AsyncIterator[Logind]:
    """One that answers on the bus."""
    connection = await MessageBus(bus_address=bus.address, negotiate_unix_fd=True).connect()
    logind = Logind(conf_dir, longest_s)
    connection.export(LOGIND_PATH, logind)
    connection.export("/org/freedesktop/systemd1", Systemd(logind))
    await connection.request_name(SYSTEMD)
    await connection.request_name(LOGIND)
    try:
        yield logind
    finally:
        connection.disconnect()
        with suppress(EOFError, OSError):  # the bus may have gone first
            await connection.wait_for_disconnect()  # type: ignore[no-untyped-call]
        logind.close()
