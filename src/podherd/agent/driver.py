"""`python -m podherd.agent.driver FD`: the process that is Ray's driver. Its parent talks to it over the socket FD.

In: the settings, then `stop` or `drain`. Out: reports (`link`). It may be killed at any moment: it dies with its
parent, and Ray dies with it.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from dataclasses import asdict
from pathlib import Path

from podherd.actors import logs
from podherd.actors.supervisor import Seen, Supervisor
from podherd.agent import link, procs
from podherd.errors import PodherdError
from podherd.model.settings import Settings

DRAIN_RETRY_S = 1.0
DRAIN_REQUEST = b"POST /v1/drain HTTP/1.1\r\nHost: podherd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class ActorsFile:
    """`<root>/run/actors.json`: a list of `{name, pid, restarts, at}`, replaced whole."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.root_dir / "run" / "actors.json"
        self._written = False

    def write(self, seen: list[Seen], changed: bool) -> None:
        """Write when something changed, and again when that failed the last time."""
        if self._written and not changed:
            return
        new = self._path.with_suffix(".new")
        try:
            new.write_text(json.dumps([asdict(each) for each in seen]))
            new.replace(self._path)
            self._written = True
        except OSError as error:  # it is for people to read: not worth the actors' lives
            self._written = False
            logs.logger("driver").warning("actors file", path=str(self._path), error=str(error))


async def drain(admin_socket: Path) -> None:
    """Return once the server actor says that no pod runs; one that dies or refuses meanwhile is asked again."""
    while True:
        if await _ask_drain(admin_socket):
            return
        await asyncio.sleep(DRAIN_RETRY_S)


async def _ask_drain(admin_socket: Path) -> bool:
    try:
        reader, writer = await asyncio.open_unix_connection(admin_socket)
        writer.write(DRAIN_REQUEST)
        status = await reader.readline()
        writer.close()
    except OSError:
        return False
    return b" 200 " in status


class Driver:
    """Supervisor and parent brought together."""

    def __init__(self, settings: Settings, parent: socket.socket) -> None:
        self._settings = settings
        self._parent = parent
        self._file = ActorsFile(settings)
        self._supervisor = Supervisor(settings, self._report)

    def _report(self, seen: list[Seen], changed: bool) -> None:
        self._file.write(seen, changed)
        if changed:
            pids = {each.name: each.pid for each in seen}
            self._parent.sendall(link.report(pids=pids, complete=self._supervisor.complete))

    async def run(self) -> None:
        """Supervise until the parent says otherwise."""
        self._supervisor.start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # Ray's handlers would end this process in Ray's way
        watching = asyncio.create_task(self._supervisor.run())
        orders = asyncio.create_task(self._orders())
        await asyncio.wait({watching, orders}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            await watching

    async def _orders(self) -> None:
        reader, _writer = await asyncio.open_connection(sock=self._parent.dup())
        if await reader.readline() == link.DRAIN:
            await drain(self._settings.admin_socket)
            self._parent.sendall(link.report(drained=True))


def main(arguments: list[str]) -> int:
    """Take the settings from the socket and run; the exit code."""
    parent_pid = os.getppid()
    procs.die_with_parent()
    if os.getppid() != parent_pid:
        return 1
    parent = socket.socket(fileno=int(arguments[0]))
    parent.set_inheritable(False)
    settings = link.settings_of(parent)
    logs.configure(settings)
    failed = ""
    try:
        asyncio.run(Driver(settings, parent).run())
    except* PodherdError as errors:
        failed = str(errors.exceptions[0])
    if failed:
        parent.sendall(link.report(failed=failed))
    return int(bool(failed))


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # Ray's exit handlers would take seconds to end what dies with this process anyway.
    os._exit(code)
