"""What stands around a start: the lock, the runtime's choice, the screen."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from podherd.agent import parent, runtime_choice, screen, table_live
from podherd.agent.commands.run import with_runtime
from podherd.agent.lock import LockedError, root_lock
from podherd.agent.provision import ProvisionError
from podherd.agent.table_feed import Board, events
from podherd.errors import PodherdError, RuntimeRefusedError
from podherd.model.settings import Settings

from .conftest import FakeAgent, Podherd

NOW = 1_000_000.0


def a_row(name: str, word: str = "Running", *, uid: str = "", restarts: int = 0) -> dict[str, Any]:
    state: dict[str, Any] = {"running": {}} if word == "Running" else {"waiting": {"reason": word}}
    status = {"name": "a", "ready": word == "Running", "restartCount": restarts, "state": state}
    return {"uid": uid or name, "namespace": "default", "name": name, "source": "file", "phase": "Running",
            "deleting": False, "createdAt": NOW, "status": {"containerStatuses": [status]}}  # fmt: skip


def pod(name: str, word: str = "Running", **words: Any) -> dict[str, Any]:
    return {"type": "pod", "row": a_row(name, word, **words)}


def gone(uid: str) -> dict[str, Any]:
    return {"type": "gone", "uid": uid, "namespace": "default", "name": uid}


def test_two_agents_on_one_root_refuse_clearly(tmp_path: Path) -> None:
    with root_lock(tmp_path / "root"):
        assert (tmp_path / "root").stat().st_mode & 0o777 == 0o700
        take = "import sys\nfrom pathlib import Path\nfrom podherd.agent.lock import root_lock\n"
        take += "with root_lock(Path(sys.argv[1])): pass"
        command = [sys.executable, "-c", take, str(tmp_path / "root")]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"another podherd runs on it (pid {os.getpid()})" in other.stderr
        with pytest.raises(LockedError, match=f"kill {os.getpid()}"), root_lock(tmp_path / "root"):
            pass
    with root_lock(tmp_path / "root"):
        pass


def test_a_root_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PodherdError, match="cannot be used"), root_lock(tmp_path / "file" / "root"):
        pass


def test_a_named_runtime_is_taken_as_it_is_and_a_hollow_one_is_announced(tmp_path: Path) -> None:
    said: list[str] = []
    assert runtime_choice.choose("unix:///run/a.sock", True, tmp_path, said.append) == "unix:///run/a.sock"
    assert said == []
    assert runtime_choice.choose("hollow", False, tmp_path, said.append) == "hollow"
    assert said == ["containers are pretended: the hollow runtime"]


def test_without_a_runtime_the_error_names_the_three_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_choice, "find_socket", lambda: None)
    with pytest.raises(RuntimeRefusedError) as error:
        runtime_choice.choose("", False, tmp_path, print)
    assert all(word in error.value.mend for word in ("--runtime unix://", "--provision", "--runtime hollow"))


def test_a_found_runtime_is_used_unless_the_root_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_choice, "find_socket", lambda: Path("/run/found.sock"))
    assert runtime_choice.find(tmp_path) == "unix:///run/found.sock"
    (tmp_path / "containerd").mkdir()
    (tmp_path / "containerd" / "config.toml").touch()
    assert runtime_choice.find(tmp_path) == f"unix://{tmp_path}/containerd/containerd.sock"


def test_where_provisioning_is_impossible_it_says_why_and_pretends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impossible(*_: object) -> None:
        raise ProvisionError("container runtime", "no root here")

    monkeypatch.setattr(runtime_choice, "ensure_runtime", impossible)
    said: list[str] = []
    assert runtime_choice.choose("", True, tmp_path, said.append) == "hollow"
    assert said[0] == "no real containers here: container runtime: no root here"


def test_plain_lines_are_one_for_each_change_of_state() -> None:
    stream = [
        pod("a", "ContainerCreating"), pod("a", "ContainerCreating"), {"type": "synced"}, pod("a"), pod("a"),
        pod("a", "CrashLoopBackOff", restarts=1), {"type": "alive"}, gone("a"), gone("a"), {"type": "away"},
        {"type": "problem", "thing": "x.yaml", "problem": "spec: bad"},
        {"type": "problem", "thing": "x.yaml", "problem": ""},
    ]  # fmt: skip
    assert list(table_live.plain_lines(stream, NOW)) == [
        "pod default/a: 0/1 ContainerCreating",
        "pod default/a: 1/1 Running",
        "pod default/a: 0/1 CrashLoopBackOff, 1 restart",
        "pod default/a: gone",
        "manifest x.yaml: spec: bad",
        "manifest x.yaml: mended",
    ]


def test_the_board_forgets_what_a_new_stream_does_not_name() -> None:
    board = Board()
    for event in (pod("a"), pod("b"), {"type": "synced"}, {"type": "away"}, pod("b"), pod("c")):
        board.apply(event)
    assert [row["name"] for row in board.rows()] == ["a", "b", "c"]
    board.apply({"type": "synced"})
    assert [row["name"] for row in board.rows()] == ["b", "c"]
    board.apply(gone("b"))
    assert [row["name"] for row in board.rows()] == ["c"]


def test_a_small_screen_shows_the_pods_that_need_a_look_first() -> None:
    rows = [a_row(f"p{n}") for n in range(10)] + [a_row("sick", "CrashLoopBackOff")]
    assert [row["name"] for row in table_live.fitting(rows, 3)] == ["sick", "p0"]
    assert table_live.summary(rows) == "11 pods: 10 Running, 1 CrashLoopBackOff"


def drawn(board: Board, height: int) -> list[str]:
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(table_live.screen(board, height, NOW + 5))
    text = console.export_text()
    console.file.close()
    return [line.rstrip() for line in text.splitlines()]


def test_a_screen_that_is_too_small_counts_what_it_leaves_out() -> None:
    board = Board()
    for number in range(10):
        board.apply(pod(f"p{number}"))
    for number in range(5):
        board.apply({"type": "problem", "thing": f"{number}.yaml", "problem": "spec: bad"})
    lines = drawn(board, 10)
    assert len(lines) < 10
    assert [line for line in lines if "more" in line] == ["… and 7 more", "… and 3 more manifest problems"]
    assert not [line for line in drawn(board, 40) if line == "… and 7 more"]


def test_two_pods_of_one_name_are_told_apart_while_both_are_there() -> None:
    old, new = pod("a"), pod("a", "ContainerCreating")
    old["row"]["uid"], new["row"]["uid"] = "0123456789", "abcdefghij"
    ended = {**gone("a"), "uid": "0123456789"}
    running = pod("a")
    running["row"]["uid"] = "abcdefghij"
    assert list(table_live.plain_lines([old, new, ended, running], NOW)) == [
        "pod default/a: 1/1 Running",
        "pod default/a (uid abcdefgh): 0/1 ContainerCreating",
        "pod default/a (uid 01234567): gone",
        "pod default/a: 1/1 Running",
    ]


def test_the_live_screen_leaves_no_table_behind(agent: FakeAgent) -> None:
    agent.say("/v1/watch", json.dumps(pod("web")).encode() + b"\n")
    command = [sys.executable, "-m", "podherd.agent.table_live", "live", str(agent.root_dir)]
    done = subprocess.run(command, input="stopped\n", capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "stopped"
    assert done.stdout.splitlines()[-1].startswith("last seen: ")
    assert "RESTARTS" not in done.stdout


def test_the_live_screen_draws_summary_rows_and_problems() -> None:
    board = Board()
    for event in (pod("web"), {"type": "problem", "thing": "x.yaml", "problem": "spec: bad"}):
        board.apply(event)
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(table_live.screen(board, 30, NOW + 5))
    text = console.export_text()
    console.file.close()
    assert "1 pod: 1 Running" in text
    assert "x.yaml: spec: bad" in text
    assert ["default", "web", "1/1", "Running", "0", "5s", "<none>"] in [line.split() for line in text.splitlines()]


def test_the_feed_reads_lines_and_tells_of_breaks(agent: FakeAgent) -> None:
    agent.say("/v1/watch", b'{"type":"synced"}\n')
    waits: list[float] = []
    feed: Iterator[dict[str, Any]] = events(agent.root_dir, waits.append)
    assert [next(feed)["type"] for _ in range(4)] == ["synced", "away", "synced", "away"]
    assert len(waits) == 1


def test_the_plain_screen_prints_the_agents_words_and_the_pods(agent: FakeAgent) -> None:
    agent.say("/v1/watch", json.dumps(pod("web")).encode() + b"\n")
    command = [sys.executable, "-m", "podherd.agent.table_live", "plain", str(agent.root_dir)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin
    assert child.stdout
    watchdog = threading.Timer(30, child.kill)
    watchdog.start()
    assert "pod default/web: 1/1 Running" in child.stdout.readline()
    child.stdin.write("ray is ready\n")
    child.stdin.flush()
    assert "ray is ready" in child.stdout.readline()
    child.stdin.close()
    assert child.wait(10) == 0
    child.stdout.close()
    watchdog.cancel()


def test_a_screen_that_died_is_done_without(tmp_path: Path, capfd: pytest.CaptureFixture[str],
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(screen.sys, "executable", "/bin/true")
    with screen.watching(tmp_path, False) as say:
        for _ in range(10_000):
            say("still heard")
            if "still heard" in capfd.readouterr().out:
                return
    pytest.fail("nothing was said")


def test_pretended_containers_leave_no_logs_behind_a_restart(tmp_path: Path) -> None:
    before = Settings(node_name="n", root_dir=tmp_path, runtime_endpoint="")
    (tmp_path / "hollow-logs" / "old").mkdir(parents=True)
    after = with_runtime(before, "hollow")
    assert (after.pod_logs_dir, after.pod_logs_dir.exists()) == (tmp_path / "hollow-logs", False)
    assert with_runtime(before, "unix:///x").pod_logs_dir == before.pod_logs_dir


def test_run_builds_the_settings_and_hands_them_to_the_parent(
    tmp_path: Path, podherd: Podherd, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Settings] = []

    def run(settings: Settings, on_state: Any) -> int:
        on_state("started")
        started.append(settings)
        return 1

    monkeypatch.setattr(parent, "run", run)
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nvolumePluginDir: /x\n")
    code, out, err = podherd(
        "run", "--config", config, "--root-dir", "root", "--pod-manifest-path", "pods", "--node-name", "N1",
        "--runtime", "/run/cri.sock", "--file-check-frequency", "5s", "--http-check-frequency", "1m", "--drain-on-exit",
        "--manifest-url", "http://x/y", "--manifest-url-header", "A: b", "--shards", "3", "--no-watch",
    )  # fmt: skip
    assert (code, err) == (1, "")
    (found,) = started
    assert (found.node_name, found.root_dir, found.manifests) == ("n1", tmp_path / "root", tmp_path / "pods")
    assert (found.runtime_endpoint, found.file_check_s, found.http_check_s) == ("unix:///run/cri.sock", 5.0, 60.0)
    assert (found.manifest_url, found.manifest_url_headers) == ("http://x/y", (("A", "b"),))
    assert (found.drain_on_exit, found.shards) == (True, 3)
    assert out.splitlines()[0] == "configured, and not acted on yet: volumePluginDir"
    assert out.splitlines()[-1] == "started"
