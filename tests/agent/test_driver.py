"""The driver's own deeds without Ray: the actors' file and the drain."""

import asyncio
import json
from pathlib import Path

import pytest

from podherd.actors.supervisor import Seen
from podherd.agent import driver
from podherd.model.settings import Settings


def seen(at: float) -> list[Seen]:
    return [Seen("pleg", 7, 0, at)]


def test_a_disk_that_takes_no_file_costs_the_list_of_actors_and_nothing_else(tmp_path: Path) -> None:
    file = driver.ActorsFile(Settings(node_name="n", root_dir=tmp_path, runtime_endpoint=""))
    file.write(seen(1.0), True)  # there is no run directory
    (tmp_path / "run").mkdir()
    file.write(seen(2.0), False)  # what failed is tried again
    assert json.loads((tmp_path / "run" / "actors.json").read_text())[0]["at"] == 2.0
    file.write(seen(3.0), False)
    assert json.loads((tmp_path / "run" / "actors.json").read_text())[0]["at"] == 2.0


async def test_a_drain_is_asked_for_again_until_a_server_says_that_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "DRAIN_RETRY_S", 0.01)
    answers = [b"", b"HTTP/1.1 503 Service Unavailable\r\n", b"HTTP/1.1 200 OK\r\n"]
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(answers[len(asked) - 1])
        writer.close()

    draining = asyncio.create_task(driver.drain(tmp_path / "sock"))  # nobody listens yet
    async with await asyncio.start_unix_server(answer, tmp_path / "sock"):
        async with asyncio.timeout(10):
            await draining
    assert asked == [b"POST /v1/drain HTTP/1.1\r\n"] * 3
