"""`podherd story` and `podherd replay` on journals alone: no agent runs."""

import json
import time
from pathlib import Path

import pytest
from tests.journal.kept import journal_of
from tests.machines.pod import builders

from podherd.journal.journal import directory_of
from podherd.machines.pod.events import Wanted
from podherd.machines.pod.instructions import Sync
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import OriginRead, StaticPod
from podherd.steps.deeds import Deed
from podherd.wire import codec
from podherd.wire.desired import Desired, Roster
from podherd.wire.observed import ObservedRoster

from .conftest import Podherd

SHARD = "pod_shard-0"


def body(name: str) -> bytes:
    container = {"name": "main", "image": "x:1", "imagePullPolicy": "Always"}
    notes = {"kubernetes.io/config.source": "file"}
    metadata = {"uid": "0123456789ab", "name": name, "namespace": "shop", "annotations": notes}
    spec = {
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "nodeName": "n1", "containers": [container],
    }  # fmt: skip
    return codec.pack({"metadata": metadata, "spec": spec})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root directory whose agent has started one pod a minute ago."""
    top = directory_of(tmp_path)
    top.mkdir()
    at = time.time() - 60
    machine = SourcesMachine(1, ("file",))
    journal = journal_of("sources", machine, top, at=at - 1)
    read = OriginRead("file", "/etc/web.yaml", (StaticPod("0123456789ab", "shop", "web-n1", "c", body("web-n1")),))
    journal.turn(at, (read,), b"", told := machine.handle(at, read))
    desired: Desired = told[0].message  # type: ignore[assignment, union-attr]
    journal.close()
    shard = ShardMachine(Policy("n1"))
    journal = journal_of(SHARD, shard, top, at=at - 1)
    frame = codec.encode("sources", [builders.READY, Roster((), True), ObservedRoster((), at), desired])
    from podherd.journal.inputs import events_of

    events = events_of(SHARD, codec.decode(frame).messages)
    journal.turn(at + 1, (), frame, shard.handle(at + 1, *events))
    said = 'oh\x1b[31m\nno "quoted"'
    journal.deed(Deed("0123456789ab", "shop", "web-n1", "RunPodSandbox", "", at + 2, 0.148, "s1", said))
    journal.close()
    return tmp_path


def test_a_story_is_plain_lines_in_the_order_of_time(root: Path, podherd: Podherd) -> None:
    code, out, err = podherd("story", "web", "--root-dir", root)
    assert (code, err) == (0, "")
    lines = [line.partition("  ")[2] for line in out.splitlines()]
    assert lines[0] == "source  file /etc/web.yaml created: pod wanted (uid 0123456789ab)"
    assert lines[-1] == 'cri     RunPodSandbox    148 ms  failed: oh [31m no "quoted"'
    assert any(line.startswith("plan") and "make sandbox 0, start main" in line for line in lines)
    assert out.isascii()
    assert "\x1b" not in out


def test_a_story_is_also_json(root: Path, podherd: Podherd) -> None:
    code, out, _ = podherd("story", "shop/web-n1", "-o", "json", "--root-dir", root)
    told = json.loads(out)
    assert (code, told["namespace"], told["name"]) == (0, "shop", "web-n1")
    assert {"kind": "cri", "actor": SHARD, "uid": "0123456789ab"}.items() <= told["lines"][-1].items()


def test_since_leaves_out_what_is_older(root: Path, podherd: Podherd) -> None:
    code, out, err = podherd("story", "web", "--since", "10s", "--root-dir", root)
    assert (code, out) == (0, "")
    assert err == "Nothing about shop/web-n1 in the last 10s.\n"
    assert podherd("story", "web", "--since", "10 parsecs", "--root-dir", root)[0] == 2


def test_an_unknown_pod_fails_and_names_the_nearest(root: Path, podherd: Podherd) -> None:
    code, out, err = podherd("story", "wab", "--root-dir", root)
    assert (code, out) == (1, "")
    assert err == "podherd: pod wab: no journal tells of it\n  next: did you mean web-n1?\n"


def test_no_journal_fails_and_says_what_may_be_why(tmp_path: Path, podherd: Podherd) -> None:
    code, _, err = podherd("story", "web", "--root-dir", tmp_path)
    assert code == 1
    assert "next: check --root-dir; journalMB 0 keeps none" in err


def test_a_replay_counts_what_is_the_same(root: Path, podherd: Podherd) -> None:
    code, out, err = podherd("replay", directory_of(root))
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "sources: 1 turn, 1 instruction: the same"
    assert podherd("replay", directory_of(root) / SHARD)[1].startswith(f"{SHARD}: 1 turn, ")


def test_a_replay_says_where_it_first_differs(root: Path, podherd: Podherd, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = ShardMachine.handle

    def other(machine: ShardMachine, now: float, *events: Wanted) -> list[object]:
        return [each for each in handle(machine, now, *events) if not isinstance(each, Sync)]

    monkeypatch.setattr(ShardMachine, "handle", other)
    code, out, _ = podherd("replay", directory_of(root) / SHARD)
    assert code == 1
    words = out.splitlines()
    assert words[0].endswith("they differ")
    assert words[1].startswith("  turn      1 at ")
    assert words[2] == "  heard     RuntimeState, Roster, ObservedRoster, Wanted"
    assert words[4].startswith("  expected  Sync(uid='0123456789ab'")


@pytest.mark.parametrize("data", [None, b"plain text"])
def test_a_file_that_is_no_journal_is_a_wrong_use(data: bytes | None, tmp_path: Path, podherd: Podherd) -> None:
    path = tmp_path / "x.mp"
    if data is not None:
        path.write_bytes(data)
    code, out, err = podherd("replay", path)
    assert (code, out) == (2, "")
    assert str(path) in err


@pytest.mark.parametrize("word", ["", "/", "shop/", "/web", "pod/", "we\udcff", "\udcff/web"])
def test_a_word_that_can_be_no_pods_is_a_wrong_use(word: str, root: Path, podherd: Podherd) -> None:
    code, out, err = podherd("story", word, "--root-dir", root)
    assert (code, out) == (2, "")
    assert "Invalid value for 'POD'" in err
    assert "did you mean" not in err


def test_a_namespace_that_is_no_text_is_a_wrong_use(root: Path, podherd: Podherd) -> None:
    code, _, err = podherd("story", "web", "-n", "\udcff", "--root-dir", root)
    assert code == 2
    assert "Invalid value for '--namespace': '\\udcff' is not UTF-8" in err


def test_a_path_that_is_no_text_is_named_in_the_error(tmp_path: Path, podherd: Podherd) -> None:
    code, _, err = podherd("replay", tmp_path / "\udcff")
    assert code == 2
    assert "cannot be read: No such file" in err


def test_what_one_actors_files_spoil_hides_no_other_replay(root: Path, podherd: Podherd) -> None:
    (path,) = (directory_of(root) / SHARD).iterdir()
    path.write_bytes(b"plain text")
    code, out, err = podherd("replay", directory_of(root))
    assert (code, out) == (2, "sources: 1 turn, 1 instruction: the same\n")
    assert err.startswith(f"podherd: {path}: is no journal of podherd")


def test_a_story_that_is_not_found_names_the_files_that_could_not_be_read(root: Path, podherd: Podherd) -> None:
    (path,) = (directory_of(root) / SHARD).iterdir()
    path.write_bytes(b"plain text")
    code, _, err = podherd("story", "other", "--root-dir", root)
    assert code == 1
    assert err.startswith(f"{SHARD}: {path.name}: is no journal of podherd\npodherd: pod other: no journal")
