"""The file source on real directories: listings, inotify, editors, and half-written files."""

import asyncio
import errno
import os
import time
from itertools import pairwise

import pytest
from tests.kit.waiting import until

from podherd.machines.sources.events import Noted, OriginBad, OriginGone, OriginRead, SourceListed
from podherd.sources import file as file_source
from podherd.sources.file import FileSource
from podherd.sources.watch import Watch

from .conftest import manifest


@pytest.fixture
def source(folder, told):
    """A source that is driven by hand: `relist` only."""
    return FileSource(folder, "N1", 60.0, told.append)


def _replace(path, text):
    """As careful editors do: another file, renamed over."""
    other = path.with_name(f".{path.name}.tmp")
    other.write_text(text)
    other.rename(path)


async def test_a_directory_is_read_by_name_and_each_file_is_one_pod(source, folder, told):
    (folder / "b.yaml").write_text(manifest("b"))
    (folder / "a.txt").write_text(manifest("a"))
    spec = '{"containers": [{"name": "x", "image": "y"}]}'
    (folder / "c.json").write_text(
        f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "c"}}, "spec": {spec}}}'
    )
    await source.relist()
    assert list(told.read.items()) == [("a.txt", ["a-n1"]), ("b.yaml", ["b-n1"]), ("c.json", ["c-n1"])]
    assert isinstance(told[-1], SourceListed)


async def test_dot_files_and_sub_directories_are_silent_and_other_kinds_of_file_are_named(source, folder, told):
    (folder / ".web.yaml.swp").write_bytes(os.urandom(64))
    (folder / "old").mkdir()
    (folder / "old" / "web.yaml").write_text(manifest("web"))
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "link").symlink_to(folder / "old" / "web.yaml")
    await source.relist()
    assert told.read == {"link": ["web-n1"]}
    bad = {event.origin.rpartition("/")[2]: event.problem for event in told.of(OriginBad)}
    assert bad == {"pipe": "is not a regular file", "dangling": "is a symbolic link to nothing"}


async def test_an_unchanged_directory_is_listed_but_not_read_again(source, folder, told, monkeypatch):
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    await source.relist()
    read = []
    monkeypatch.setattr(file_source, "read_all", lambda entries: read.extend(entries) or [b"" for _ in entries])
    settled = time.time() + 60
    source._clock = lambda: settled
    source._known[str(path)].settled = True
    told.clear()
    for _ in range(3):
        await source.relist()
    assert read == []
    assert {type(event) for event in told} == {Noted, SourceListed}


async def test_a_fresh_file_is_read_again_since_its_times_may_not_show_a_second_write(source, folder, told):
    path = folder / "a.yaml"
    path.write_text(manifest("a", "x:1"))
    await source.relist()
    before = path.stat()
    path.write_text(manifest("a", "x:2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    await source.relist()
    assert len({event.pods[0].content for event in told.of(OriginRead)}) == 2


async def test_equal_bytes_are_not_told_again(source, folder, told):
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    await source.relist()
    _replace(path, manifest("a"))
    await source.relist()
    assert len(told.of(OriginRead)) == 1


async def test_a_fault_costs_the_pod_at_the_second_look_and_not_before(source, folder, told):
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    await source.relist()
    path.write_text(manifest("a")[:40])
    await source.relist()
    first = told.of(OriginBad)[-1]
    assert first.keep
    assert first.problem.endswith("its pod stays as it was for now")
    await source.relist()
    assert not told.of(OriginBad)[-1].keep
    count = len(told.of(OriginBad))
    for _ in range(3):
        source._known[str(path)].settled = True
        await source.relist()
    assert len(told.of(OriginBad)) == count
    path.write_text(manifest("a"))
    await source.relist()
    assert isinstance(told[-3], OriginRead)


async def test_a_file_that_was_never_good_has_one_problem_only(source, folder, told):
    (folder / "notes.txt").write_text("todo: rotate keys")
    for _ in range(5):
        await source.relist()
    assert len({event.problem for event in told.of(OriginBad)}) == 1
    assert "apiVersion: Required value" in told.of(OriginBad)[0].problem


async def test_an_unreadable_and_an_over_large_file_are_named(source, folder, told):
    with (folder / "big.yaml").open("wb") as big:
        big.truncate(10 * 1024 * 1024 + 1)
    (folder / "loop").symlink_to("loop")
    await source.relist()
    problems = {event.origin.rpartition("/")[2]: event.problem for event in told.of(OriginBad)}
    assert "is larger than 10 MiB" in problems["big.yaml"]
    assert "symbolic links" in problems["loop"]


NINES = "9" * 5000
BEYOND_THE_API = [
    f'resources: {{limits: {{cpu: "{NINES}"}}}}',
    "livenessProbe: {httpGet: {port: 99999999999999999999}}",
]


@pytest.mark.parametrize("field", BEYOND_THE_API)
async def test_a_number_beyond_all_bounds_is_a_fault_of_its_own_file_only(source, folder, told, field):
    containers = f"[{{name: c, image: x, {field}}}]"
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: bad}}, spec: {{containers: {containers}}}}}"
    (folder / "a.yaml").write_text(text)
    (folder / "b.yaml").write_text(manifest("b"))
    await source.relist()
    assert list(told.read.items()) == [("b.yaml", ["b-n1"])]
    (bad,) = told.of(OriginBad)
    assert bad.problem.startswith("spec.containers[0]")


async def test_even_a_fault_of_the_reader_costs_one_file_and_not_the_source(source, folder, told, monkeypatch):
    (folder / "a.yaml").write_text(manifest("a"))
    (folder / "b.yaml").write_text(manifest("b"))
    real = file_source.file_pods

    def failing(data, path, *rest):
        if path.endswith("a.yaml"):
            raise KeyError("surprise")
        return real(data, path, *rest)

    monkeypatch.setattr(file_source, "file_pods", failing)
    await source.relist()
    assert list(told.read.items()) == [("b.yaml", ["b-n1"])]
    assert "KeyError" in told.of(OriginBad)[0].problem


async def test_a_file_that_the_system_cannot_look_at_keeps_its_pod_at_the_first_look(source, folder, told, monkeypatch):
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    await source.relist()
    real = os.stat

    def stumbling(name, **words):
        if os.fspath(name) == str(path):
            raise OSError(errno.ESTALE, "Stale file handle")
        return real(name, **words)

    monkeypatch.setattr(os, "stat", stumbling)
    await source.relist()
    await source.relist()
    first, second = told.of(OriginBad)
    assert (first.keep, second.keep) == (True, False)


async def test_names_that_make_too_long_a_log_directory_are_refused(source, folder, told):
    (folder / "a.yaml").write_text(manifest("a" * 240))
    await source.relist()
    (bad,) = told.of(OriginBad)
    assert "log directory" in bad.problem


async def test_a_missing_directory_is_seen_and_named_and_picked_up_when_it_appears(tmp_path, told, running):
    folder = tmp_path / "later"
    async with running(folder):
        assert told.of(SourceListed)
        assert [event.problem for event in told.of(Noted)] == [
            "does not exist: no static pods from files until it does"
        ]
        folder.mkdir()
        (folder / "a.yaml").write_text(manifest("a"))
        await told.until(OriginRead, "a.yaml")
        await until(lambda: told.of(Noted)[-1].problem == "")
        (folder / "b.yaml").write_text(manifest("b"))
        await told.until(OriginRead, "b.yaml")


async def test_a_directory_that_cannot_be_listed_is_not_seen_and_changes_nothing(source, folder, told, monkeypatch):
    (folder / "a.yaml").write_text(manifest("a"))
    await source.relist()
    told.clear()
    refused = PermissionError(13, "Permission denied")

    def refuse(_path):
        raise refused

    monkeypatch.setattr(os, "listdir", refuse)
    await source.relist()
    assert [event.problem for event in told] == ["cannot be read: Permission denied"]


async def test_an_edit_is_heard_of_at_once_however_it_is_written(folder, told, running):
    path = folder / "a.yaml"
    path.write_text(manifest("a", "x:1"))
    async with running(folder):
        began = time.monotonic()
        path.write_text(manifest("a", "x:2"))
        await told.until(OriginRead, "a.yaml", 2)
        _replace(path, manifest("a", "x:3"))
        await told.until(OriginRead, "a.yaml", 3)
        path.rename(folder / "a.yaml~")
        path.write_text(manifest("a", "x:4"))
        await told.until(OriginRead, "a.yaml", 4)
        assert time.monotonic() - began < 5
        assert not told.of(OriginGone, "a.yaml")
        os.remove(path)
        await told.until(OriginGone, "a.yaml")


async def test_a_file_that_is_away_for_a_moment_is_not_gone(folder, told, running):
    path = folder / "a.yaml"
    path.write_text(manifest("a", "x:1"))
    async with running(folder) as source:
        away = asyncio.Event()
        looked = source._vanished

        async def vanished(paths):
            paths = list(paths)
            if paths:
                away.set()
            await looked(paths)

        source._vanished = vanished
        path.rename(folder / ".a.yaml.old")
        async with asyncio.timeout(5):
            await away.wait()
        path.write_text(manifest("a", "x:2"))
        await told.until(OriginRead, "a.yaml", 2)
        assert not told.of(OriginGone)


async def test_a_half_written_file_does_not_cost_its_pod(folder, told, running):
    path = folder / "a.yaml"
    path.write_text(manifest("a", "x:1"))
    async with running(folder):
        whole = manifest("a", "x:2")
        with path.open("w") as slow:
            await told.until(OriginBad, "a.yaml")
            slow.write(whole[:60])
            slow.flush()
            await told.until(OriginBad, "a.yaml", 2)
            slow.write(whole[60:])
        await told.until(OriginRead, "a.yaml", 2)
        assert all(event.keep for event in told.of(OriginBad))


async def test_a_file_that_stays_broken_loses_its_pod_at_a_periodic_listing(folder, told, running):
    path = folder / "a.yaml"
    path.write_text(manifest("a"))
    async with running(folder, check_s=0.5):
        path.write_text("a: [")
        await until(lambda: any(not event.keep for event in told.of(OriginBad)))


async def test_a_single_file_may_be_the_source_and_may_be_replaced(tmp_path, told, running):
    path = tmp_path / "one.yaml"
    path.write_text(manifest("a", "x:1"))
    (tmp_path / "other.yaml").write_text(manifest("b"))
    async with running(path):
        _replace(path, manifest("a", "x:2"))
        await told.until(OriginRead, "one.yaml", 2)
        (tmp_path / "other.yaml").write_text(manifest("c"))
        os.remove(path)
        await told.until(OriginGone, "one.yaml")
        assert not told.of(OriginRead, "other.yaml")
        path.write_text(manifest("a", "x:3"))
        await told.until(OriginRead, "one.yaml", 3)


async def test_a_directory_that_is_replaced_by_another_is_watched_on(folder, told, running):
    (folder / "a.yaml").write_text(manifest("a"))
    async with running(folder):
        folder.rename(folder.with_name("away"))
        await told.until(OriginGone, "a.yaml")
        folder.mkdir()
        (folder / "b.yaml").write_text(manifest("b"))
        await told.until(OriginRead, "b.yaml")
        (folder / "c.yaml").write_text(manifest("c"))
        await told.until(OriginRead, "c.yaml")


async def test_without_inotify_the_directory_is_looked_at_and_that_is_said_once(folder, told, running, monkeypatch):
    async def refuse(_self, _stop):
        raise OSError(28, "OS file watch limit reached.")

    monkeypatch.setattr(Watch, "_hear", refuse)
    monkeypatch.setattr(file_source, "POLL_S", 0.02)
    async with running(folder, check_s=0.2):
        (folder / "a.yaml").write_text(manifest("a"))
        await told.until(OriginRead, "a.yaml")
        os.remove(folder / "a.yaml")
        await told.until(OriginGone, "a.yaml")
        await told.until(SourceListed, count=3)
    problems = {event.problem for event in told.of(Noted)}
    assert len(problems) == 1
    assert "fs.inotify.max_user_watches" in problems.pop()


async def test_names_with_odd_bytes_are_shown_escaped(source, folder, told):
    (folder / os.fsdecode(b"a\xff.yaml")).write_text(manifest("a"))
    await source.relist()
    assert list(told.read) == ["a\\xff.yaml"]


async def test_two_thousand_new_files_neither_block_the_loop_nor_wait_for_each_other(source, folder, told):
    for number in range(2000):
        (folder / f"{number:04}.yaml").write_text(manifest(f"p{number}"))
    turns, done = [], asyncio.Event()

    async def count():
        while not done.is_set():
            turns.append(len(told))
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await source.relist()
    done.set()
    await counting
    assert len(told.read) == 2000
    steps = [after - before for before, after in pairwise(turns)]
    assert max(steps) < 400
    assert sum(1 for step in steps if step) > 10
