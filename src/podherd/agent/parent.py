"""The process that a user starts. It has no Ray in it, lives through every death of Ray, and builds Ray again.

It watches the driver, the raylet and the GCS by pidfd; when one dies, all of that life is killed and a new one begins
(containers are the runtime's, and untouched). Between it and the driver stands the `guard`, which ends what a killed
actor leaves, and everything when the parent dies. The parent is a subreaper too: for the orphans of a killed guard.
"""

import json
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

from podherd.actors import logs
from podherd.actors.ray_settings import MARKER, remove_outside_dir
from podherd.agent import link, procs
from podherd.agent.admin import Admin
from podherd.agent.config_values import HOLLOW
from podherd.agent.herd import Herd
from podherd.agent.hollow_child import HollowChild
from podherd.agent.rebuild import BackOff
from podherd.errors import PodherdError
from podherd.model.settings import Settings

ORPHANS_EVERY_S = 5.0
"""The guard looks more often; here arrives only what outlives a guard."""
STOP_WITHIN_S = 5.0
DRAIN_WITHIN_S = 300.0
"""A pod's grace is its own affair, but the agent does not wait for ever; a second Ctrl-C ends it at once."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Say = Callable[[str], None]


def run(settings: Settings, on_state: Say, on_log: Say | None = None) -> int:
    """Run the agent until it is told to stop; the exit code. Call it in the main thread.

    on_state: a line a person reads, when something changes. on_log: the actors' log lines; None: to stderr.
    """
    run_dir = settings.root_dir / "run"
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    with (
        _hollow(settings, on_state) as (hollow, settled),
        _signals() as wakeup,
        _log_pipe(settled) as pipe,
    ):
        return Parent(settled, run_dir, mark, hollow, on_state).run(wakeup, pipe, on_log or to_stderr)


def to_stderr(line: str) -> None:
    """Where the actors' log goes when nobody else wants it."""
    sys.stderr.write(line + "\n")


class Parent:
    """The loop: one `select` over signals, the log pipe, the driver's words and deaths, and the next time of note."""

    def __init__(self, settings: Settings, run_dir: Path, mark: str, hollow: HollowChild | None, on_state: Say) -> None:
        self._settings = settings
        self._mark = mark
        self._run_dir = run_dir
        self._hollow = hollow
        self._say = on_state
        self._back_off = BackOff()
        self._herd: Herd | None = None
        self._lives = 0
        self._begin_at = 0.0
        self._draining = False
        self._drained = False
        self._was_complete = False
        self._stop_by: float | None = None
        self._look_at = 0.0
        self._not_mine = procs.children()

    def run(self, wakeup: socket.socket, pipe: int, on_log: Say) -> int:
        """Until it is told to stop, and everything below is gone; 1 when pods were to be stopped and may still run."""
        procs.become_subreaper()
        log = _Lines(pipe, on_log)
        try:
            while not self._turn(wakeup, log):
                continue
            code, words = self._outcome()
        finally:
            if self._herd is not None:
                self._end(self._herd)
            self._kill_all_orphans()
            procs.become_subreaper(False)
            remove_outside_dir(self._settings.root_dir)
            log.read()
        self._say(words)
        return code

    def _outcome(self) -> tuple[int, str]:
        """Exit code and last words, as long as there is a server to ask."""
        if not self._settings.drain_on_exit:
            if self._hollow is not None:
                return 0, "stopped; the pretend containers are gone"
            return 0, "stopped; containers run on (--drain-on-exit stops them)"
        if self._drained:
            return 0, "stopped"
        return 1, f"stopped before every pod was: {_still_running(self._settings.root_dir)}"

    def _turn(self, wakeup: socket.socket, log: "_Lines") -> bool:
        """Wait for something and deal with it; True when there is no more to do."""
        now = time.monotonic()
        if self._herd is None and self._goes_on and now >= self._begin_at:
            self._begin(now)
        files = {wakeup.fileno(): "signal", log.pipe: "log"}
        if self._herd is not None:
            files.update((file, f"herd {name}") for file, name in self._herd.files())
        if self._hollow is not None:
            files[self._hollow.pidfd] = "hollow"
        ready, _, _ = select.select(list(files), [], [], self._patience_s(now))
        for what in [files[file] for file in ready]:
            if what == "signal":
                self._signalled(wakeup.recv(64))
            elif what == "log":
                log.read()
            elif what == "hollow" and self._hollow is not None:
                self._hollow.restart()
            elif self._herd is not None:
                self._herd_stirs(what.removeprefix("herd "))
        return self._look_around(time.monotonic())

    @property
    def _goes_on(self) -> bool:
        """Whether Ray is needed: also while pods are stopped, and a life that ended in between gets a successor."""
        return self._stop_by is None or (self._draining and not self._drained)

    def _patience_s(self, now: float) -> float:
        times = [self._look_at]
        if self._herd is None:
            times.append(self._begin_at)
        if self._stop_by is not None:
            times.append(self._stop_by)
        return max(0.0, min(times) - now)

    def _begin(self, now: float) -> None:
        self._lives += 1
        self._say("starting" if self._lives == 1 else "starting again")
        try:
            self._herd = Herd(self._settings, self._run_dir, f"{self._mark}.{self._lives}", now)
        except OSError as error:
            wait_s = self._back_off.after_death(now, now)
            self._begin_at = now + wait_s
            self._say(f"cannot start: {error}; again {f'in {wait_s:g} s' if wait_s else 'now'}")

    def _herd_stirs(self, dead: str) -> None:
        """The driver said something (no name), or a vital process died."""
        herd = self._herd
        if herd is None:
            return
        if not dead:
            was_complete = herd.complete
            herd.hear()
            if herd.complete and not was_complete:
                self._completed(herd)
            return
        herd.hear()
        self._drained = self._drained or herd.drained
        if self._goes_on:
            self._lost(herd, dead)
        else:
            self._end(herd)

    def _completed(self, herd: Herd) -> None:
        self._say(f"running: {len(herd.pids) - 2} actors, {time.monotonic() - herd.born_at:.1f} s after the start")
        self._was_complete = True
        if self._draining:
            herd.order(link.DRAIN)

    def _lost(self, herd: Herd, dead: str) -> None:
        self._end(herd)
        now = time.monotonic()
        wait_s = self._back_off.after_death(herd.born_at, now)
        self._begin_at = now + wait_s
        why = f": {herd.last_words()}" if dead == "driver" and not herd.complete else ""
        self._say(f"{dead} died{why}; all of Ray is built again {f'in {wait_s:g} s' if wait_s else 'now'}")

    def _end(self, herd: Herd) -> None:
        herd.end()
        self._herd = None

    def _signalled(self, numbers: bytes) -> None:
        """The first signal asks, the second one orders."""
        for number in numbers:
            if number not in SIGNALS:
                continue
            now = time.monotonic()
            drain = self._settings.drain_on_exit and self._was_complete
            if self._stop_by is not None or (self._herd is None and not drain):
                self._stop_by, self._draining = now, False
                continue
            self._say("draining: pods are stopped; once more to stop now" if drain else "stopping")
            self._stop_by, self._draining = now + (DRAIN_WITHIN_S if drain else STOP_WITHIN_S), drain
            if self._herd is not None and (self._herd.complete or not drain):
                self._herd.order(link.DRAIN if drain else link.STOP)

    def _look_around(self, now: float) -> bool:
        if self._stop_by is not None and ((self._herd is None and not self._goes_on) or now >= self._stop_by):
            return True
        if now >= self._look_at:
            self._look_at = now + ORPHANS_EVERY_S
            self._kill_orphans()
        return False

    def _kill_orphans(self) -> bool:
        """Kill what became our child without being started by us: it comes from a dead guard. Whether there was any.

        A zombie is buried. A process of another origin (a runtime's shim, say) is left alone: ours carry the mark.
        """
        started = {self._herd.guard_pid} if self._herd is not None else set()
        if self._hollow is not None:
            started.add(self._hollow.pid)
        strangers = procs.children() - started - self._not_mine
        mine = {pid for pid in strangers if procs.is_dead(pid) or self._is_marked(pid)}
        if mine:
            procs.bury(procs.kill_tree(mine) | mine)
        return bool(mine)

    def _kill_all_orphans(self) -> None:
        """At the end: until none is left, as each that dies may leave children."""
        deadline = time.monotonic() + STOP_WITHIN_S
        while self._kill_orphans() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _is_marked(self, pid: int) -> bool:
        return procs.environment_value(pid, MARKER).startswith(self._mark)


def _still_running(root_dir: Path) -> str:
    """How many pods have not ended, by the server's count while it answers."""
    try:
        with Admin(root_dir).stream("summary", timeout_s=STOP_WITHIN_S) as answer:
            phases = json.loads(answer.read())["phases"]
    except (PodherdError, OSError, ValueError, HTTPException):
        return "some may still run"
    count = sum(phases.get(phase, 0) for phase in ("Pending", "Running"))
    return f"{count} pod{'' if count == 1 else 's'} still run{'s' if count == 1 else ''}"


class _Lines:
    """The log pipe's lines."""

    def __init__(self, pipe: int, on_log: Say) -> None:
        self.pipe = pipe
        self._on_log = on_log
        self._rest = b""

    def read(self) -> None:
        """Pass on what is there."""
        try:
            data = os.read(self.pipe, 65536)
        except BlockingIOError:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_log(line.decode(errors="replace"))


@contextmanager
def _log_pipe(settings: Settings) -> Iterator[int]:
    """The reading end of the actors' log; held open for writing too, so that it never ends."""
    path = logs.pipe_path(settings)
    path.unlink(missing_ok=True)
    os.mkfifo(path, 0o600)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield pipe
    finally:
        os.close(pipe)


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """Signals as bytes on a socket; what was before is put back."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    old = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield ours
    finally:
        signal.set_wakeup_fd(old)
        for number, handler in before.items():
            signal.signal(number, handler)
        ours.close()
        theirs.close()


@contextmanager
def _hollow(settings: Settings, say: Say) -> Iterator[tuple[HollowChild | None, Settings]]:
    """The hollow runtime when the settings name it, and the settings with its socket."""
    if settings.runtime_endpoint != HOLLOW:
        yield None, settings
        return
    child = HollowChild(settings.root_dir / "hollow.sock", say)
    try:
        yield child, replace(settings, runtime_endpoint=child.endpoint)
    finally:
        child.stop()
