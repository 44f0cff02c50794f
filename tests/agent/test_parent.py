"""The Ray-free parent with a stand-in for the driver: lives, deaths, signals, orphans. On real Ray: tests/chaos."""

import http.server
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

RUN = """
import sys
from pathlib import Path
from podherd.agent import herd, parent
from podherd.model.settings import Settings
herd.DRIVER = [sys.executable, sys.argv[2]]
if "limit" in sys.argv:
    parent.DRAIN_WITHIN_S = 1.0
settings = Settings(node_name="n", root_dir=Path(sys.argv[1]), runtime_endpoint="unix:///nowhere.sock",
                    drain_on_exit="drain" in sys.argv)
sys.exit(parent.run(settings, lambda line: print(line, flush=True)))
"""
DRIVER = """
import socket, subprocess, sys, time
from pathlib import Path
from podherd.agent import link, procs
procs.die_with_parent()
parent = socket.socket(fileno=int(sys.argv[1]))
settings = link.settings_of(parent)
vital = [subprocess.Popen(["sleep", "900"]) for _ in range(2)]
orphan = subprocess.run([sys.executable, "-c", "import subprocess; print(subprocess.Popen(['sleep', '901']).pid)"],
                        capture_output=True, check=True)
pids = {"raylet": vital[0].pid, "gcs_server": vital[1].pid}
(settings.root_dir / "pids").write_text(f"{vital[0].pid} {vital[1].pid} {orphan.stdout.decode()}")
with open(settings.root_dir / "run" / "log", "w") as log:
    log.write("level=info event=hello\\n")
parent.sendall(link.report(pids=pids, complete=True))
print(parent.makefile("rb").readline())
"""
FAILING = """
import socket, sys
from podherd.agent import link
parent = socket.socket(fileno=int(sys.argv[1]))
link.settings_of(parent)
parent.sendall(link.report(failed="Ray 9: cannot be started: no reason"))
"""
DRAINING = """
import socket, sys, time
from pathlib import Path
from podherd.agent import link, procs
procs.die_with_parent()
parent = socket.socket(fileno=int(sys.argv[1]))
root = link.settings_of(parent).root_dir
parent.sendall(link.report(pids={"raylet": 1, "gcs_server": 1}, complete=True))
with (root / "orders").open("a") as orders:
    orders.write(parent.makefile("rb").readline().decode())
    orders.flush()
    while not (root / "allow").exists():
        time.sleep(0.01)
    if (root / "allow").read_text() == "die":
        (root / "allow").write_text("drain")
        sys.exit(1)
    parent.sendall(link.report(drained=True))
"""


class Server(socketserver.UnixStreamServer):
    """An admin socket."""


class Summary(http.server.BaseHTTPRequestHandler):
    """Three pods that have not ended."""

    def do_GET(self) -> None:
        """Answer `/v1/summary`."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"pods": 5, "phases": {"Running": 2, "Pending": 1, "Failed": 2}}')

    def address_string(self) -> str:
        """A unix socket's client has none."""
        return "client"

    def log_message(self, *args: object) -> None:
        """Nothing on stderr."""


class Agent:
    """A parent process whose driver is the program `driver`."""

    def __init__(self, root: Path, driver: str, *words: str) -> None:
        self.root = root
        (root / "driver.py").write_text(driver)
        with (root / "out").open("wb") as out:
            command = [sys.executable, "-c", RUN, str(root), str(root / "driver.py"), *words]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)

    @property
    def said(self) -> str:
        return (self.root / "out").read_text()

    def wait(self, done: Callable[[], object], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, self.said
            time.sleep(0.02)

    def says(self, words: str, times: int = 1) -> None:
        self.wait(lambda: self.said.count(words) >= times)

    def pids(self) -> list[int]:
        return [int(word) for word in (self.root / "pids").read_text().split()]

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    begun: list[Agent] = []

    def begin(driver: str = DRIVER, *words: str) -> Agent:
        begun.append(Agent(tmp_path, driver, *words))
        return begun[-1]

    yield begin
    for each in begun:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait()


def test_it_says_when_the_actors_run_passes_their_log_lines_and_stops_on_a_signal(
    agent: Callable[..., Agent],
) -> None:
    one = agent()
    one.says("running: 0 actors")
    one.says("level=info event=hello")
    one.signal(signal.SIGINT)
    assert one.process.wait(20) == 0
    assert one.said.splitlines()[-1] == "stopped; containers run on (--drain-on-exit stops them)"
    one.wait(lambda: all(map(gone, one.pids())))


@pytest.mark.parametrize("vital", [0, 1])
def test_the_death_of_raylet_or_gcs_ends_that_life_and_begins_another(agent: Callable[..., Agent], vital: int) -> None:
    one = agent()
    one.says("running")
    old = one.pids()
    os.kill(old[vital], signal.SIGKILL)
    one.says("running", 2)
    assert "died; all of Ray is built again now" in one.said
    assert all(map(gone, old))
    assert not set(old) & set(one.pids())


def test_an_orphan_is_killed_while_its_relatives_live_on(agent: Callable[..., Agent]) -> None:
    one = agent()
    one.says("running")
    raylet, gcs, orphan = one.pids()
    one.wait(lambda: gone(orphan), 15)
    assert not gone(raylet)
    assert not gone(gcs)


def test_a_driver_that_fails_is_tried_again_ever_later_with_its_reason(agent: Callable[..., Agent]) -> None:
    one = agent(FAILING)
    one.says("cannot be started: no reason; all of Ray is built again now")
    one.says("built again in 0.5 s")
    one.says("built again in 1 s")
    one.signal()
    assert one.process.wait(20) == 0


def test_all_dies_with_a_killed_parent(agent: Callable[..., Agent]) -> None:
    one = agent()
    one.says("running")
    one.process.kill()
    one.process.wait()
    one.wait(lambda: all(map(gone, one.pids())), 15)


@pytest.mark.parametrize(("fate", "lives"), [("drain", 1), ("die", 2)])
def test_a_drain_is_ordered_until_a_life_has_done_it(agent: Callable[..., Agent], fate: str, lives: int) -> None:
    one = agent(DRAINING, "drain")
    one.says("running")
    one.signal()
    one.says("draining")
    (one.root / "allow.new").write_text(fate)
    (one.root / "allow.new").rename(one.root / "allow")
    assert one.process.wait(20) == 0
    assert (one.root / "orders").read_text() == "drain\n" * lives
    assert one.said.splitlines()[-1] == "stopped"


def test_a_drain_that_outlasts_its_time_is_told_as_the_failure_it_is(agent: Callable[..., Agent]) -> None:
    one = agent(DRAINING, "drain", "limit")
    one.says("running")
    server = Server(str(one.root / "podherd.sock"), Summary)
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        one.signal()
        assert one.process.wait(20) == 1
        server.shutdown()
        thread.join()
    assert one.said.splitlines()[-1] == "stopped before every pod was: 3 pods still run"


def test_a_second_signal_ends_a_drain_at_once_and_a_server_that_is_gone_counts_nothing(
    agent: Callable[..., Agent],
) -> None:
    one = agent(DRAINING, "drain")
    one.says("running")
    one.signal()
    one.says("draining")
    one.signal()
    assert one.process.wait(20) == 1
    assert one.said.splitlines()[-1] == "stopped before every pod was: some may still run"


def test_a_run_directory_that_cannot_be_written_ends_a_life_and_not_the_agent(agent: Callable[..., Agent]) -> None:
    one = agent()
    one.says("running")
    log = one.root / "run" / "driver.log"
    log.unlink()
    log.mkdir()
    os.kill(one.pids()[0], signal.SIGKILL)
    one.says("cannot start: ", 2)
    log.rmdir()
    one.says("running", 2)
    one.signal()
    assert one.process.wait(20) == 0
