"""The API source: news of the follow to events, at the cost of what changed."""

import pytest

from podherd.kube.door import Dropped, Listed, Put, Trouble
from podherd.machines.sources.events import ApiDropped, ApiListed, ApiPut, Noted
from podherd.model.keys import CONFIG_MIRROR, CONFIG_SEEN
from podherd.sources import apiserver
from podherd.sources.apiserver import ApiSource
from podherd.wire import codec


def _pod(name, version="1", *, image="x", **metadata):
    return {
        "metadata": {"uid": f"u-{name}", "namespace": "default", "name": name, "resourceVersion": version, **metadata},
        "spec": {"containers": [{"name": "c", "image": image}]},
        "status": {"phase": "Pending"},
    }


class Source:
    """A source whose events are kept."""

    def __init__(self):
        self.told = []
        self.now = 0.0
        self.source = ApiSource(None, "n1", self.told.append, lambda: self.now)

    def hear(self, news):
        self.told.clear()
        self.source.hear(news)
        return list(self.told)


@pytest.fixture
def source():
    return Source()


async def test_it_follows_the_pods_of_its_node():
    asked = []

    class Api:
        async def follow(self, path, query, told):
            asked.append((path, query))
            told(Listed([]))

    told = []
    await ApiSource(Api(), "n1", told.append, lambda: 0.0).run()
    assert asked == [("/api/v1/pods", {"fieldSelector": "spec.nodeName=n1"})]
    assert told == [Noted("API server", ""), ApiListed((), ())]


def test_a_list_tells_what_is_new_or_changed_and_all_uids(source):
    first = source.hear(Listed([_pod("a"), _pod("b")]))[-1]
    assert [item.name for item in first.items] == ["a", "b"]
    again = source.hear(Listed([_pod("a"), _pod("b", "2", image="y"), _pod("c")]))[-1]
    assert [(item.name, bool(item.body)) for item in again.items] == [("b", True), ("c", True)]
    assert again.uids == ("u-a", "u-b", "u-c")


def test_a_status_echo_has_no_body(source):
    source.hear(Put(_pod("a")))
    echo = _pod("a", "2")
    echo["status"] = {"phase": "Running"}
    (put,) = source.hear(Put(echo))
    assert put.item.body == b""
    assert codec.unpack(put.item.status) == {"phase": "Running"}


def test_when_a_pod_was_first_seen_stays(source):
    source.hear(Put(_pod("a")))
    source.now = 100.0
    (put,) = source.hear(Put(_pod("a", "2", image="y")))
    assert codec.unpack(put.item.body)["metadata"]["annotations"][CONFIG_SEEN] == "1970-01-01T00:00:00.000000Z"


def test_a_mirror_pod_has_no_content(source):
    (put,) = source.hear(Put(_pod("a", annotations={CONFIG_MIRROR: "h"})))
    assert (put.item.mirror_of, put.item.content, put.item.body) == ("h", "", b"")


def test_what_was_dropped_is_told_once(source):
    source.hear(Put(_pod("a")))
    assert source.hear(Dropped(_pod("a", "2"))) == [ApiDropped("u-a")]
    assert source.hear(Dropped(_pod("a", "3"))) == []
    assert source.hear(Dropped({})) == []


def test_a_server_that_is_away_changes_nothing_but_is_told(source):
    source.hear(Listed([_pod("a")]))
    assert source.hear(Trouble("no answer")) == [Noted("API server", "no answer")]
    assert source.hear(Trouble("")) == [Noted("API server", "")]


def test_what_is_no_pod_is_a_problem_until_it_is_gone(source):
    (noted,) = source.hear(Put({"metadata": {"uid": "..", "namespace": "default", "name": "a"}}))
    assert noted.thing == "API server: pod default/a"
    assert "metadata.uid" in noted.problem
    assert source.hear(Dropped({"metadata": {"namespace": "default", "name": "a"}})) == [Noted(noted.thing, "")]
    assert source.hear(Put({})) != []
    assert isinstance(source.hear(Listed([{}, _pod("b")]))[-1], ApiListed)


def test_a_pod_that_cannot_be_read_is_put_with_its_refusal(source):
    broken = _pod("a")
    broken["spec"] = {"containers": "none"}
    (put,) = source.hear(Put(broken))
    assert isinstance(put, ApiPut)
    assert (put.item.refused, put.item.message[:22]) == ("UnexpectedAdmissionError", "the pod cannot be read")


def test_a_relist_of_many_pods_converts_only_what_changed(source, monkeypatch):
    pods = [_pod(f"p{number}") for number in range(2000)]
    source.hear(Listed(pods))
    calls = []
    real = apiserver.content_of
    monkeypatch.setattr(apiserver, "content_of", lambda body: calls.append(body) or real(body))
    source.hear(Listed([*pods[:-1], _pod("p1999", "2")]))
    assert len(calls) == 1
