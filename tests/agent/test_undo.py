"""What `make stop` does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from podherd.agent import lock, undo
from podherd.agent.provision import Containerd
from podherd.errors import PodherdError

AGENT = """
import signal, sys
from pathlib import Path
from podherd.agent import lock
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[2] == "deaf" else signal.default_int_handler)
with lock.root_lock(Path(sys.argv[1])):
    print("ready", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        sys.exit(0)
"""


def an_agent(root: Path, kind: str) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", AGENT, str(root), kind], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.stdout.close()
    return child


def test_the_agent_of_the_root_is_ended(tmp_path: Path) -> None:
    child, said = an_agent(tmp_path, "polite"), []
    assert lock.holder(tmp_path) == child.pid
    undo.undo(tmp_path, said.append)
    assert child.wait(10) == 0
    assert lock.holder(tmp_path) is None
    assert said[0] == f"stopping the agent, pid {child.pid}"


def test_an_agent_that_does_not_end_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    child = an_agent(tmp_path, "deaf")
    with pytest.raises(PodherdError) as refused:
        undo.stop_agent(tmp_path, print, within_s=0.05)
    assert refused.value.mend == f"kill -9 {child.pid}, then once more"
    child.kill()
    child.wait()


def test_without_agent_and_runtime_there_is_nothing_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert undo.main([os.fspath(tmp_path / "none")]) == 0
    assert undo.main([os.fspath(tmp_path)]) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[0] == f"nothing is at {tmp_path / 'none'}"
    assert out[1] == "no agent runs"


def test_podherds_own_containerd_is_stopped_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, stopped = Containerd(tmp_path), []
    runtime.home.mkdir()
    (runtime.home / "config.toml").touch()
    (tmp_path / "kept").touch()
    monkeypatch.setattr(Containerd, "stop", lambda self: stopped.append(self.home))
    undo.undo(tmp_path, lambda _line: None)
    assert stopped == [runtime.home]
    assert not runtime.home.exists()
    assert (tmp_path / "kept").exists()
