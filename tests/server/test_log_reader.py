"""Reading a log: whole, tail, follow, rotation (case LOG-1), on real files."""

import asyncio
import gzip
import io
import os
import threading
from pathlib import Path

import pytest
from tests.kit.waiting import until

from podherd.server import log_reader
from podherd.server.log_files import SLACK_BYTES, attempts, rotated, tail_offset
from podherd.server.log_reader import LogReader, stream

BOUND_S = 10.0


def entry(text: str, tag: str = "F") -> str:
    return f"2026-01-02T03:04:05.000000000Z stdout {tag} {text}\n"


def write(path: Path, *entries: str) -> None:
    with path.open("a") as file:
        file.write("".join(entries))


def numbered(first: int, last: int) -> list[str]:
    return [entry(f"line {n}") for n in range(first, last + 1)]


def lines_of(data: bytes) -> list[str]:
    return data.decode().splitlines()


def wanted(first: int, last: int) -> list[str]:
    return [f"line {n}" for n in range(first, last + 1)]


async def read(directory: Path, tail: int | None = None, attempt: int = 0) -> list[str]:
    pieces = [piece async for piece in stream(LogReader(directory, attempt), tail, False, lambda: True)]
    return lines_of(b"".join(pieces))


class Follower:
    """A client that follows; `alive` is the container."""

    def __init__(self, directory: Path, tail: int | None = None) -> None:
        self.alive = True
        self.data = b""
        reader = LogReader(directory, 0)
        self.task = asyncio.create_task(self._take(stream(reader, tail, True, lambda: self.alive, poll_s=0.01)))

    async def _take(self, pieces: object) -> None:
        async for piece in pieces:  # type: ignore[attr-defined]
            self.data += piece

    async def has(self, lines: list[str]) -> None:
        await until(lambda: lines_of(self.data) == lines, BOUND_S)

    async def ends(self) -> list[str]:
        self.alive = False
        async with asyncio.timeout(BOUND_S):
            await self.task
        return lines_of(self.data)


def rotate(directory: Path, stamp: str) -> None:
    """What the kubelet does: rename; the runtime opens the new file when it is told to."""
    os.rename(directory / "0.log", directory / f"0.log.{stamp}")


async def test_log_1_follow_across_a_rotation_gives_each_line_once_and_ends_with_the_container(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    write(log, *numbered(1, 100))
    follower = Follower(tmp_path)
    await follower.has(wanted(1, 100))
    rotate(tmp_path, "20260102-030405")
    write(log, *numbered(101, 149), entry("line ", "P"), entry("150", "F"), *numbered(151, 200))
    begin = asyncio.get_running_loop().time()
    assert await follower.ends() == wanted(1, 200)
    assert asyncio.get_running_loop().time() - begin < 2.0


async def test_log_1_tail_just_after_a_rotation_is_joined_across_files(tmp_path: Path) -> None:
    write(tmp_path / "0.log", *numbered(1, 100))
    rotate(tmp_path, "20260102-030405")
    write(tmp_path / "0.log", *numbered(101, 102))
    assert await read(tmp_path, tail=5) == wanted(98, 102)


async def test_lines_written_to_the_old_file_after_the_rename_are_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    write(log, *numbered(1, 3))
    with log.open("a") as runtime:
        follower = Follower(tmp_path)
        await follower.has(wanted(1, 3))
        rotate(tmp_path, "20260102-030405")
        runtime.write("".join(numbered(4, 6)))
        runtime.flush()
        await follower.has(wanted(1, 6))
        runtime.write("".join(numbered(7, 8)))
    write(log, *numbered(9, 10))
    assert await follower.ends() == wanted(1, 10)


async def test_two_rotations_between_two_looks_lose_nothing(tmp_path: Path) -> None:
    reader = LogReader(tmp_path, 0)
    write(tmp_path / "0.log", *numbered(1, 10))
    got = b"".join(reader.history(None))
    rotate(tmp_path, "20260102-000001")
    write(tmp_path / "0.log", *numbered(11, 20))
    rotate(tmp_path, "20260102-000002")
    compress(tmp_path / "0.log.20260102-000001")
    write(tmp_path / "0.log", *numbered(21, 30))
    while (piece := reader.more()) is not None:
        got += piece
    reader.close()
    assert lines_of(got) == wanted(1, 30)


def compress(path: Path) -> None:
    Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


async def test_a_partial_line_that_spans_the_rotation_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "0.log", entry("a", "P"))
    follower = Follower(tmp_path)
    rotate(tmp_path, "20260102-000001")
    write(tmp_path / "0.log", entry("b", "P"), entry("c", "F"))
    await follower.has(["abc"])
    assert await follower.ends() == ["abc"]


async def test_a_half_written_line_waits_for_its_rest(tmp_path: Path) -> None:
    whole = entry("line 1")
    write(tmp_path / "0.log", whole[:30])
    follower = Follower(tmp_path)
    write(tmp_path / "0.log", whole[30:])
    await follower.has(["line 1"])
    assert await follower.ends() == ["line 1"]


async def test_many_partial_entries_do_not_look_like_silence(tmp_path: Path) -> None:
    write(tmp_path / "0.log", entry("first"))
    follower = Follower(tmp_path)
    await follower.has(["first"])
    write(tmp_path / "0.log", *(entry("y" * 1000, "P") for _ in range(900)), entry("end"))
    assert await follower.ends() == ["first", "y" * 900_000 + "end"]


def test_a_file_cut_short_in_place_is_read_on_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    write(log, *numbered(1, 5))
    reader = LogReader(tmp_path, 0)
    assert lines_of(b"".join(reader.history(None))) == wanted(1, 5)
    os.truncate(log, 0)
    assert reader.more() is None
    write(log, entry("after"))
    assert reader.more() == b"after\n"
    reader.close()


async def test_follow_waits_for_a_file_between_rename_and_reopening(tmp_path: Path) -> None:
    write(tmp_path / "0.log", *numbered(1, 2))
    rotate(tmp_path, "20260102-000001")
    follower = Follower(tmp_path)
    await follower.has(wanted(1, 2))
    write(tmp_path / "0.log", *numbered(3, 4))
    await follower.has(wanted(1, 4))
    assert await follower.ends() == wanted(1, 4)


@pytest.mark.parametrize("tail", [0, 1, 2, 5, 40, 90, 91, 200, 10_000])
async def test_a_tail_is_the_last_lines_over_all_kept_files(tmp_path: Path, tail: int) -> None:
    for part, stamp in enumerate(("20260101-000001", "20260101-000002", "")):
        write(tmp_path / "0.log", *numbered(30 * part + 1, 30 * part + 30))
        if stamp:
            rotate(tmp_path, stamp)
    compress(tmp_path / "0.log.20260101-000001")
    expected = wanted(1, 90)[-tail:] if tail else []
    assert await read(tmp_path, tail=tail) == expected
    assert await read(tmp_path) == wanted(1, 90)


async def test_a_tail_of_a_big_file_reads_its_end_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "z" * 1000
    write(tmp_path / "0.log", *(entry(f"{n} {text}") for n in range(5000)))
    fed = 0
    real = log_reader.Joiner.feed

    def counting(self: log_reader.Joiner, data: bytes) -> list[bytes]:
        nonlocal fed
        fed += len(data)
        return real(self, data)

    monkeypatch.setattr(log_reader.Joiner, "feed", counting)
    assert [line.split()[0] for line in await read(tmp_path, tail=3)] == ["4997", "4998", "4999"]
    assert fed < 4 * SLACK_BYTES


class Counting(io.BytesIO):
    """A file that counts what is read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """As always."""
        data = super().read(size)
        self.count += len(data)
        return data


@pytest.mark.parametrize("tail", [0, 3, 700, 4999, 5000, 6000])
def test_the_tail_of_a_compressed_file_is_found_in_one_pass_with_long_lines_whole(tail: int) -> None:
    lines = [(entry(f"{n} ", "P") + entry("z" * (200_000 if n % 1000 == 7 else n % 300))).encode() for n in range(5000)]
    raw = Counting(gzip.compress(b"".join(lines), 1))
    with gzip.GzipFile(fileobj=raw) as file:
        offset, found = tail_offset(file, tail)
        assert raw.count <= raw.getbuffer().nbytes
        assert found > tail or offset == 0
        file.seek(offset)
        rest = file.read()
    assert rest.startswith(b"2026-")
    assert rest.endswith(b"".join(lines[len(lines) - min(tail, 5000) :]))
    assert rest.count(b" F ") >= found - 1


async def test_history_is_read_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "0.log", *numbered(1, 3))
    threads = set()
    real = log_reader.Joiner.feed

    def noting(self: log_reader.Joiner, data: bytes) -> list[bytes]:
        threads.add(threading.current_thread())
        return real(self, data)

    monkeypatch.setattr(log_reader.Joiner, "feed", noting)
    assert await read(tmp_path, tail=2) == wanted(2, 3)
    assert threads
    assert threading.main_thread() not in threads


def test_attempts_are_counted_from_current_and_rotated_names_alone(tmp_path: Path) -> None:
    for name in ("0.log", "1.log", "7.log", "7.log.20260101-000000.gz", "9.log.20260101-000000", "junk.txt", "x.log"):
        (tmp_path / name).touch()
    assert attempts(tmp_path) == [0, 1, 7, 9]
    assert attempts(tmp_path / "absent") == []


def test_rotated_files_are_in_order_without_half_made_ones(tmp_path: Path) -> None:
    stamps = ("20260102-000000", "20260101-000000.gz", "20260101-000000", "20260103-000000.gz.tmp")
    for name in (*(f"0.log.{stamp}" for stamp in stamps), "10.log.20260101-000000"):
        (tmp_path / name).touch()
    names = [path.name for path in rotated(tmp_path, 0).values()]
    assert names == ["0.log.20260101-000000", "0.log.20260102-000000"]
