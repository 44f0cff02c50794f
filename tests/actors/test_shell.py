"""The shell: what an unforeseen exception in an actor's own work leads to."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.outbox import Outbox
from podherd.actors.shell import EXIT_CODE, Shell
from podherd.model.settings import Settings
from podherd.wire.control import Hello

END = Shell.fatal
"""The real one, of before the tests' fixture replaces it."""


@pytest.fixture
async def shell() -> AsyncIterator[Shell]:
    actor = Shell("pod_shard-0", Settings("n1", Path("/nowhere"), "unix:///none"), LocalBus(["pleg"]))
    yield actor
    await actor.stop()


async def _fails() -> None:
    raise KeyError("unforeseen")


async def test_a_vital_task_that_fails_ends_the_actor(shell: Shell, fatal: list[str]) -> None:
    shell.spawn(_fails(), "read a", vital=True)
    await until(lambda: fatal)
    assert fatal == ["pod_shard-0: read a: KeyError: 'unforeseen'"]
    fatal.clear()


async def test_any_other_task_that_fails_does_not(shell: Shell, fatal: list[str]) -> None:
    task = shell.spawn(_fails(), "sync a")
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert fatal == []


async def test_a_vital_task_that_is_cancelled_does_not(shell: Shell, fatal: list[str]) -> None:
    task = shell.spawn(asyncio.Event().wait(), "read a", vital=True)
    await shell.stop()
    assert task.cancelled()
    assert fatal == []


async def test_an_outbox_is_vital(shell: Shell, fatal: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outbox, "run", lambda _box: _fails())
    shell.send("pleg", Hello("pod_shard-0"))
    await until(lambda: fatal)
    assert fatal == ["pod_shard-0: outbox to pleg: KeyError: 'unforeseen'"]
    fatal.clear()


async def test_an_alarm_whose_turn_fails_ends_the_actor(shell: Shell, fatal: list[str]) -> None:
    def turn() -> None:
        raise KeyError("unforeseen")

    shell.wake_at(0.0, turn)
    await until(lambda: fatal)
    assert fatal == ["pod_shard-0: KeyError: 'unforeseen'"]
    fatal.clear()


async def test_the_end_is_an_exit_that_nothing_can_stop(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    END(shell, "outbox to pleg: KeyError")
    assert codes == [EXIT_CODE]
