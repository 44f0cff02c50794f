"""The agent's words to the process that shows them."""

import os
from collections.abc import Iterator

import pytest

from podherd.agent.screen import Lines, but_shown


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Reading and writing end."""
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def read(end: int) -> bytes:
    data = b""
    try:
        while piece := os.read(end, 1 << 16):
            data += piece
    except BlockingIOError:
        return data
    return data


@pytest.mark.parametrize("width", [60, 5000])
def test_a_screen_that_reads_nothing_holds_nobody_up_and_is_told_what_it_missed(
    pipe: tuple[int, int], width: int
) -> None:
    lines = Lines(pipe[1])
    said = [f"{number:05d}".ljust(width, ".") for number in range(3000)]
    for line in said:
        lines.send(line)
    shown = read(pipe[0])
    for line in ("later", "last"):
        lines.send(line)
    shown += read(pipe[0])
    *before, note, later, last = shown.decode().splitlines()
    assert before == said[: len(before)]
    assert note == f"({len(said) - len(before)} lines are not shown)"
    assert (later, last) == ("later", "last")


def test_a_screen_that_is_gone_is_an_error_for_the_one_who_speaks(pipe: tuple[int, int]) -> None:
    lines = Lines(pipe[1])
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError):
        lines.send("hello")


def test_news_of_manifests_are_left_to_the_screen_and_other_log_lines_are_not() -> None:
    heard: list[str] = []
    take = but_shown(heard.append)
    begin = "timestamp=2026-01-01T00:00:00 level=warning actor=sources event="
    take(f'{begin}"manifest problem" thing=a.yaml problem="is empty"')
    take(f'{begin}"manifest problem is over" thing=a.yaml')
    take(f'{begin}"other" thing=a.yaml')
    assert heard == [f'{begin}"other" thing=a.yaml']
