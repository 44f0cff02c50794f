"""The command `podherd hollow`, or `python -m podherd.hollow`: serve until SIGTERM."""

import argparse
import asyncio
import ctypes
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from podherd.errors import PodherdError
from podherd.hollow.server import HollowServer, Options

_PR_SET_PDEATHSIG = 1


def _parser() -> argparse.ArgumentParser:
    description = "Serve a pretend container runtime until SIGTERM."
    parser = argparse.ArgumentParser(prog="podherd hollow", description=description)
    parser.add_argument("--socket", type=Path, required=True, help="path of the unix socket to serve on")
    parser.add_argument("--script", type=Path, help="YAML file of rules, images and faults; read again on SIGHUP")
    parser.add_argument(
        "--image", action="append", default=[], help="an image that is there from the start; repeatable"
    )
    parser.add_argument("--shuffle", action="store_true", help="another order in each list reply, as from a map")
    parser.add_argument(
        "--events", action=argparse.BooleanOptionalAction, default=True, help="whether GetContainerEvents is there"
    )
    parser.add_argument(
        "--log-dir-writes",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="make every container's log file; else only of those that are scripted to write",
    )
    parser.add_argument("--cgroup-driver", choices=("cgroupfs", "systemd"), default="cgroupfs")
    parser.add_argument("--seed", type=int, help="make ids and shuffling repeatable")
    parser.add_argument("--die-with-parent", action="store_true", help="SIGTERM to this process when its parent dies")
    return parser


def die_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent thread dies (prctl(2), PR_SET_PDEATHSIG)."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(0)


async def _serve(options: Options) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = HollowServer(options)
    loop.add_signal_handler(signal.SIGHUP, _reload, server)
    await server.start()
    # The records are many, live long and hold no cycles: collecting over them would be the server's greatest cost.
    gc.freeze()
    gc.set_threshold(50_000, 20, 1000)
    sys.stdout.write(f"ready {options.endpoint}\n")
    sys.stdout.flush()
    try:
        await stop.wait()
    finally:
        await server.stop()


def _reload(server: HollowServer) -> None:
    try:
        server.reload()
    except PodherdError as error:
        sys.stderr.write(f"the old script stays: {error}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve; the exit code: 0 stopped by a signal, 1 could not serve (usage errors exit 2 by themselves)."""
    given = _parser().parse_args(arguments)
    if given.die_with_parent:
        die_with_parent()
    options = Options(
        socket=given.socket.absolute(),
        script=given.script,
        images=tuple(given.image),
        shuffle=given.shuffle,
        events=given.events,
        log_dir_writes=given.log_dir_writes,
        cgroup_driver=given.cgroup_driver,
        seed=given.seed,
    )
    try:
        uvloop.run(_serve(options))
    except PodherdError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
