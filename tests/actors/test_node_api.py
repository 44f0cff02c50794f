"""The node actor's dealings with an API server that refuses: how often it asks, by a clock that is made up."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.virtual_loop import run_virtually

from podherd.actors import node_api
from podherd.actors.node_api import NodeApi
from podherd.errors import ApiError
from podherd.kube.door import Dropped, Listed, News
from podherd.machines import node_events as heard
from podherd.model.settings import Settings
from podherd.wire import codec

STATUS = codec.pack({"conditions": [], "addresses": []})
NODE = {"metadata": {"name": "n1", "uid": "u1"}}


class Away:
    """An API that takes no patch."""

    def __init__(self) -> None:
        self.tries: list[float] = []
        self.told: Callable[[News], None] | None = None

    async def follow(self, _path: str, _query: Any, told: Callable[[News], None]) -> None:
        self.told = told
        await asyncio.Event().wait()

    async def patch(self, path: str, _body: Any) -> dict[str, Any]:
        self.tries.append(asyncio.get_running_loop().time())
        raise ApiError(path, 0, "", "connection refused")

    async def close(self) -> None:
        """Nothing is open."""


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, event: str, **_: Any) -> None:
        self.lines.append(event)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Away:
    api = Away()
    monkeypatch.setattr(node_api, "connect", lambda *_: api)
    return api


def settings() -> Settings:
    return Settings("n1", Path("/nowhere"), "", kubeconfig=Path("/nowhere/config"), register_node=False)


async def run(seconds: float, log: Log, act: Callable[[NodeApi], None], turn: Callable[[NodeApi, Any], None]) -> None:
    """The works of a NodeApi for so long, on which `act` is called once they go."""
    made = NodeApi(settings(), lambda _now: {}, lambda event: turn(made, event), lambda: 0.0, log)
    tasks = [asyncio.ensure_future(work) for _, work in made.works()]
    await asyncio.sleep(0)
    act(made)
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_status_that_is_not_taken_is_sent_again_ever_more_slowly(away: Away) -> None:
    def again(api: NodeApi, event: Any) -> None:
        if isinstance(event, heard.ReportFailed):
            api.report(STATUS, {})

    run_virtually(run(60.0, Log(), lambda api: api.report(STATUS, {}), again))
    pauses = [later - earlier for earlier, later in zip(away.tries, away.tries[1:], strict=False)]
    assert pauses[:3] == pytest.approx([0.1, 0.2, 0.4])
    assert pauses[-1] == pytest.approx(node_api.MOST_S)
    assert len(away.tries) < 20


def test_that_the_node_object_was_deleted_is_logged_once(away: Away) -> None:
    log, events = Log(), list[Any]()

    def deleted(_api: NodeApi) -> None:
        assert away.told is not None
        for news in (Listed([]), Listed([NODE]), Dropped(NODE), Listed([])):
            away.told(news)

    run_virtually(run(0.0, log, deleted, lambda _api, event: events.append(event)))
    assert [line for line in log.lines if "deleted" in line] == ["the Node object was deleted"]
    assert [bool(event.body) for event in events] == [False, True, False, False]
