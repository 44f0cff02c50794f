"""Case SRC-1 at source level: a backup copy in the manifest directory, 10 scans, a restart, 10 scans more."""

import os

from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.instructions import Upsert, Warn
from podherd.sources.file import FileSource

from .conftest import manifest


def _fill(folder):
    (folder / "relay.yaml").write_text(manifest("relay", "reg.test/relay:2"))
    (folder / "relay.yaml.bak").write_text(manifest("relay", "reg.test/relay:1"))
    (folder / ".relay.yaml.swp").write_bytes(os.urandom(64))
    (folder / "notes.txt").write_text("todo: rotate keys")
    (folder / "old").mkdir()
    (folder / "old" / "relay.yaml").write_text(manifest("relay", "reg.test/relay:0"))
    (folder / "other.yaml").write_text(manifest("other"))


async def _scan(folder, times):
    """What an agent that starts here tells over so many scans."""
    machine, told = SourcesMachine(2, ["file"]), []
    source = FileSource(folder, "n1", 60.0, lambda event: told.extend(machine.handle(0.0, event)))
    for _ in range(times):
        await source.relist()
    return told


async def test_the_intended_manifest_runs_once_and_each_trouble_is_told_once(folder):
    _fill(folder)
    runs = [await _scan(folder, 10), await _scan(folder, 10)]
    for told in runs:
        upserts = [one.message for one in told if isinstance(one, Upsert)]
        assert sorted(message.name for message in upserts) == ["other-n1", "relay-n1"]
        assert b"reg.test/relay:2" in next(message.body for message in upserts if message.name == "relay-n1")
        warnings = [one.message for one in told if isinstance(one, Warn)]
        assert [warning.thing.rpartition("/")[2] for warning in warnings] == ["notes.txt", "relay.yaml.bak"]
        assert f"{folder}/relay.yaml," in warnings[1].problem
    uids = [{one.message.uid for one in told if isinstance(one, Upsert)} for told in runs]
    assert uids[0] == uids[1]
