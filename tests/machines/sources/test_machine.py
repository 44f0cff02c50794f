"""The sources machine: what leaves it, and when."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import (
    Noted,
    OriginBad,
    OriginGone,
    OriginRead,
    ServerStarted,
    ShardStarted,
    SourceListed,
    Started,
    StaticPod,
)
from podherd.machines.sources.instructions import List, Remove, Upsert, Warn
from podherd.model.keys import CONFIG_HASH, CONFIG_SEEN, shard_of
from podherd.wire import codec

SHARDS = 2


def _pod(name, uid=None, content=None, seen="s1"):
    uid = uid or f"uid-{name}"
    body = {"metadata": {"uid": uid, "annotations": {CONFIG_SEEN: seen}}, "spec": content}
    return StaticPod(uid, "default", name, content or uid, codec.pack(body))


def _read(origin, *pods, source="file", warnings=()):
    return OriginRead(source, origin, pods, warnings)


def _machine(*configured, seen=True):
    machine = SourcesMachine(SHARDS, configured or ("file",))
    if seen:
        machine.handle(0.0, *(SourceListed(source) for source in configured or ("file",)))
    return machine


def _brief(told):
    """`+name uid`, `-name uid`, `=complete uids`, `!thing problem` for each instruction."""
    words = []
    for one in told:
        message = one.message
        if isinstance(one, Upsert | Remove):
            assert one.shard == shard_of("default", message.name, SHARDS)
            words.append(f"{'+' if isinstance(one, Upsert) else '-'}{message.name} {message.uid}")
        elif isinstance(one, List):
            words.append(f"={'complete' if message.complete else 'partial'} {','.join(sorted(message.uids))}".strip())
        else:
            words.append(f"!{message.thing} {message.problem}".strip())
    return words


def _handle(machine, *events):
    return _brief(machine.handle(1.0, *events))


def test_a_new_pod_is_told_to_its_shard_once_with_its_cause():
    machine = _machine()
    told = machine.handle(1.0, _read("/m/a.yaml", _pod("a")))
    assert _brief(told) == ["+a uid-a"]
    assert told[0].message.cause == "file /m/a.yaml created"
    assert told[0].message.source == "file"
    assert _handle(machine, _read("/m/a.yaml", _pod("a", seen="s2"))) == []


def test_an_edit_takes_the_old_uid_away_and_then_brings_the_new():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("a", "u1")))
    told = machine.handle(1.0, _read("/m/a.yaml", _pod("a", "u2")))
    assert _brief(told) == ["-a u1", "+a u2"]
    assert {one.message.cause for one in told} == {"file /m/a.yaml changed"}


def test_an_edit_under_a_given_uid_is_an_update_that_keeps_when_it_was_first_seen():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("a", "u", "c1", "s1")))
    (told,) = machine.handle(1.0, _read("/m/a.yaml", _pod("a", "u", "c2", "s2")))
    body = codec.unpack(told.message.body)
    assert body["spec"] == "c2"
    assert body["metadata"]["annotations"][CONFIG_SEEN] == "s1"


def test_a_rename_inside_a_file_is_a_removal_and_an_addition():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("b")))
    assert _handle(machine, _read("/m/a.yaml", _pod("a"))) == ["-b uid-b", "+a uid-a"]


def test_a_file_that_is_gone_takes_its_pod_along():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("a")))
    assert _handle(machine, OriginGone("file", "/m/a.yaml")) == ["-a uid-a"]
    assert _handle(machine, OriginGone("file", "/m/a.yaml")) == []


def test_a_bad_file_keeps_its_pod_until_it_is_given_up():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("a")))
    assert _handle(machine, OriginBad("file", "/m/a.yaml", "no YAML", keep=True)) == ["!/m/a.yaml no YAML"]
    assert _handle(machine, OriginBad("file", "/m/a.yaml", "no YAML", keep=True)) == []
    assert _handle(machine, OriginBad("file", "/m/a.yaml", "no YAML", keep=False)) == ["-a uid-a"]
    assert _handle(machine, _read("/m/a.yaml", _pod("a"))) == ["+a uid-a", "!/m/a.yaml"]


def test_a_file_that_is_mended_unchanged_only_takes_the_problem_back():
    machine = _machine()
    machine.handle(0.0, _read("/m/a.yaml", _pod("a")), OriginBad("file", "/m/a.yaml", "x", keep=True))
    assert _handle(machine, _read("/m/a.yaml", _pod("a"))) == ["!/m/a.yaml"]


def test_warnings_of_a_manifest_are_told_once_and_end_with_the_file():
    machine = _machine()
    read = _read("/m/a.yaml", _pod("a"), warnings=("no probes", "no gates"))
    assert _handle(machine, read) == ["+a uid-a", "!/m/a.yaml no probes; no gates"]
    assert _handle(machine, read) == []
    assert _handle(machine, OriginGone("file", "/m/a.yaml")) == ["-a uid-a", "!/m/a.yaml"]


def test_nothing_is_removed_before_every_configured_source_was_seen():
    machine = _machine("file", "http", seen=False)
    assert _handle(machine, _read("/m/a.yaml", _pod("a")), _read("/m/b.yaml", _pod("b"))) == ["+a uid-a", "+b uid-b"]
    assert _handle(machine, SourceListed("file")) == ["=partial uid-a,uid-b", "=partial"]
    assert _handle(machine, OriginGone("file", "/m/a.yaml")) == []
    assert not machine.complete
    assert _handle(machine, SourceListed("http")) == ["-a uid-a", "=complete uid-b", "=complete"]
    assert machine.complete
    assert _handle(machine, OriginGone("file", "/m/b.yaml")) == ["-b uid-b"]


def test_an_edited_pod_is_replaced_although_another_source_is_unknown():
    machine = _machine("file", "http", seen=False)
    machine.handle(0.0, _read("/m/a.yaml", _pod("a", "u-old")), SourceListed("file"))
    assert _handle(machine, _read("/m/a.yaml", _pod("a", "u-new"))) == ["-a u-old", "+a u-new"]


def test_a_pod_that_comes_back_before_all_is_known_was_never_removed():
    machine = _machine("file", "http", seen=False)
    machine.handle(0.0, _read("/m/a.yaml", _pod("a")), OriginGone("file", "/m/a.yaml"))
    assert _handle(machine, _read("/m/a.yaml", _pod("a"))) == ["+a uid-a"]
    assert not [word for word in _handle(machine, SourceListed("file"), SourceListed("http")) if word[0] == "-"]


def test_only_the_first_listing_of_a_source_is_told():
    machine = _machine(seen=False)
    assert _handle(machine, Started()) == []
    assert _handle(machine, SourceListed("file")) == ["=complete", "=complete"]
    assert _handle(machine, SourceListed("file")) == []


def test_without_any_source_all_is_known_from_the_start():
    machine = SourcesMachine(SHARDS, ())
    assert _handle(machine, Started()) == ["=complete", "=complete"]


def test_a_shard_that_starts_gets_all_of_its_pods_and_then_the_list():
    machine = _machine()
    names = [f"p{number}" for number in range(10)]
    machine.handle(0.0, *(_read(f"/m/{name}", _pod(name)) for name in names))
    for shard in range(SHARDS):
        mine = [name for name in names if shard_of("default", name, SHARDS) == shard]
        told = machine.handle(1.0, ShardStarted(shard))
        assert {one.shard for one in told} == {shard}
        assert _brief(told) == [f"+{name} uid-{name}" for name in mine] + [
            f"=complete {','.join(f'uid-{name}' for name in mine)}"
        ]


def test_a_server_that_starts_gets_every_problem_that_still_stands():
    machine = _machine()
    machine.handle(0.0, Noted("/m", "missing"), OriginBad("file", "/m/x", "bad", keep=False))
    machine.handle(0.0, Noted("/m", ""))
    assert _handle(machine, ServerStarted()) == ["!/m/x bad"]


BACKUPS = [
    "relay.yaml.bak", "relay.yaml~", "relay.yaml.orig", "relay.yaml.OLD", "relay.yaml.save", "relay.yaml.swp",
    "relay.yaml.rpmsave", "relay.yaml.dpkg-old", "relay.yaml.bak2", "relay.yaml.old.1", "#relay.yaml#", "a.bak",
]  # fmt: skip


@pytest.mark.parametrize("backup", BACKUPS)
@pytest.mark.parametrize("backup_first", [True, False])
def test_a_backup_copy_never_wins_and_one_warning_names_both_files(backup, backup_first):
    machine = _machine()
    events = [_read("/m/relay.yaml", _pod("relay", "u2")), _read(f"/m/{backup}", _pod("relay", "u1"))]
    words = _handle(machine, *(reversed(events) if backup_first else events))
    assert [word for word in words if word[0] == "!"] == [
        f"!/m/{backup} pod default/relay is also declared by /m/relay.yaml, which is used: "
        "its name is not that of a backup copy"
    ]
    assert words[-2] == "+relay u2"


@pytest.mark.parametrize("name", ["relay.yaml", "bak.yaml", "old", "relay.backup.yaml", "relay.yaml.1", "swp.yml"])
def test_other_names_are_no_backups(name):
    machine = _machine()
    machine.handle(0.0, _read("/m/zz.yaml", _pod("relay", "u2")))
    assert _handle(machine, _read(f"/m/{name}", _pod("relay", "u1")))[:2] == ["-relay u2", "+relay u1"]


def test_among_equals_the_first_file_name_by_bytes_wins():
    machine = _machine()
    words = _handle(machine, _read("/m/a.yaml", _pod("x", "ua")), _read("/m/B.yaml", _pod("x", "uB")))
    assert words == [
        "+x ua", "-x ua", "+x uB",
        "!/m/a.yaml pod default/x is also declared by /m/B.yaml, which is used: it comes first by name",
    ]  # fmt: skip


def test_a_file_wins_over_a_url_and_the_first_of_a_list_over_the_second():
    machine = _machine("file", "http")
    url = _read("http://u/", _pod("x", "u1"), _pod("x", "u2"), source="http")
    assert _handle(machine, url)[0] == "+x u1"
    words = _handle(machine, _read("/m/z.bak", _pod("x", "uf")))
    assert words[:2] == ["-x u1", "+x uf"]
    assert words[2].count("source file comes before http") == 2


def test_the_loser_takes_over_when_the_winner_goes_and_the_warning_ends():
    machine = _machine()
    machine.handle(0.0, _read("/m/a", _pod("x", "ua")), _read("/m/b", _pod("x", "ub")))
    assert _handle(machine, OriginGone("file", "/m/a")) == ["-x ua", "+x ub", "!/m/b"]


def test_an_edit_of_the_loser_changes_nothing():
    machine = _machine()
    machine.handle(0.0, _read("/m/a", _pod("x", "ua")), _read("/m/b", _pod("x", "ub")))
    assert _handle(machine, _read("/m/b", _pod("x", "uc"))) == []
    assert _handle(machine, _read("/m/b", _pod("y", "uy"))) == ["+y uy", "!/m/b"]


def test_one_uid_belongs_to_one_name():
    machine = _machine()
    words = _handle(machine, _read("/m/b", _pod("y", "same", "c1")), _read("/m/a", _pod("x", "same", "c2")))
    assert words == [
        "+y same", "-y same", "+x c2",
        "!/m/a metadata.uid same was that of pod default/y: this pod gets a uid of its own; give it a new one",
        "!/m/b pod default/y has the metadata.uid of pod default/x in /m/a, which is used: it comes first by name",
    ]  # fmt: skip
    assert _handle(machine, OriginGone("file", "/m/a")) == ["-x c2", "+y same", "!/m/a", "!/m/b"]


def test_a_rename_that_keeps_its_uid_gets_one_of_its_own_while_the_old_name_is_cleared_away():
    machine = _machine()
    machine.handle(0.0, _read("/m/a", _pod("old", "same", "c1")))
    told = machine.handle(1.0, _read("/m/a", _pod("new", "same", "c2")))
    warning = "!/m/a metadata.uid same was that of pod default/old: this pod gets a uid of its own; give it a new one"
    assert _brief(told) == ["-old same", "+new c2", warning]
    metadata = codec.unpack(told[1].message.body)["metadata"]
    assert (metadata["uid"], metadata["annotations"][CONFIG_HASH]) == ("c2", "c2")
    assert _handle(machine, _read("/m/a", _pod("new", "same", "c3"))) == ["-new c2", "+new c3"]
    assert _handle(machine, _read("/m/a", _pod("new", "fresh", "c4"))) == ["-new c3", "+new fresh", "!/m/a"]
    assert _handle(machine, _read("/m/a", _pod("old", "same", "c5"))) == ["-new fresh", "+old same"]


def test_a_pod_that_comes_back_changed_before_all_is_known_takes_its_old_edition_away_at_once():
    machine = _machine("file", "http", seen=False)
    machine.handle(0.0, SourceListed("file"), _read("/m/a.yaml", _pod("a", "u1")), OriginGone("file", "/m/a.yaml"))
    assert _handle(machine, _read("/m/a.yaml", _pod("a", "u2"))) == ["-a u1", "+a u2"]
    assert [word for word in _handle(machine, SourceListed("http")) if word[0] == "-"] == []


def test_a_list_that_shrinks_ends_the_clashes_of_what_left_it():
    machine = _machine("http")
    machine.handle(0.0, _read("u", _pod("x", "u1"), _pod("x", "u2"), source="http"))
    assert _handle(machine, _read("u", _pod("x", "u1"), source="http")) == ["!u"]


_ORIGINS = ["/m/a", "/m/b.bak", "/m/c", "/m/d"]
_PODS = [_pod(name, f"{name}{edit}") for name in "xyz" for edit in (1, 2)] + [
    _pod("x", "shared", "s1"),
    _pod("y", "shared", "s2"),
]
_STEPS = st.tuples(st.sampled_from(_ORIGINS), st.lists(st.sampled_from(_PODS), max_size=2, unique=True))


@given(st.lists(_STEPS, max_size=12))
def test_what_was_told_adds_up_to_the_same_pods_in_every_order(steps):
    """A receiver that applies what it hears holds what a machine that starts with the last state tells at once.

    A uid that moved to another name is that pod's own one instead, until a machine starts anew.
    """
    machine, held = _machine(), {}
    for origin, pods in steps:
        event = _read(origin, *pods) if pods else OriginGone("file", origin)
        for one in machine.handle(1.0, event):
            if isinstance(one, Upsert):
                held[one.message.name] = one.message.uid
            elif isinstance(one, Remove) and held.get(one.message.name) == one.message.uid:
                del held[one.message.name]
    assert len(set(held.values())) == len(held)
    last = dict(steps)
    for order in itertools.islice(itertools.permutations(last), 6):
        fresh = _machine()
        fresh.handle(0.0, *(_read(origin, *last[origin]) for origin in order))
        told = [one for shard in range(SHARDS) for one in fresh.handle(0.0, ShardStarted(shard))]
        now_held = {one.message.name: one.message.uid for one in told if isinstance(one, Upsert)}
        assert _as_given(now_held) == _as_given(held)


def _as_given(held):
    return {name: "shared" if uid in ("s1", "s2") else uid for name, uid in held.items()}


def test_problems_and_pods_are_told_apart_by_kind():
    told = _machine().handle(1.0, OriginBad("file", "/m/x", "bad", keep=False))
    assert [type(one) for one in told] == [Warn]
    assert told[0].message.at == 1.0
