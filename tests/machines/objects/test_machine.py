"""Who is told what of the API's objects, and when they are asked for again."""

from typing import Any

import pytest

from podherd.machines.objects import events as heard
from podherd.machines.objects.instructions import ALL_SERVICES, Fetch, Follow, Stop, Tell, WakeAt
from podherd.machines.objects.machine import IDLE_S, LAG_S, POLL_S, RETRY_MAX_S, ObjectsMachine
from podherd.wire.codec import unpack
from podherd.wire.objects import Needs, ObjectState, Ref

SECRET = Ref("Secret", "shop", "key")
MAP = Ref("ConfigMap", "shop", "settings")
CLAIM = Ref("PersistentVolumeClaim", "shop", "data")
DETAIL = '{"audience":"","expirationSeconds":3600,"pod":{"name":"web","uid":"u1"}}'
TOKEN = Ref("ServiceAccountToken", "shop", "default", DETAIL)
CERTIFICATE = Ref("PodCertificate", "shop", "robot", '{"keyType":"ED25519","pod":{"name":"web","uid":"u1"}}')


class Desk:
    """A machine, its clock, and what it said last."""

    def __init__(self, watches: bool = True) -> None:
        self.machine = ObjectsMachine(watches)
        self.now = 1000.0

    def hear(self, *events: heard.Event, after: float = 0.0) -> list[Any]:
        self.now += after
        return [each for each in self.machine.handle(self.now, *events) if not isinstance(each, WakeAt)]

    def need(self, *refs: Ref, uid: str = "u1", shard: str = "pod_shard-0") -> list[Any]:
        return self.hear(heard.Needed(shard, Needs(uid, refs)))

    def woken_at(self, *events: heard.Event) -> float | None:
        return next((each.at for each in self.machine.handle(self.now, *events) if isinstance(each, WakeAt)), None)

    def wake(self, after: float) -> list[Any]:
        return self.hear(heard.Woke(), after=after)


def secret(value: str = "eA==", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "key", "resourceVersion": "7"}, "data": {"k": value}, **fields}


def told(instructions: list[Any]) -> list[tuple[str, ObjectState]]:
    return [(each.shard, each.state) for each in instructions if isinstance(each, Tell)]


def test_one_object_is_followed_once_however_many_pods_need_it_and_every_shard_is_told() -> None:
    desk = Desk()
    assert desk.need(SECRET) == [Follow(SECRET)]
    assert desk.need(SECRET, uid="u2", shard="pod_shard-1") == []
    both = told(desk.hear(heard.Learned(SECRET, secret())))
    assert [shard for shard, _ in both] == ["pod_shard-0", "pod_shard-1"]
    assert unpack(both[0][1].body)["data"] == {"k": "eA=="}
    ((shard, state),) = told(desk.need(SECRET, uid="u3"))
    assert (shard, state) == ("pod_shard-0", both[0][1])


def test_only_a_change_is_told_and_bookkeeping_of_the_server_is_none() -> None:
    desk = Desk()
    desk.need(SECRET)
    desk.hear(heard.Learned(SECRET, secret()))
    touched = {**secret(), "metadata": {"name": "key", "resourceVersion": "8", "managedFields": [{}]}}
    assert desk.hear(heard.Learned(SECRET, touched)) == []
    assert len(told(desk.hear(heard.Learned(SECRET, secret("eQ=="))))) == 1


def test_what_is_missing_is_told_in_the_kubelets_words_and_its_coming_too() -> None:
    desk = Desk()
    desk.need(SECRET, MAP)
    ((_, state),) = told(desk.hear(heard.Learned(SECRET, None)))
    assert (state.problem, state.missing, state.body) == ('secret "key" not found', True, b"")
    ((_, state),) = told(desk.hear(heard.Learned(MAP, None)))
    assert state.problem == 'configmap "settings" not found'
    ((_, state),) = told(desk.hear(heard.Learned(SECRET, secret())))
    assert state.body
    assert not state.missing


def test_an_immutable_object_is_followed_no_more_and_stays_known() -> None:
    desk = Desk()
    desk.need(SECRET)
    assert desk.hear(heard.Learned(SECRET, secret(immutable=True)))[-1] == Stop(SECRET)
    assert len(told(desk.need(SECRET, uid="u2"))) == 1
    assert Follow(SECRET) not in desk.need(SECRET, uid="u3")


def test_what_nobody_needs_is_followed_for_a_while_and_then_forgotten() -> None:
    desk = Desk()
    desk.need(SECRET)
    desk.hear(heard.Learned(SECRET, secret()))
    assert desk.woken_at(heard.Needed("pod_shard-0", Needs("u1", ()))) == desk.now + IDLE_S
    assert desk.wake(IDLE_S - 1) == []
    assert len(told(desk.need(SECRET, uid="u2"))) == 1
    desk.need(uid="u2")
    assert desk.wake(IDLE_S) == [Stop(SECRET)]
    assert desk.need(SECRET, uid="u3") == [Follow(SECRET)]


def test_a_shard_that_begins_anew_needs_nothing_until_it_says_so_and_is_told_again() -> None:
    desk = Desk()
    desk.need(SECRET)
    desk.hear(heard.Learned(SECRET, secret()))
    desk.hear(heard.ShardStarted("pod_shard-0"))
    assert desk.hear(heard.Learned(SECRET, secret("eQ=="))) == []
    assert len(told(desk.need(SECRET))) == 1
    assert desk.wake(IDLE_S) == []


def test_a_refusal_right_after_binding_is_no_problem_until_it_lasts() -> None:
    desk = Desk()
    desk.need(SECRET)
    assert desk.hear(heard.Failed(SECRET, 403, "no relationship found")) == []
    assert desk.hear(heard.Failed(SECRET, 403, "no relationship found"), after=LAG_S / 2) == []
    ((_, state),) = told(desk.hear(heard.Failed(SECRET, 403, "no relationship found"), after=LAG_S))
    assert (state.problem, state.missing) == ("no relationship found", False)


@pytest.mark.parametrize("status", [0, 403, 500])
def test_trouble_does_not_take_away_what_is_known(status: int) -> None:
    desk = Desk()
    desk.need(SECRET)
    desk.hear(heard.Learned(SECRET, secret()))
    assert desk.hear(heard.Failed(SECRET, status, "away"), after=100) == []


def test_trouble_before_anything_is_known_is_told_at_once() -> None:
    desk = Desk()
    desk.need(SECRET)
    ((_, state),) = told(desk.hear(heard.Failed(SECRET, 0, "connection refused")))
    assert (state.problem, state.missing) == ("connection refused", False)


def test_a_token_is_fetched_anew_at_four_fifths_of_its_life_less_some_seconds() -> None:
    desk = Desk()
    assert desk.need(TOKEN) == [Fetch(TOKEN)]
    at = desk.woken_at(heard.TokenGiven(TOKEN, {"token": "a"}, desk.now + 3600))
    assert at is not None
    assert desk.now + 2870 <= at <= desk.now + 2880
    assert desk.wake(2880) == [Fetch(TOKEN)]
    ((_, state),) = told(desk.hear(heard.TokenGiven(TOKEN, {"token": "b"}, desk.now + 3600)))
    assert unpack(state.body) == {"token": "b"}


def test_a_token_of_many_days_is_fetched_anew_every_day() -> None:
    desk = Desk()
    year = Ref(TOKEN.kind, "shop", "default", DETAIL.replace("3600", str(365 * 86400)))
    desk.need(year)
    at = desk.woken_at(heard.TokenGiven(year, {"token": "a"}, desk.now + 365 * 86400))
    assert at is not None
    assert 86390 <= at - desk.now <= 86400


def test_a_token_that_is_not_refreshed_counts_as_long_as_it_is_valid() -> None:
    desk = Desk()
    desk.need(TOKEN)
    desk.hear(heard.TokenGiven(TOKEN, {"token": "a"}, desk.now + 3600))
    desk.wake(2880)
    assert told(desk.hear(heard.Failed(TOKEN, 500, "busy"))) == []
    assert desk.wake(1) == [Fetch(TOKEN)]
    ((_, state),) = told(desk.hear(heard.Failed(TOKEN, 500, "busy"), after=720))
    assert (state.body, state.problem) == (b"", "failed to fetch token: busy")


def test_retries_of_a_fetch_are_fast_at_first_and_slow_down() -> None:
    desk = Desk()
    desk.need(TOKEN)
    pauses = []
    for _ in range(12):
        at = desk.woken_at(heard.Failed(TOKEN, 403, "not yet"))
        assert at is not None
        pauses.append(at - desk.now)
        desk.wake(at - desk.now)
    assert pauses[0] == pytest.approx(0.1)
    assert pauses[1] == pytest.approx(0.2)
    assert pauses[-1] == RETRY_MAX_S


def test_a_pods_token_goes_with_the_pod() -> None:
    desk = Desk()
    desk.need(TOKEN)
    desk.hear(heard.TokenGiven(TOKEN, {"token": "a"}, desk.now + 3600))
    desk.need()
    assert desk.need(TOKEN) == [Fetch(TOKEN)]


def certificate(desk: Desk, refresh_at: float = 5000.0) -> list[Any]:
    return desk.hear(heard.CertificateGiven(CERTIFICATE, {"key": "K", "chain": "C"}, refresh_at, refresh_at + 1000))


def test_a_certificate_is_not_issued_until_its_signer_says_so_and_then_asked_for_anew_in_time() -> None:
    desk = Desk()
    ((_, state),) = told(asked := desk.need(CERTIFICATE))
    assert (state.problem, Fetch(CERTIFICATE) in asked) == ("credential bundle is not issued yet", True)
    ((_, state),) = told(certificate(desk))
    assert unpack(state.body) == {"key": "K", "chain": "C"}
    assert desk.wake(3999.0) == []
    assert desk.wake(300.0) == [Fetch(CERTIFICATE)]
    assert told(desk.hear(heard.Failed(CERTIFICATE, 503, "away"))) == []
    assert desk.wake(RETRY_MAX_S) == [Fetch(CERTIFICATE)]
    ((_, state),) = told(desk.hear(heard.CertificateGiven(CERTIFICATE, {"key": "L"}, 9000.0, 9900.0)))
    assert unpack(state.body) == {"key": "L"}


def test_a_certificate_that_is_refused_is_not_asked_for_again_by_this_pod() -> None:
    desk = Desk()
    desk.need(CERTIFICATE)
    ((_, state),) = told(desk.hear(heard.Refused(CERTIFICATE, "was permanently denied")))
    assert (state.problem, state.missing) == ("was permanently denied", False)
    assert desk.wake(86400.0) == []
    assert [Fetch(CERTIFICATE)] != desk.need(CERTIFICATE)[-1:]


def test_a_request_for_a_certificate_that_fails_is_told_and_made_again() -> None:
    desk = Desk()
    desk.need(CERTIFICATE)
    ((_, state),) = told(desk.hear(heard.Failed(CERTIFICATE, 404, "no such resource")))
    assert state.problem == "no such resource"
    assert desk.wake(RETRY_MAX_S) == [Fetch(CERTIFICATE)]
    desk.need()
    assert desk.hear(heard.Learned(CERTIFICATE, None)) == []


def test_a_claim_is_asked_for_often_until_it_is_bound() -> None:
    desk = Desk()
    assert desk.need(CLAIM) == [Fetch(CLAIM)]
    at = desk.woken_at(heard.Learned(CLAIM, {"status": {"phase": "Pending"}}))
    assert at == desk.now + 1
    assert desk.wake(1) == [Fetch(CLAIM)]
    at = desk.woken_at(heard.Learned(CLAIM, {"status": {"phase": "Bound"}, "spec": {"volumeName": "pv"}}))
    assert at == desk.now + POLL_S


def test_without_watching_objects_are_asked_for_every_minute() -> None:
    desk = Desk(watches=False)
    assert desk.need(MAP) == [Fetch(MAP)]
    desk.hear(heard.Learned(MAP, {"data": {"a": "1"}}))
    assert desk.wake(POLL_S) == [Fetch(MAP)]
    assert len(told(desk.hear(heard.Learned(MAP, {"data": {"a": "2"}})))) == 1


def service(name: str, namespace: str = "shop", address: str = "10.0.0.9") -> dict[str, Any]:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    spec = {"clusterIP": address, "ports": ports, "selector": {"a": "b"}}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def test_services_are_followed_once_and_told_by_namespace() -> None:
    desk = Desk()
    shop, other = Ref("Services", "shop", ""), Ref("Services", "other", "")
    assert desk.need(shop, other) == [Follow(ALL_SERVICES)]
    states = {
        state.of: unpack(state.body)
        for _, state in told(desk.hear(heard.ServicesListed((service("db"), service("headless", address="None")))))
    }
    assert [one["metadata"]["name"] for one in states[shop]] == ["db"]
    assert states[shop][0]["spec"]["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]
    assert states[other] == []
    assert told(desk.hear(heard.ServicePut(service("db")))) == []
    ((_, state),) = told(desk.hear(heard.ServicePut(service("web"))))
    assert [one["metadata"]["name"] for one in unpack(state.body)] == ["db", "web"]
    ((_, state),) = told(desk.hear(heard.ServiceDropped(service("db"))))
    assert [one["metadata"]["name"] for one in unpack(state.body)] == ["web"]


def test_a_namespace_needed_later_is_told_from_what_is_known_of_all_services() -> None:
    desk = Desk()
    desk.need(Ref("Services", "shop", ""))
    desk.hear(heard.ServicesListed((service("db", "late"),)))
    ((_, state),) = told(desk.need(Ref("Services", "late", ""), uid="u2"))
    assert [one["metadata"]["name"] for one in unpack(state.body)] == ["db"]


def test_services_that_nobody_needs_are_followed_no_more_and_listed_anew_when_needed() -> None:
    desk = Desk()
    shop = Ref("Services", "shop", "")
    desk.need(shop)
    desk.hear(heard.ServicesListed(()))
    desk.need()
    assert desk.wake(IDLE_S) == [Stop(ALL_SERVICES)]
    assert desk.need(shop) == [Follow(ALL_SERVICES)]


def test_a_late_answer_about_what_nobody_needs_any_more_is_dropped() -> None:
    desk = Desk()
    assert desk.hear(heard.Learned(SECRET, secret()), heard.Failed(TOKEN, 500, "x")) == []
