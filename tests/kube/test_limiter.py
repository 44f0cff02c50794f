"""The token bucket and the line splitter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.virtual_loop import run_virtually

from podherd.kube.limiter import Bucket, Limiter
from podherd.kube.lines import Lines


def test_a_burst_goes_at_once_and_then_as_many_a_second() -> None:
    bucket = Bucket(10, 2)
    assert [bucket.reserve(0.0) for _ in range(4)] == pytest.approx([0, 0, 0.1, 0.2])
    assert bucket.reserve(10.0) == 0


def test_no_rate_is_no_limit() -> None:
    bucket = Bucket(0, 0)
    assert {bucket.reserve(0.0) for _ in range(100)} == {0.0}


def test_turns_take_their_time() -> None:
    async def work() -> None:
        limiter = Limiter(5, 1)
        for _ in range(11):
            await limiter.turn()
        import asyncio

        assert asyncio.get_running_loop().time() == pytest.approx(2.0)

    run_virtually(work())


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip())), st.integers(1, 7))
def test_lines_come_out_however_the_stream_is_cut(lines: list[bytes], size: int) -> None:
    stream, splitter = b"".join(line + b"\n" for line in lines), Lines()
    cut = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [line for piece in cut for line in splitter.feed(piece)] == lines


def test_half_a_line_is_kept_back() -> None:
    assert Lines().feed(b'{"a": 1}\n{"b":') == [b'{"a": 1}']
