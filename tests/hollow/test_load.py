"""Many pods at once: every call is answered, counted and told once; lists are whole in any order."""

import asyncio
from pathlib import Path

from podherd.hollow.child import start_child
from podherd.hollow.control import Control
from podherd.hollow.measure import IMAGE, Load

PODS, EACH = 1000, 2


async def test_a_thousand_pods_are_each_made_once_and_every_list_has_them_all(room: Path) -> None:
    child = await start_child(room / "cri.sock", "--image", IMAGE, "--shuffle")
    load = Load(child.endpoint, PODS, EACH)
    async with Control(child.endpoint) as control:
        assert await load.run_sandboxes() == PODS
        assert await load.create() == PODS * EACH
        assert await load.start() == PODS * EACH
        await asyncio.gather(load.statuses(), load.sandbox_statuses(), load.list_containers())
        first, second = await load.call("ListContainers", [b"", b""])
        stats, journal = await control.stats(), await control.journal()
    await load.close()
    await child.stop()
    assert len(first) == len(second)
    assert first != second
    assert (len(set(load.sandbox_ids)), len(set(load.container_ids))) == (PODS, PODS * EACH)
    assert all(one.encode() in first for one in load.container_ids)
    assert (stats["sandboxes"], stats["containers"], stats["doubled"], stats["errors"]) == (PODS, PODS * EACH, [], {})
    assert stats["calls"]["ContainerStatus"] == PODS * EACH
    made = [(entry["method"], entry["pod"], entry["container"], entry["attempt"]) for entry in journal]
    assert len(made) == len(set(made)) == PODS * (1 + 2 * EACH)
