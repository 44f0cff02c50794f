"""Log lines: formats, partial entries, torn lines, bounds."""

import pytest

from podherd.cri.log_lines import Entry, Joiner, Wanted, fixed, parse, seconds

AT = b"2026-01-02T03:04:05.678901234Z"


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (AT + b" stdout F hello world", Entry(b"stdout", False, b"hello world")),
        (AT + b" stderr P half", Entry(b"stderr", True, b"half")),
        (AT + b" stdout F ", Entry(b"stdout", False, b"")),
        (AT + b" stdout F", Entry(b"stdout", False, b"")),
        (AT + b" stdout P:extra tagged", Entry(b"stdout", True, b"tagged")),
        (AT + b" stdout F  two  spaces ", Entry(b"stdout", False, b" two  spaces ")),
        (b'{"log":"docker\\n","stream":"stderr","time":"t"}', Entry(b"stderr", False, b"docker")),
        (b'{"log":"docker part","stream":"stdout"}', Entry(b"stdout", True, b"docker part")),
        (b'{"log":42}', Entry(b"stdout", False, b'{"log":42}')),
        (b"no format at all", Entry(b"stdout", False, b"no format at all")),
        (AT + b" stdout X strange tag", Entry(b"stdout", False, AT + b" stdout X strange tag")),
        (b"", Entry(b"stdout", False, b"")),
        (b"\xff\xfe", Entry(b"stdout", False, b"\xff\xfe")),
    ],
)
def test_each_format_is_read(line: bytes, entry: Entry) -> None:
    assert parse(line)[:3] == entry[:3]


def test_partial_entries_become_one_line_per_stream() -> None:
    joiner = Joiner()
    data = b"".join(
        AT + rest + b"\n" for rest in (b" stdout P a", b" stderr P x", b" stdout P b", b" stderr F y", b" stdout F c")
    )
    assert joiner.feed(data) == [b"xy\n", b"abc\n"]
    assert joiner.finish() == []


def test_every_cut_of_the_bytes_gives_the_same_lines() -> None:
    data = AT + b" stdout P one-\n" + AT + b" stdout F two\n" + AT + b" stderr F three\n"
    for cut in range(len(data) + 1):
        joiner = Joiner()
        assert joiner.feed(data[:cut]) + joiner.feed(data[cut:]) == [b"one-two\n", b"three\n"], cut


def test_a_partial_entry_waits_for_the_next_file() -> None:
    joiner = Joiner()
    assert joiner.feed(AT + b" stdout P over ") == []
    assert joiner.end_file() == []
    assert joiner.feed(AT + b" stdout F files\n") == [b"over files\n"]


def test_an_unfinished_line_is_given_at_the_end_without_a_newline() -> None:
    joiner = Joiner()
    joiner.feed(AT + b" stdout P no end\n")
    assert joiner.finish() == [b"no end"]


def test_an_endless_line_is_passed_on_in_pieces() -> None:
    joiner, given = Joiner(limit_bytes=100), 0
    for _ in range(1000):
        given += sum(map(len, joiner.feed(AT + b" stdout P " + b"x" * 10 + b"\n")))
        assert sum(map(len, joiner._parts.get(b"stdout", []))) <= 110
    assert given + sum(map(len, joiner.finish())) == 10_000


def test_a_line_that_never_gets_a_newline_is_bounded_too() -> None:
    joiner = Joiner(limit_bytes=100)
    pieces = [piece for _ in range(100) for piece in joiner.feed(b"y" * 50)]
    assert b"".join(pieces + joiner.finish()).count(b"y") == 5000
    assert len(joiner._torn) <= 100


@pytest.mark.parametrize(
    ("stamp", "shown", "at"),
    [
        (b"2026-01-02T03:04:05Z", b"2026-01-02T03:04:05.000000000Z", 1767323045.0),
        (b"2026-01-02T03:04:05.25Z", b"2026-01-02T03:04:05.250000000Z", 1767323045.25),
        (b"2026-01-02T05:04:05.123456789+02:00", b"2026-01-02T05:04:05.123456789+02:00", 1767323045.123456),
        (b"yesterday", b"yesterday", float("inf")),
    ],
)
def test_a_stamp_is_shown_with_nine_digits_and_compared_in_seconds(stamp: bytes, shown: bytes, at: float) -> None:
    assert fixed(stamp) == shown
    assert seconds(stamp) == at


def test_a_timestamp_is_that_of_a_lines_first_part() -> None:
    joiner = Joiner(wanted=Wanted(timestamps=True))
    first, second = b"2026-01-02T03:04:05.1Z", b"2026-01-02T03:04:06Z"
    data = first + b" stdout P a\n" + second + b" stderr F x\n" + second + b" stdout F b\n" + b"no format\n"
    assert joiner.feed(data) == [
        b"2026-01-02T03:04:06.000000000Z x\n",
        b"2026-01-02T03:04:05.100000000Z ab\n",
        b"no format\n",
    ]


def test_an_over_long_line_has_one_timestamp() -> None:
    joiner = Joiner(limit_bytes=4, wanted=Wanted(timestamps=True))
    pieces = joiner.feed(
        b"".join(AT + b" stdout P xxx\n" for _ in range(4)) + AT + b" stdout F end\n" + AT + b" stdout F 2\n"
    )
    assert b"".join(pieces) == AT + b" " + b"x" * 12 + b"end\n" + AT + b" 2\n"


def test_lines_before_since_come_out_empty_and_whole_lines_only() -> None:
    joiner = Joiner(limit_bytes=4, wanted=Wanted(since=seconds(b"2026-01-02T03:04:06Z")))
    old, new = b"2026-01-02T03:04:05Z", b"2026-01-02T03:04:06Z"
    data = b"".join(old + b" stdout P old\n" for _ in range(3)) + new + b" stdout F of old\n" + new + b" stdout F new\n"
    pieces = joiner.feed(data + b"no time\n")
    assert b"".join(pieces) == b"new\nno time\n"
    assert pieces[-2:] == [b"new\n", b"no time\n"]
