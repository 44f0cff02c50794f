"""Header blocks and frames against the hpack library and the RFC's layout."""

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from podherd.hollow import frames
from podherd.hollow.frames import RequestPaths, ResponseHeaders

OUTCOMES = st.lists(st.sampled_from(["ok", "failed", "failed before a message"]), min_size=1, max_size=12)


def _read(decoder: Decoder, block: bytes) -> dict[str, str]:
    return {str(name): str(value) for name, value in decoder.decode(block)}


@given(OUTCOMES, st.booleans())
def test_a_client_reads_every_response_whatever_came_before(outcomes: list[str], learn: bool) -> None:
    headers, decoder = ResponseHeaders(), Decoder()
    headers.learn = learn
    for outcome in outcomes:
        head = {":status": "200", "content-type": "application/grpc"}
        if outcome == "failed before a message":
            read = _read(decoder, headers.head() + headers.failure(5, "no"))
            assert read == {**head, "grpc-status": "5", "grpc-message": "no"}
            continue
        assert _read(decoder, headers.head()) == head
        end = headers.ok() if outcome == "ok" else headers.failure(5, "no")
        assert _read(decoder, end)["grpc-status"] == ("0" if outcome == "ok" else "5")


@pytest.mark.parametrize(
    ("message", "written"),
    [("plain", "plain"), ("50% of ü\n", "50%25 of %C3%BC%0A"), ("x" * 126, None), ("x" * 127, None), ("x" * 400, None)],
)
def test_a_message_of_any_length_is_percent_encoded(message: str, written: str | None) -> None:
    read = _read(Decoder(), ResponseHeaders().failure(2, message))
    assert read["grpc-message"] == (message if written is None else written)


@given(st.lists(st.tuples(st.sampled_from(["/a/B", "/a/C"]), st.integers(0, 5)), max_size=20), st.booleans())
def test_paths_are_right_for_blocks_that_change_the_table_and_blocks_that_repeat(
    calls: list[tuple[str, int]], huffman: bool
) -> None:
    encoder, paths = Encoder(), RequestPaths()
    for path, timeout in calls:
        fields = [(":method", "POST"), (":path", path), ("te", "trailers"), ("grpc-timeout", f"{timeout}S")]
        assert paths.path(encoder.encode(fields, huffman=huffman)) == path.encode()


def test_a_repeated_block_is_known_until_the_table_changes() -> None:
    encoder, paths = Encoder(), RequestPaths()
    for _ in range(3):
        block = encoder.encode([(":path", "/a/B")])
        paths.path(block)
    assert paths._known == {block: b"/a/B"}
    paths.path(encoder.encode([(":path", "/a/C")]))
    assert paths._known == {}


def test_padding_and_priority_are_taken_off() -> None:
    assert frames.bare(0, b"abc") == b"abc"
    assert frames.bare(frames.PADDED, b"\x02abc\0\0") == b"abc"
    assert frames.bare(frames.PADDED | frames.WITH_PRIORITY, b"\x01\0\0\0\0\x10abc\0") == b"abc"


def test_settings_and_numbers_survive_the_way_there_and_back() -> None:
    written = frames.settings((4, 1 << 20), (5, 16384))
    assert frames.settings_in(written[9:] + b"cut") == [(4, 1 << 20), (5, 16384)]
    assert frames.number_in(frames.window_update(3, 77)[9:]) == 77
    assert frames.number_in(b"\0") == 0
