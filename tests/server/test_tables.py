"""The pod table, name resolution, the event ring, health."""

from typing import Any

import pytest

from podherd.server.event_ring import EventRing
from podherd.server.facts import Facts
from podherd.server.pod_table import PodTable, is_over, resolve
from podherd.wire.node import PlegHealth
from podherd.wire.status import PodEvent, PodForgotten, SourceProblem, StatusChanged

from .conftest import changed


def table_of(*rows: StatusChanged) -> PodTable:
    table = PodTable()
    for row in rows:
        table.put(row)
    return table


TABLE = table_of(
    changed("web-n1"), changed("db-n1"), changed("db-n1", namespace="infra", uid="u2"), changed("web"),
    changed("cache-n1", uid="old", deleting=True), changed("cache-n1", uid="new", created_at=5.0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("word", "namespace", "meant"),
    [
        ("web-n1", "", ["uid-web-n1"]),
        ("web", "", ["uid-web"]),
        ("default/web", "", ["uid-web"]),
        ("db", "infra", ["u2"]),
        ("infra/db", "", ["u2"]),
        ("infra/db", "default", ["u2"]),
        ("db", "", ["uid-db-n1", "u2"]),
        ("cache", "", ["new"]),
        ("nothing", "", []),
        ("other/web", "", []),
    ],
)
def test_a_word_means_the_exact_name_or_the_static_pod_of_this_node(
    word: str, namespace: str, meant: list[str]
) -> None:
    assert [row.uid for row in resolve(TABLE, word, namespace, "N1")] == meant


def test_an_unknown_word_names_near_pods() -> None:
    assert resolve(TABLE, "wep", "", "n1").near[0] == "default/web"
    assert resolve(TABLE, "zzz", "", "n1").near == ()


def test_phases_are_kept_as_pods_change_and_go() -> None:
    table = table_of(changed("a", phase="Pending"), changed("b"), changed("a", phase="Running"))
    assert table.phases() == {"Running": 2}
    table.forget(PodForgotten("uid-a", "default", "a"))
    table.forget(PodForgotten("uid-a", "default", "a"))
    assert (table.phases(), len(table)) == ({"Running": 1}, 1)


def status(count: int, state: dict[str, Any], last: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [{"name": "app", "restartCount": count, "state": state, "lastState": last or {}}]


@pytest.mark.parametrize(
    ("statuses", "phase", "attempt", "over"),
    [
        (status(0, {"running": {}}), "Running", 0, False),
        (status(0, {"terminated": {}}), "Running", 0, True),
        (status(1, {"running": {}}), "Running", 0, True),
        (status(0, {"terminated": {}}), "Running", 1, False),  # the status is behind the restart
        (status(0, {"waiting": {}}), "Pending", 0, False),
        (status(2, {"waiting": {"reason": "CrashLoopBackOff"}}, {"terminated": {}}), "Running", 2, True),
        (status(2, {"waiting": {}}, {"terminated": {}}), "Running", 3, False),
        ([], "Pending", 0, False),
        ([], "Failed", 0, True),
        (status(0, {"running": {}}), "Succeeded", 0, True),
    ],
)
def test_a_log_is_over_with_its_attempt(statuses: list[dict[str, Any]], phase: str, attempt: int, over: bool) -> None:
    assert is_over(changed(statuses=statuses, phase=phase), "app", attempt) is over


def test_a_log_is_over_with_its_pod() -> None:
    assert is_over(None, "app", 0)


def event(uid: str = "u", message: str = "m", at: float = 1.0, name: str = "web") -> PodEvent:
    return PodEvent(uid, "default", name, "spec.containers{app}", at, "Warning", "BackOff", message)


def test_repeated_events_are_counted_with_first_and_last_time() -> None:
    ring = EventRing()
    for at in (1.0, 5.0, 9.0):
        ring.add(event(at=at))
    (found,) = ring.of(uid="u")
    assert (found.count, found.first_at, found.last_at) == (3, 1.0, 9.0)


def test_events_are_bounded_per_pod_and_in_pods() -> None:
    ring = EventRing(per_pod=3, pods=2)
    for number in range(10):
        ring.add(event("a", f"m{number}", number))
    assert [found.event.message for found in ring.of(uid="a")] == ["m7", "m8", "m9"]
    ring.add(event("b", at=20.0))
    ring.add(event("a", at=21.0))
    ring.add(event("c", at=22.0))
    assert {found.event.uid for found in ring.of()} == {"a", "c"}


def test_events_are_found_by_name_in_order_of_time() -> None:
    ring = EventRing()
    for uid, at in (("old", 9.0), ("new", 3.0)):
        ring.add(event(uid, at=at))
    ring.add(event("other", name="db"))
    assert [found.event.uid for found in ring.of(namespace="default", name="web")] == ["new", "old"]
    assert ring.of(namespace="elsewhere") == []


def test_a_mended_problem_is_forgotten() -> None:
    facts = Facts()
    facts.apply(SourceProblem("a.yaml", "bad", 1.0))
    assert list(facts.problems) == ["a.yaml"]
    facts.apply(SourceProblem("a.yaml", "", 2.0))
    assert facts.problems == {}


def test_health_follows_the_last_relist() -> None:
    facts = Facts()
    assert "yet to be successful" in facts.ill(0.0)
    facts.apply(PlegHealth(100.0, 0.01, 1, 1, ()))
    assert facts.ill(280.0) == ""
    assert facts.ill(281.0) == "PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s"
