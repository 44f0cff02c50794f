"""The ready-made lists."""

from random import Random

from cri_api.v1 import api_pb2 as api
from hypothesis import given
from hypothesis import strategies as st

from podherd.hollow.encode import block, text
from podherd.hollow.shelf import Shelf

IDS = st.integers(0, 2**256 - 1).map(lambda n: f"{n:064x}")


def _entry(entry_id: str, handler: str = "") -> bytes:
    return block(b"\x0a", text(b"\x0a", entry_id) + text(b"\x3a", handler))


def _listed(shelf: Shelf) -> dict[str, str]:
    reply = api.ListPodSandboxResponse.FromString(b"".join(shelf.reply()))
    assert len({one.id for one in reply.items}) == len(reply.items)
    return {one.id: one.runtime_handler for one in reply.items}


@given(st.lists(st.tuples(IDS, st.sampled_from(["", "a", "b", "gone"])), max_size=40), st.booleans())
def test_a_reply_is_what_was_put_last_and_not_dropped(changes: list[tuple[str, str]], shuffle: bool) -> None:
    shelf = Shelf(Random(1) if shuffle else None)
    wanted: dict[str, str] = {}
    for entry_id, handler in changes:
        if handler == "gone" and entry_id in wanted:
            shelf.drop(entry_id)
            del wanted[entry_id]
        elif handler != "gone":
            shelf.put(entry_id, _entry(entry_id, handler))
            wanted[entry_id] = handler
        assert _listed(shelf) == wanted


def test_unchanged_buckets_are_the_same_objects_again() -> None:
    shelf = Shelf()
    for n in range(1000):
        entry_id = f"{n * 7919:064x}"[::-1]
        shelf.put(entry_id, _entry(entry_id))
    before = shelf.reply()
    shelf.put("ff" + "0" * 62, _entry("ff" + "0" * 62))
    after = shelf.reply()
    assert sum(a is not b for a, b in zip(before, after, strict=True)) == 1


def test_shuffled_replies_differ_in_order_and_not_in_entries() -> None:
    shelf = Shelf(Random(3))
    random = Random(4)
    for _ in range(500):
        entry_id = f"{random.getrandbits(256):064x}"
        shelf.put(entry_id, _entry(entry_id))
    first, second = b"".join(shelf.reply()), b"".join(shelf.reply())
    assert first != second
    assert sorted(api.ListPodSandboxResponse.FromString(first).items, key=lambda one: one.id) == sorted(
        api.ListPodSandboxResponse.FromString(second).items, key=lambda one: one.id
    )


def test_clear_leaves_an_empty_reply() -> None:
    shelf = Shelf()
    shelf.put("a" * 64, _entry("a" * 64))
    shelf.clear()
    assert _listed(shelf) == {}
