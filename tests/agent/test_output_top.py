"""The tables of `podherd top`."""

import pytest
from rich.live import Live

from podherd.agent.commands import top
from podherd.agent.output_top import cores, memory, node, only, pods, share
from podherd.errors import PodherdError

ANSWER = {
    "nodeName": "n1",
    "node": {"cpuCores": 0.5, "cpus": 2, "memoryBytes": 1 << 30, "memoryTotalBytes": 4 << 30},
    "items": [
        {"namespace": "a", "name": "one", "cpuCores": 0.0011, "memoryBytes": 9 << 20,
         "containers": [{"name": "x", "cpuCores": 0.0011, "memoryBytes": 9 << 20}]},
        {"namespace": "b", "name": "two", "cpuCores": None, "memoryBytes": 10 << 20,
         "containers": [{"name": "y", "cpuCores": None, "memoryBytes": 10 << 20}]},
    ],
}  # fmt: skip


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_pods_by_name_cpu_and_memory() -> None:
    assert rows(pods(ANSWER, "", False, True)) == [
        ["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"],
        ["a", "one", "2m", "9Mi"],
        ["b", "two", "-", "10Mi"],
    ]
    assert [row[0] for row in rows(pods(ANSWER, "cpu", False, False))[1:]] == ["one", "two"]
    assert [row[0] for row in rows(pods(ANSWER, "memory", False, False))[1:]] == ["two", "one"]


def test_figures_that_are_not_known_stand_last() -> None:
    idle = {"namespace": "c", "name": "idle", "cpuCores": 0.0, "memoryBytes": None, "containers": []}
    answer = {**ANSWER, "items": [*reversed(ANSWER["items"]), idle]}
    assert [row[0] for row in rows(pods(answer, "cpu", False, False))[1:]] == ["one", "idle", "two"]
    assert [row[0] for row in rows(pods(answer, "memory", False, False))[1:]] == ["two", "one", "idle"]


def test_only_the_pods_that_are_named() -> None:
    assert only(ANSWER, []) is ANSWER
    assert [item["name"] for item in only(ANSWER, ["two", "a/one"])["items"]] == ["two", "one"]
    static = {**ANSWER, "items": [{**ANSWER["items"][0], "name": "one-n1"}]}
    assert only(static, ["one"])["items"] == static["items"]
    with pytest.raises(PodherdError, match="no container of it runs here"):
        only(ANSWER, ["b/one"])


def test_containers_stand_beside_their_pod() -> None:
    assert rows(pods(ANSWER, "", True, False))[1] == ["one", "x", "2m", "9Mi"]


def test_the_node_with_its_shares() -> None:
    assert rows(node(ANSWER))[1] == ["n1", "500m", "25%", "1024Mi", "25%"]


def test_figures_that_are_not_known() -> None:
    assert (cores(None), memory(None), share(None, 2), share(1.0, 0)) == ("-", "-", "-", "-")
    assert (cores(0.0), cores(1.5), cores(0.0004)) == ("0m", "1500m", "1m")


@pytest.mark.parametrize("moment", ["the first figures", "the first table"])
def test_ctrl_c_ends_the_live_table_at_any_moment(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Live, "__enter__", interrupted)
    top._live(interrupted if moment == "the first figures" else lambda: "table")
