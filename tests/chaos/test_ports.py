"""Ray's ports: on loopback alone, and shut to whoever has no token; the memory and priority of what runs."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ASK = """
import sys
from ray._raylet import GcsClient
print(GcsClient(address=sys.argv[1]).internal_kv_get(b"session_name", b"session"))
"""
LISTENING = "0A"


def _listeners(pids: set[int]) -> Iterator[tuple[str, int]]:
    """Address and port of every TCP socket on which the processes listen (proc(5), net/tcp)."""
    inodes = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(entry))
            except OSError:
                continue
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in inodes:
                address, _, port = fields[1].partition(":")
                yield address[-8:], int(port, 16)


@pytest.mark.timeout(300)
def test_ray_listens_on_loopback_and_refuses_who_has_no_token(start: Callable[..., Any]) -> None:
    agent = start()
    found = list(_listeners(agent.tree()))
    assert len(found) >= 8
    loopback = socket.inet_aton("127.0.0.1")[::-1].hex().upper()
    assert {address for address, _ in found} == {loopback}
    (gcs,) = {port for _, port in _listeners({agent.pids()["gcs_server"]})}
    token = agent.root / "run" / "ray-token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.read_text() not in " ".join(_command_lines(agent.tree()))
    assert b"AuthenticationError" in _ask(gcs).stderr
    assert b"AuthenticationError" in _ask(gcs, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * 64).stderr
    right = _ask(gcs, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))
    assert right.stdout.startswith(b"b'session_"), right.stderr


def _ask(port: int, **words: str) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", ASK, f"127.0.0.1:{port}"]
    return subprocess.run(command, env={**clean, **words}, capture_output=True, timeout=120, check=False)


def _command_lines(pids: set[int]) -> list[str]:
    return [Path(f"/proc/{pid}/cmdline").read_text(errors="replace") for pid in pids]


@pytest.mark.timeout(300)
def test_the_parent_is_small(start: Callable[..., Any], say: Callable[[str], None]) -> None:
    agent = start()
    lines = Path(f"/proc/{agent.process.pid}/status").read_text().splitlines()
    rss_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    say(f"parent: {rss_kb} kB")
    assert rss_kb < 40_000


@pytest.mark.timeout(300)
def test_no_process_of_it_gives_way_to_the_pods_of_the_node(start: Callable[..., Any]) -> None:
    agent = start()
    own = os.getpriority(os.PRIO_PROCESS, agent.process.pid)
    found = {name: os.getpriority(os.PRIO_PROCESS, pid) for name, pid in agent.pids().items()}
    assert found == dict.fromkeys(found, own)
    assert {"pleg", "sources"} < set(found)
