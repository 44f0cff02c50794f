"""Termination messages and the end of a log: what is read, how much, and what is never followed."""

import os
from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.model import keys
from podherd.steps.last_words import LastWords

INSIDE = "/dev/termination-log"


class Ended:
    """A pod's directories and the status of its one container, which has ended."""

    def __init__(self, place: Path) -> None:
        self.file = place / "root" / "pods" / "u1" / "containers" / "web" / "00000000"
        self.log = place / "logs" / "shop_web_u1" / "web" / "0.log"
        for path in (self.file, self.log):
            path.parent.mkdir(parents=True)
            path.touch()
        self.reader = LastWords(place / "root", place / "logs")
        self.status = pb.ContainerStatus(
            id="c1",
            state=pb.CONTAINER_EXITED,
            exit_code=1,
            mounts=[
                pb.Mount(container_path="/data", host_path="/etc"),
                pb.Mount(container_path=INSIDE, host_path=str(self.file)),
            ],
            annotations={keys.CONTAINER_TERMINATION_MESSAGE_PATH: INSIDE},
            log_path=str(self.log),
        )

    def fall_back(self) -> None:
        self.status.annotations[keys.CONTAINER_TERMINATION_MESSAGE_POLICY] = "FallbackToLogsOnError"

    def print(self, *texts: str, tag: str = "F") -> None:
        with self.log.open("a") as out:
            out.writelines(f"2026-01-02T03:04:05.000000006Z stdout {tag} {text}\n" for text in texts)

    def words(self, sharers: int = 1) -> str:
        if self.reader.is_due(self.status):
            self.reader.add(self.status, sharers)
        return self.status.message


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    return Ended(tmp_path)


def test_the_message_is_what_the_container_wrote(ended: Ended) -> None:
    ended.file.write_text("out of beans\n")
    assert ended.words() == "out of beans\n"


def test_it_stands_behind_the_runtimes_own_message(ended: Ended) -> None:
    ended.status.message = "killed"
    ended.file.write_text("out of beans")
    assert ended.words() == "killed: out of beans"


def test_an_empty_file_says_nothing_and_costs_no_reading(ended: Ended) -> None:
    ended.print("to the log")
    assert ended.reader.is_due(ended.status) is False
    assert ended.words() == ""


def test_a_container_that_runs_has_no_last_words(ended: Ended) -> None:
    ended.file.write_text("early")
    ended.status.state = pb.CONTAINER_RUNNING
    ended.fall_back()
    assert ended.words() == ""


def test_a_container_without_a_path_or_without_its_mount_has_none(ended: Ended) -> None:
    ended.file.write_text("words")
    del ended.status.mounts[1]
    assert ended.words() == ""
    ended.status.annotations[keys.CONTAINER_TERMINATION_MESSAGE_PATH] = ""
    assert ended.words() == ""


def test_the_last_4096_bytes_are_told_in_whole_characters(ended: Ended) -> None:
    ended.file.write_bytes("ä".encode() * 2048 + b"x")
    assert ended.words() == "ä" * 2047 + "x"
    ended.status.message = ""
    ended.file.write_bytes(b"a\xffb\x00c")
    assert ended.words() == "a\ufffdb\x00c"


def test_twelve_kib_are_shared_by_all_containers_of_a_pod(ended: Ended) -> None:
    ended.file.write_text("x" * 5000)
    assert len(ended.words(sharers=6)) == 2048


def test_without_a_message_a_failed_container_is_told_by_its_log(ended: Ended) -> None:
    ended.fall_back()
    ended.print("one", "two")
    assert ended.words() == "one\ntwo\n"


def test_a_message_is_better_than_the_log(ended: Ended) -> None:
    ended.fall_back()
    ended.print("to the log")
    ended.file.write_text("to the file")
    assert ended.words() == "to the file"


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (128, "ContainerCannotRun")])
def test_the_log_is_no_message_of_what_ended_well_or_never_ran(ended: Ended, code: int, reason: str) -> None:
    ended.fall_back()
    ended.print("to the log")
    ended.status.exit_code, ended.status.reason = code, reason
    assert ended.words() == ""


def test_the_last_80_lines_and_2048_bytes_of_the_log_are_told(ended: Ended) -> None:
    ended.fall_back()
    ended.print(*(f"{n}" for n in range(200)))
    assert ended.words() == "".join(f"{n}\n" for n in range(120, 200))
    ended.status.message = ""
    ended.print(*("y" * 100 for _ in range(80)))
    assert ended.words() == (("y" * 100 + "\n") * 80)[-2048:]


def test_partial_entries_are_joined(ended: Ended) -> None:
    ended.fall_back()
    ended.print("half a ", tag="P")
    ended.print("line")
    ended.print("and no end", tag="P")
    assert ended.words() == "half a line\nand no end"


def test_of_a_large_log_only_the_end_is_read(ended: Ended) -> None:
    ended.fall_back()
    with ended.log.open("wb") as out:
        out.truncate(1 << 30)
    ended.print("", *("z" * 50 for _ in range(40)))
    words = ended.words()
    assert words.endswith("z\n")
    assert len(words.encode()) <= 2048


def test_a_log_that_is_gone_says_nothing(ended: Ended) -> None:
    ended.fall_back()
    ended.log.unlink()
    assert ended.words() == ""


def test_a_file_that_became_a_link_is_not_followed(ended: Ended, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret " * 20)
    for path in (ended.file, ended.log):
        path.unlink()
        path.symlink_to(secret)
    ended.fall_back()
    assert "secret " not in ended.words().replace(str(secret), "")


def test_a_directory_that_became_a_link_is_not_followed(ended: Ended, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "00000000").write_text("the words of another")
    (outside / "0.log").write_text("t stdout F the words of another\n")
    for path in (ended.file, ended.log):
        path.rename(tmp_path / f"moved {path.name}")
        path.parent.rmdir()
        path.parent.symlink_to(outside)
    ended.fall_back()
    assert "the words of another" not in ended.words()


def test_a_pipe_holds_nobody_up(ended: Ended) -> None:
    ended.file.unlink()
    os.mkfifo(ended.file)
    ended.fall_back()
    ended.log.unlink()
    os.mkfifo(ended.log)
    assert ended.words() == f"Error on reading termination log {ended.file}: not a regular file of the pod"


def test_a_root_directory_that_is_reached_through_a_link_is_fine(ended: Ended, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path / "root")
    reader = LastWords(tmp_path / "other", tmp_path / "logs")
    ended.file.write_text("words")
    ended.status.mounts[1].host_path = str(tmp_path / "other" / ended.file.relative_to(tmp_path / "root"))
    assert reader.is_due(ended.status)
    reader.add(ended.status, 1)
    assert ended.status.message == "words"


def test_a_volumes_file_is_read_where_the_container_mounted_it(ended: Ended, tmp_path: Path) -> None:
    file = tmp_path / "on-the-node"
    file.write_text("words on the node")
    ended.status.mounts[1].host_path = str(file)
    assert ended.words() == "words on the node"
