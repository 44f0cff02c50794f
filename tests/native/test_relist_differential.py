"""The compiled table against its fallback: the same replies, well formed or not, give the same changes and refusals."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from podherd.errors import TruncatedError
from podherd.native import relist as compiled
from podherd.native.fallback import protowire
from podherd.native.fallback import relist as fallback

IDS = [b"a" * 64, b"a" * 63 + b"b", b"short", b"\xff", b"\xfe\xfe", b"i" * 300, b""]
SANDBOXES = [b"s" * 64, b"t" * 64, b"u", b""]
UIDS = [b"uid-1", b"uid-2", "ü-3".encode(), b"\xff", b"\xfe", b""]
NAMES = [b"", b"default", b"web-0", b"\xc3"]
NUMBERS = [0, 1, 2, 3, 4, 7, 127, 128, 2**32, 2**32 + 1, 2**63, 2**64 - 1]
LABEL_KEYS = [b"io.kubernetes.pod.uid", b"io.kubernetes.pod.namespace", b"io.kubernetes.pod.name", b"app", b""]

Step = tuple[str, Any]


def varint(value: int) -> bytes:
    parts = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


def span(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def group(field: int, body: bytes) -> bytes:
    return varint(field << 3 | 3) + body + varint(field << 3 | 4)


fields = st.sampled_from([1, 2, 3, 6, 8, 11, 15, 16, 2047, 2**29 - 1])
plain_unknown = st.one_of(
    st.builds(number, fields, st.sampled_from(NUMBERS)),
    st.builds(lambda f, b: varint(f << 3 | 1) + b, fields, st.binary(min_size=8, max_size=8)),
    st.builds(lambda f, b: varint(f << 3 | 5) + b, fields, st.binary(min_size=4, max_size=4)),
    st.builds(span, st.sampled_from([11, 16, 2047]), st.binary(max_size=200)),
)
unknown = st.recursive(plain_unknown, lambda inner: st.builds(group, fields, inner), max_leaves=3)
bad_fields = st.sampled_from(
    [
        b"\x58" + b"\xff" * 9 + b"\x02",  # a number of 65 bits
        b"\x58" + b"\x80" * 10 + b"\x00",  # one of eleven bytes
        b"\x07\x00",  # field 0
        b"\x5e",  # wire type 6
        b"\x5c",  # the end of no group
        b"\x5b\x64",  # the end of another group
        varint(2**32 | 8) + b"\x00",  # a field number of 30 bits
        b"\x5b" * 101 + b"\x5c" * 101,  # groups 101 deep
        b"\x5a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length of 2^64 - 1
    ]
)
deep_groups = st.just(b"\x5b" * 100 + b"\x5c" * 100)
padded = st.sampled_from([varint(1 << 3), b"\x88\x00", b"\x0a\x80\x00", b"\x8a\x80\x80\x00\x00"])


def message(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """A message with none, one or two of each part, and perhaps an unknown field, in any order."""
    some = [
        st.lists(part, max_size=2) if index else st.lists(part, min_size=1, max_size=2)
        for index, part in enumerate(parts)
    ]
    drawn = st.tuples(*some, st.lists(unknown, max_size=1)).map(lambda lists: [field for one in lists for field in one])
    return drawn.flatmap(st.permutations).map(b"".join)


def one_of_spans(field: int, values: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.sampled_from(values).map(lambda value: span(field, value))


metadata = message(one_of_spans(2, UIDS), one_of_spans(3, NAMES), one_of_spans(1, NAMES), one_of_spans(4, [b"x"]))
label = message(one_of_spans(1, LABEL_KEYS), st.sampled_from(UIDS + NAMES).map(lambda value: span(2, value)))
states = st.sampled_from(NUMBERS)
simple_container = st.builds(
    lambda ident, sandbox, state, uid: (
        span(1, ident) + span(2, sandbox) + number(6, state) + span(8, span(1, LABEL_KEYS[0]) + span(2, uid))
    ),
    st.sampled_from(IDS[:4]), st.sampled_from(SANDBOXES), st.sampled_from([0, 1, 2]), st.sampled_from(UIDS),
)  # fmt: skip
simple_sandbox = st.builds(
    lambda ident, state, uid: span(1, ident) + span(2, span(2, uid)) + number(3, state),
    st.sampled_from(SANDBOXES), st.sampled_from([0, 1]), st.sampled_from(UIDS),
)  # fmt: skip
sandbox = simple_sandbox | message(
    one_of_spans(1, SANDBOXES), metadata.map(lambda body: span(2, body)), states.map(lambda value: number(3, value))
)
container = simple_container | message(
    one_of_spans(1, IDS),
    label.map(lambda body: span(8, body)),
    one_of_spans(2, SANDBOXES),
    states.map(lambda value: number(6, value)),
    label.map(lambda body: span(8, body)),
)


def reply(entry: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    items = st.lists(
        entry.map(lambda body: span(1, body)) | entry.map(lambda body: span(1, body)) | unknown | padded | deep_groups,
        min_size=1,
        max_size=8,
    )
    whole = items.map(b"".join)
    spoilt = st.builds(lambda good, body, bad: good + span(1, body + bad), whole, entry, bad_fields)
    damaged = st.builds(damage, whole, st.integers(0, 2**16), st.integers(0, 255))
    kinds = [whole] * 9 + [damaged, spoilt, st.binary(max_size=40)]
    return st.sampled_from(range(len(kinds))).flatmap(lambda kind: kinds[kind])


def damage(data: bytes, where: int, what: int) -> bytes:
    """Cut the bytes, or overwrite one of them."""
    at = where % (len(data) + 1)
    return data[:at] if what % 3 == 0 else data[:at] + bytes([what]) + data[at + 1 :]


pairs = st.tuples(reply(sandbox), reply(container))
step = st.one_of(
    *[st.tuples(st.just("relist"), st.integers(0, 3))] * 4,
    st.tuples(st.just("forget"), st.sampled_from(UIDS).map(lambda uid: uid.decode("utf-8", "replace"))),
    st.tuples(st.just("clear"), st.none()),
)
stories = st.tuples(st.lists(pairs, min_size=2, max_size=4), st.lists(step, min_size=3, max_size=9))
Story = tuple[list[tuple[bytes, bytes]], list[Step]]


def look(table: Any) -> tuple[Any, ...]:
    """All that a table shows of itself."""
    uids = sorted({uid for uid, _, _ in table.pods()} | {"uid-1", "no such uid", ""})
    return table.pods(), table.counts(), len(table), [list(table.states(uid).items()) for uid in uids]


def play(table: Any, story: Story) -> list[Any]:
    """Every outcome and look of a table that lives through the story; a refusal must leave it as it was."""
    replies, steps = story
    outcomes: list[Any] = []
    for deed, argument in steps:
        before = look(table)
        try:
            args = replies[argument % len(replies)] if deed == "relist" else () if argument is None else (argument,)
            outcomes.append(getattr(table, deed)(*args))
        except TruncatedError as refused:
            outcomes.append(str(refused))
            assert look(table) == before
        outcomes.append(look(table))
    return outcomes


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories)
def test_compiled_and_fallback_tell_the_same_story(story: Story) -> None:
    assert play(compiled.Table(), story) == play(fallback.Table(), story)


def a_living_node(rng: Random) -> Story:
    """Replies of a node on which pods come, change and go, and now and then a broken one."""
    boxes: dict[bytes, tuple[int, bytes]] = {}
    containers: dict[bytes, tuple[int, bytes, bytes]] = {}
    replies: list[tuple[bytes, bytes]] = []
    for _ in range(12):
        for index in rng.sample(range(8), 3):
            ident, uid = b"box-%d" % index, rng.choice([b"uid-%d" % index] * 8 + UIDS)
            rng.choice([boxes.pop, boxes.get, boxes.setdefault])(ident, (0, uid))
            if ident in boxes:
                boxes[ident] = (rng.randrange(2), boxes[ident][1] if rng.random() < 0.9 else uid)
            sandbox = ident if rng.random() < 0.9 else b"box-0"
            fresh = (rng.randrange(4), sandbox, rng.choice([uid, uid, b""]))
            rng.choice([containers.pop, containers.get, containers.setdefault])(b"c" + ident, fresh)
            if b"c" + ident in containers:
                _, sandbox, label = containers[b"c" + ident]
                containers[b"c" + ident] = (rng.randrange(4), sandbox if rng.random() < 0.9 else b"box-1", label)
        sandboxes = [
            _mixed(rng, span(1, i), number(3, s), *rng.choice([[span(2, span(2, u))]] * 9 + _odd_metadata(u)))
            for i, (s, u) in boxes.items()
        ]
        others = [
            _mixed(rng, span(1, i), span(2, box), number(6, s), span(8, span(1, LABEL_KEYS[0]) + span(2, u)))
            for i, (s, box, u) in containers.items()
        ]
        whole = b"".join(rng.sample(sandboxes, len(sandboxes))), b"".join(rng.sample(others, len(others)))
        replies.append(
            whole if rng.random() < 0.8 else (whole[0], damage(whole[1], rng.randrange(400), rng.randrange(256)))
        )
    steps: list[Step] = [("relist", index) for index in range(12)]
    steps.insert(rng.randrange(12), ("forget", f"uid-{rng.randrange(8)}"))
    return replies, steps


def _odd_metadata(uid: bytes) -> list[list[bytes]]:
    """None, two, the same twice, one that names the pod fully, and one that names nothing."""
    plain = span(2, span(2, uid))
    return [
        [],
        [plain, span(2, span(3, b"ns"))],
        [plain, plain],
        [span(2, span(2, uid) + span(1, b"web"))],
        [span(2, b"")],
    ]


def _mixed(rng: Random, *parts: bytes) -> bytes:
    some = [*parts, number(900, 1), span(901, b"new")][: len(parts) + rng.randrange(3)]
    return span(1, b"".join(rng.sample(some, len(some))))


@pytest.mark.parametrize("block", range(20))
def test_compiled_and_fallback_see_the_same_node_live(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        story = a_living_node(Random(seed))
        assert play(compiled.Table(), story) == play(fallback.Table(), story), f"seed {seed}"


def test_a_living_node_shows_every_kind_of_change() -> None:
    outcomes = [outcome for seed in range(300) for outcome in play(compiled.Table(), a_living_node(Random(seed)))]
    changes = [change for outcome in outcomes if isinstance(outcome, list) for change in outcome]
    moves = {(change.kind, change.old_state, change.new_state) for change in changes}
    names = {"sandbox": ["", "ready", "notready"], "container": ["", "created", "running", "exited", "unknown"]}
    wanted = {(kind, old, new) for kind, states in names.items() for old in states for new in states if old != new}
    moved = {("container", state, state) for state in names["container"][1:]}
    assert moves == wanted | moved
    assert any(isinstance(outcome, str) for outcome in outcomes)


@settings(max_examples=1500, deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_garbage_is_read_or_refused_alike(sandboxes: bytes, containers: bytes) -> None:
    story: Story = ([(sandboxes, containers)], [("relist", 0), ("relist", 0)])
    assert play(compiled.Table(), story) == play(fallback.Table(), story)


def test_every_cut_of_a_reply_is_read_or_refused_alike() -> None:
    box = span(
        1, span(1, b"s" * 64) + span(2, span(1, b"web") + span(2, b"uid-1") + span(3, b"default")) + number(4, 2**60)
    )
    labels = b"".join(span(8, span(1, key) + span(2, b"uid-1")) for key in LABEL_KEYS)
    whole = span(1, span(1, b"c" * 64) + span(2, b"s" * 64) + number(6, 1) + labels + group(20, number(1, 300)))
    for sandboxes in (box[:cut] for cut in range(len(box) + 1)):
        story: Story = ([(sandboxes, whole)], [("relist", 0)])
        assert play(compiled.Table(), story) == play(fallback.Table(), story)
    for containers in (whole[:cut] for cut in range(len(whole) + 1)):
        story = ([(box, whole), (box, containers)], [("relist", 0), ("relist", 1), ("relist", 0)])
        assert play(compiled.Table(), story) == play(fallback.Table(), story)


def _first_duplicate_wins(data: bytes, read: Any) -> dict[bytes, Any]:
    items: dict[bytes, Any] = {}
    pos = 0
    while pos < len(data):
        tag, start, pos = protowire.field(data, pos, len(data))
        if tag == 10:
            item = read(data, start, pos)
            items.setdefault(item.id, item)
    items.pop(b"", None)
    return items


def _wide_state(names: tuple[str, ...], data: bytes, start: int, stop: int) -> str:
    return names[min(protowire.varint(data, start, stop, start)[0], len(names) - 1)]


def _nothing_is_gone(kind: str, seen: Any, old: Any, new: Any) -> Any:
    return _DIFFERENCES(kind, [*seen, *old], old, {**old, **new})


def _no_sandbox_to_ask(table: Any, item: Any, data: bytes, _boxes: Any) -> Any:
    return _CONTAINER_POD(table, item, data, {})


def _strict_text(raw: bytes) -> str:
    return raw.decode("utf-8", "ignore")


def _endless_varint(data: bytes, pos: int, end: int, start: int) -> tuple[int, int]:
    value = shift = 0
    while pos < end:
        value |= (data[pos] & 0x7F) << shift
        pos += 1
        if data[pos - 1] < 0x80:
            return value & (2**64 - 1), pos
        shift += 7
    raise protowire.BadWireError(start, protowire.ENDS)


def _first_label_wins(data: bytes, start: int, stop: int) -> Any:
    return (
        _READ_LABELS(data, start, start + (stop - start) // 2)
        if stop - start > 150
        else _READ_LABELS(data, start, stop)
    )


_DIFFERENCES = fallback._differences
_CONTAINER_POD = fallback.Table._container_pod
_READ_LABELS = fallback._read_labels

FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "the first duplicate wins": (fallback, "_latest", _first_duplicate_wins),
    "a state is wider than 32 bits": (fallback, "_state", _wide_state),
    "what is gone is not told": (fallback, "_differences", _nothing_is_gone),
    "a container's sandbox of this reply is not asked": (fallback.Table, "_container_pod", _no_sandbox_to_ask),
    "invalid UTF-8 is left out": (fallback, "_text", _strict_text),
    "a number may be longer than 64 bits": (protowire, "varint", _endless_varint),
    "labels are not read to the end": (fallback, "_read_labels", _first_label_wins),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])

    def differs(story: Story) -> bool:
        try:
            return play(compiled.Table(), story) != play(fallback.Table(), story)
        except (AssertionError, protowire.BadWireError):
            return True

    search = settings(
        max_examples=5000,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    assert find(stories, differs, settings=search)
