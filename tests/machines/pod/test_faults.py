"""A fault of the code costs one pod or one event, for a while, and never the others."""

from typing import Any

import pytest
from tests.machines.pod.builders import (
    POLICY,
    READY,
    T0,
    container,
    machine,
    observed,
    pod,
    sandbox,
    status_of,
    syncs,
    wanted,
)

from podherd.machines.pod import advance, reports
from podherd.machines.pod.events import Woke
from podherd.machines.pod.faults import ALARM
from podherd.machines.pod.instructions import Fault, Instruction, Publish, Record, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.record import Record as PodRecord
from podherd.wire.desired import Gone, Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import ObservedRoster

RETRY_AT = T0 + 1 + POLICY.retry_after_s("bad")


class Broken:
    """Makes a function throw for the pod `bad`."""

    def __init__(self, patch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        self._patch, self._place, self._whole = patch, (where, name), getattr(where, name)
        patch.setattr(where, name, self._call)

    def mend(self) -> None:
        self._patch.setattr(*self._place, self._whole)

    def _call(self, *args: Any, **words: Any) -> Any:
        if any(getattr(arg, "uid", getattr(getattr(arg, "record", None), "uid", "")) == "bad" for arg in args):
            raise RuntimeError("boom")
        return self._whole(*args, **words)


def faults(out: list[Instruction]) -> list[str]:
    return [each.uid for each in out if isinstance(each, Fault)]


def method(patch: pytest.MonkeyPatch, name: str) -> Broken:
    """The same for a method of the record."""
    broken = Broken(patch, PodRecord, name)
    patch.setattr(PodRecord, name, lambda self, *args: broken._call(self, *args))
    return broken


BAD, GOOD = wanted(uid="bad", name="bad"), wanted(uid="good", name="good")


def test_a_pod_whose_decision_throws_is_told_of_and_its_neighbours_start(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = machine()
    broken = Broken(monkeypatch, advance, "plan")
    out = shard.handle(T0 + 1, BAD, GOOD)
    assert [each.uid for each in syncs(out)] == ["good"]
    assert faults(out) == ["bad"]
    (event,) = [each.event for each in out if isinstance(each, Record)]
    assert (event.uid, event.reason) == ("bad", "FailedSync")
    assert "RuntimeError: boom" in event.message
    assert WakeAt(ALARM, RETRY_AT) in out
    assert faults(shard.handle(T0 + 2, wanted(uid="bad", name="bad", image="reg.test/app:2"))) == []
    assert faults(shard.handle(RETRY_AT, Woke(ALARM))) == ["bad"]
    broken.mend()
    out = shard.handle(RETRY_AT + 30, Woke(ALARM))
    assert [each.uid for each in syncs(out)] == ["bad"]
    assert shard.handle(RETRY_AT + 31, Woke(ALARM)) == []


def test_an_event_that_throws_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = machine()
    broken = method(monkeypatch, "want")
    out = shard.handle(T0 + 1, BAD, GOOD)
    assert ([each.uid for each in syncs(out)], faults(out)) == (["good"], ["bad"])
    broken.mend()
    out = shard.handle(RETRY_AT, Woke(ALARM))
    assert [(each.uid, each.pod) for each in syncs(out)] == [("bad", BAD.pod)]


def test_an_event_that_threw_is_not_heard_again_once_a_newer_one_came(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = machine()
    broken = method(monkeypatch, "want")
    shard.handle(T0 + 1, BAD)
    broken.mend()
    newer = pod(uid="bad", name="bad", image="reg.test/app:2")
    assert [each.pod for each in syncs(shard.handle(T0 + 2, wanted(newer)))] == [newer]
    assert syncs(shard.handle(RETRY_AT, Woke(ALARM))) == []
    assert shard.pod("bad") == newer


@pytest.mark.parametrize("news", [Gone("bad", "default", "bad", "deleted"), Roster((), True)])
def test_a_wish_that_threw_is_not_heard_again_once_it_was_dropped(monkeypatch: pytest.MonkeyPatch, news: Any) -> None:
    shard = machine()
    broken = method(monkeypatch, "want")
    shard.handle(T0 + 1, BAD)
    broken.mend()
    shard.handle(T0 + 2, news)
    shard.handle(RETRY_AT, Woke(ALARM))
    assert shard.pod("bad") is None


@pytest.mark.parametrize(
    ("name", "news"), [("end", Roster((), True)), ("see", ObservedRoster((), T0 + 5))], ids=lambda value: str(value)
)
def test_news_about_all_pods_reach_the_others_when_one_throws(
    monkeypatch: pytest.MonkeyPatch, name: str, news: Any
) -> None:
    shard = ShardMachine(POLICY)
    views = [
        observed(T0, [sandbox(f"s-{uid}")], [container(f"c-{uid}", sandbox_id=f"s-{uid}")], uid, uid)
        for uid in ("bad", "good")
    ]
    shard.handle(T0, READY, *views, BAD, GOOD, ObservedRoster(("bad", "good"), T0))
    broken = method(monkeypatch, name)
    out = shard.handle(T0 + 5, news)
    assert faults(out) == ["bad"]
    assert [each.uid for each in syncs(out)] == ["good"]
    broken.mend()
    assert [each.uid for each in syncs(shard.handle(T0 + 30, Woke(ALARM)))] == ["bad"]


def test_a_status_that_was_made_before_the_fault_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = machine()
    Broken(monkeypatch, advance, "_sync")
    monkeypatch.setattr(advance, "_sync", lambda _herd, record, *_: 1 / 0 if record.uid == "bad" else None)
    out = shard.handle(T0 + 1, BAD)
    assert status_of(out)["phase"] == "Pending"
    assert [each.status for each in shard.published()] == [each.status for each in out if isinstance(each, Publish)]


def test_a_cancel_that_the_fault_swallowed_is_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = machine()
    (sync,) = syncs(shard.handle(T0 + 1, BAD))
    broken = Broken(monkeypatch, reports, "pod_status")
    out = shard.handle(T0 + 1, Gone("bad", "default", "bad", "deleted"))
    assert [type(each) for each in out] == [Fault, Record, WakeAt]
    broken.mend()
    out = shard.handle(RETRY_AT, Woke(ALARM))
    assert [each.plan_id for each in out if type(each).__name__ == "CancelSync"] == [sync.plan_id]


def test_an_unknown_event_is_a_fault_of_nobody() -> None:
    shard = machine()
    out = shard.handle(T0 + 1, object(), GOOD, RuntimeState(True, True, "", ""))  # type: ignore[arg-type]
    assert (faults(out), [each.uid for each in syncs(out)]) == ([""], ["good"])
