"""The admin API over its real unix socket, from actor messages to HTTP answers."""

import asyncio
import json
import os
import socket
import stat
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.kit.waiting import until

from podherd.errors import ConfigError
from podherd.server import app, container_choice, log_page
from podherd.wire import codec
from podherd.wire.control import Ask, Hello
from podherd.wire.node import NodeState, PlegHealth
from podherd.wire.status import PodEvent, PodForgotten, SourceProblem

from .conftest import Stand, changed


def log_entry(text: str) -> str:
    return f"2026-01-02T03:04:05.0Z stdout F {text}\n"


def log_file(stand: Stand, name: str = "web-n1", container: str = "app", attempt: int = 0) -> Path:
    directory = stand.settings.pod_log_dir("default", name, f"uid-{name}") / container
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{attempt}.log"


async def test_the_socket_is_its_owners_alone_in_a_directory_of_its_own(stand: Stand) -> None:
    path = stand.settings.admin_socket
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_pods_are_listed_in_order_with_their_status(stand: Stand) -> None:
    await stand.add(changed("b"))
    await stand.add(changed("a", namespace="zoo", uid="z"))
    await stand.add(changed("a"))
    code, body = await stand.get("/v1/pods")
    assert code == 200
    assert body["nodeName"] == "n1"
    assert [(row["namespace"], row["name"]) for row in body["items"]] == [
        ("default", "a"),
        ("default", "b"),
        ("zoo", "a"),
    ]
    assert body["items"][0]["status"]["containerStatuses"][0]["ready"] is True
    _, body = await stand.get("/v1/pods", namespace="zoo")
    assert len(body["items"]) == 1


async def test_full_pods_come_from_their_owning_shards(stand: Stand) -> None:
    for number in range(20):
        await stand.add(changed(f"p{number}"))
    await stand.owner("default", "ghost").say(changed("ghost"))  # the shard has forgotten it meanwhile
    _, body = await stand.get("/v1/pods", full="1")
    assert len(body["items"]) == 20
    assert all(pod["kind"] == "Pod" and pod["spec"]["containers"] for pod in body["items"])
    assert all(shard.heard for shard in stand.shards)


async def test_summary_counts_phases(stand: Stand) -> None:
    await stand.add(changed("a"))
    await stand.add(changed("b", phase="Pending"))
    assert await stand.get("/v1/summary") == (200, {"pods": 2, "phases": {"Running": 1, "Pending": 1}})


async def test_one_pod_by_its_name_without_the_nodes_suffix_with_events(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    event = PodEvent("uid-web-n1", "default", "web-n1", "", 5.0, "Normal", "Started", "Container started")
    await stand.shards[0].say(event, event)
    code, body = await stand.get("/v1/pod", pod="web")
    assert code == 200
    assert body["pod"]["metadata"]["name"] == "web-n1"
    assert body["pod"]["status"] == {"phase": "Running"}
    assert body["cause"] == "file /m/web.yaml created"
    assert [(found["reason"], found["count"]) for found in body["events"]] == [("Started", 2)]
    code, body = await stand.get("/v1/pods/default/web-n1")
    assert code == 200
    _, body = await stand.get("/v1/events", name="web-n1")
    assert body["items"][0]["message"] == "Container started"


async def test_an_unknown_pod_is_404_and_names_near_ones(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    code, body = await stand.get("/v1/pod", pod="wep-n1")
    assert (code, body["thing"], body["mend"]) == (404, "pod wep-n1", "near it: default/web-n1")


async def test_a_word_for_two_pods_is_400_and_names_both(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    await stand.add(changed("web-n1", namespace="zoo", uid="z"))
    code, body = await stand.get("/v1/pod", pod="web")
    assert code == 400
    assert "default/web-n1, zoo/web-n1" in body["reason"]


async def test_a_shard_that_does_not_answer_costs_its_time_limit_and_no_more(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    stand.actor._questions._answer_s = 0.05
    stand.bus.leave(stand.owner("default", "web-n1").name)
    code, body = await stand.get("/v1/pod", pod="web-n1")
    assert code == 503
    assert "did not answer" in body["reason"]
    assert (await stand.get("/v1/pods"))[0] == 200


async def test_forgotten_pods_are_gone(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    await stand.shards[0].say(PodForgotten("uid-web-n1", "default", "web-n1"))
    assert (await stand.get("/v1/pods"))[1]["items"] == []


async def test_pods_that_ended_while_their_shard_was_dead_are_found_out(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.actors.server.DOUBT_S", 0.01)
    names = [name for name in (f"p{n}" for n in range(50)) if stand.owner("default", name) is stand.shards[0]][:3]
    kept, ended, replaced = (changed(name) for name in names)
    for row in (kept, ended, replaced):
        await stand.add(row)
    del stand.shards[0].pods["default", ended.name]
    stand.shards[0].pods["default", replaced.name]["metadata"]["uid"] = "another"
    await stand.shards[0].say(Hello("pod_shard-0"))

    async def only_one_is_left() -> bool:
        return {row["name"] for row in (await stand.get("/v1/pods"))[1]["items"]} == {kept.name}

    await until(only_one_is_left)


async def test_pods_in_doubt_are_asked_for_until_their_shard_answers(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.actors.server.DOUBT_S", 0.01)
    monkeypatch.setattr("podherd.actors.server.DOUBT_RETRY_S", 0.01)
    stand.actor._questions._answer_s = 0.02
    row = changed("web-n1")
    await stand.add(row)
    shard = stand.owner("default", "web-n1")
    shard.pods.clear()
    shard.answers = False
    await shard.say(Hello(shard.name))

    def asked() -> int:
        return sum(isinstance(message, Ask) for message in shard.heard)

    await until(lambda: asked() >= 2)
    assert (await stand.get("/v1/summary"))[1]["pods"] == 1
    shard.answers = True
    await until(lambda: not stand.actor._facts.pods.rows())
    await until(lambda: not stand.actor._settling)


async def test_node_images_problems_and_actors(stand: Stand) -> None:
    assert (await stand.get("/v1/node"))[0] == 503
    node = {"metadata": {"name": "n1"}, "status": {}}
    await stand.node.say(NodeState(1.0, codec.pack(node)))
    assert (await stand.get("/v1/node"))[1]["node"] == node
    lock = stand.settings.root_dir / "podherd.lock"
    lock.touch()
    os.utime(lock, (100, 100))  # without an API server a node is as old as its agent
    begun = {"name": "n1", "creationTimestamp": "1970-01-01T00:01:40Z"}
    assert (await stand.get("/v1/node"))[1]["node"] == {**node, "metadata": begun}
    told = {**node, "metadata": {"name": "n1", "creationTimestamp": "2020-01-01T00:00:00Z"}}
    await stand.node.say(NodeState(2.0, codec.pack(told)))
    assert (await stand.get("/v1/node"))[1]["node"] == told
    assert (await stand.get("/v1/images"))[1]["items"][0]["repoTags"] == ["reg.test/a:1"]
    await stand.bus.deliver("server", codec.encode("sources", [SourceProblem("a.yaml", "spec: bad", 2.0)]))
    assert (await stand.get("/v1/problems"))[1]["items"] == [{"thing": "a.yaml", "problem": "spec: bad", "at": 2.0}]
    assert (await stand.get("/v1/actors"))[0] == 503
    run = stand.settings.root_dir / "run"
    run.mkdir()
    (run / "actors.json").write_text('[{"name": "pleg", "pid": 7}]')
    assert (await stand.get("/v1/actors"))[1]["items"] == [{"name": "pleg", "pid": 7}]


async def test_the_list_of_pods_tells_of_problems_and_of_a_node_that_is_not_ready(stand: Stand) -> None:
    _, body = await stand.get("/v1/pods")
    assert (body["problems"], body["notReady"]) == (0, "")
    ready = {"type": "Ready", "status": "False", "message": "container runtime is down"}
    await stand.node.say(NodeState(1.0, codec.pack({"status": {"conditions": [ready]}})))
    await stand.bus.deliver("server", codec.encode("sources", [SourceProblem("a.yaml", "spec: bad", 2.0)]))
    _, body = await stand.get("/v1/pods")
    assert (body["problems"], body["notReady"]) == (1, "container runtime is down")
    _, body = await stand.get("/v1/pod", pod="a")
    assert body["mend"] == "`podherd get pods` lists them; manifest problems: 1, `podherd doctor` says which"


async def test_a_problem_that_a_restarted_sources_actor_does_not_repeat_is_over(stand: Stand) -> None:
    old = [SourceProblem("a.yaml", "spec: bad", 2.0), SourceProblem("b.yaml", "spec: bad", 2.0)]
    await stand.bus.deliver("server", codec.encode("sources", old))
    again = [Hello("sources"), SourceProblem("b.yaml", "spec: worse", 3.0)]
    await stand.bus.deliver("server", codec.encode("sources", again))
    assert (await stand.get("/v1/problems"))[1]["items"] == [{"thing": "b.yaml", "problem": "spec: worse", "at": 3.0}]


async def test_the_agent_tells_how_it_was_started(stand: Stand) -> None:
    _, body = await stand.get("/v1/agent")
    assert (body["nodeName"], body["runtimeEndpoint"], body["manifests"]) == ("n1", "", "")
    assert body["manifestUrl"] == "https://host/pods?…"


async def test_health_says_ok_or_why_not(stand: Stand) -> None:
    async with stand.client.get("http://podherd/healthz") as response:
        assert (response.status, "yet to be successful" in await response.text()) == (500, True)
    await stand.bus.deliver("server", codec.encode("pleg", [PlegHealth(time.time(), 0.1, 1, 1, ())]))
    assert await stand.text("/healthz") == "ok"


async def test_an_unknown_page_is_a_json_404(stand: Stand) -> None:
    code, body = await stand.get("/v1/nothing")
    assert (code, body["thing"]) == (404, "/v1/nothing")


async def test_drain_answers_when_every_shard_has_drained(stand: Stand) -> None:
    stand.shards[1].drains = False
    answer = asyncio.create_task(stand.client.post("http://podherd/v1/drain"))
    await until(lambda: stand.shards[1].heard)
    assert not answer.done()
    stand.shards[1].drains = True
    await stand.shards[1].say(Hello("pod_shard-1"))  # it died in between, and is told again
    async with asyncio.timeout(5):
        response = await answer
    assert await response.json() == {"drained": True}
    response.release()


async def test_a_log_is_read_with_tail_and_container(stand: Stand) -> None:
    await stand.add(changed("web-n1"), containers=("app", "side"))
    log_file(stand).write_text("".join(log_entry(f"l{n}") for n in range(10)))
    log_file(stand, container="side").write_text(log_entry("of the side"))
    async with stand.client.get("http://podherd/v1/log", params={"pod": "web", "tail": "2"}) as response:
        assert response.headers[container_choice.NOTE_HEADER] == 'Defaulted container "app" out of: app, side'
        assert await response.text() == "l8\nl9\n"
    assert await stand.text("/v1/logs/default/web-n1", container="side") == "of the side\n"


async def test_the_annotated_default_container_is_read(stand: Stand) -> None:
    notes = {container_choice.DEFAULT_CONTAINER: "side"}
    await stand.add(changed("web-n1"), containers=("app", "side"), annotations=notes)
    log_file(stand, container="side").write_text(log_entry("side"))
    assert await stand.text("/v1/log", pod="web") == "side\n"


async def test_the_previous_attempts_log(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    log_file(stand, attempt=3).write_text(log_entry("before"))
    code, body = await stand.get("/v1/log", pod="web", previous="1")
    assert (code, body["reason"]) == (400, 'previous terminated container "app" in pod "web-n1" not found')
    log_file(stand, attempt=4).write_text(log_entry("now"))
    assert await stand.text("/v1/log", pod="web", previous="1") == "before\n"
    assert await stand.text("/v1/log", pod="web") == "now\n"


@pytest.mark.parametrize(
    ("query", "code", "reason"),
    [
        ({"container": "nope"}, 404, "pod web-n1 has no such container"),
        ({"container": "../../etc"}, 404, "pod web-n1 has no such container"),
        ({}, 400, 'container "app" in pod "web-n1" is waiting to start: trying and failing to pull image'),
        ({"tail": "many"}, 400, "'many' is not a number"),
        ({"tail": "1", "limitBytes": "-1"}, 400, "'-1' is not a number"),
        ({"tail": "1", "sinceTime": "noon"}, 400, "'noon' is not a time"),
        (
            {"tail": "1", "sinceTime": "2026-01-02T03:04:05Z", "sinceSeconds": "1"},
            400,
            "at most one of sinceTime or sinceSeconds may be specified",
        ),
    ],
)
async def test_a_log_that_cannot_be_read_says_why(stand: Stand, query: dict[str, str], code: int, reason: str) -> None:
    waiting = [{"name": "app", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    await stand.add(changed("web-n1", statuses=waiting, phase="Pending"))
    if "tail" in query:
        log_file(stand).touch()
    found, body = await stand.get("/v1/log", pod="web", **query)
    assert (found, body["reason"]) == (code, reason)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"waiting": {"reason": "ErrImagePull"}}, "is waiting to start: image can't be pulled"),
        ({"waiting": {"reason": "PodInitializing"}}, "is waiting to start: PodInitializing"),
        ({"waiting": {}}, "is waiting to start - no logs yet"),
        ({"terminated": {"exitCode": 137}}, "is terminated"),
    ],
)
@pytest.mark.parametrize("kind", ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"])
async def test_a_container_without_a_log_says_so_in_the_kubelets_words(
    stand: Stand, kind: str, state: dict[str, Any], text: str
) -> None:
    row = changed("web-n1", phase="Pending")
    status = {"phase": "Pending", kind: [{"name": "app", "state": state}]}
    await stand.add(replace(row, status=codec.pack(status)))
    assert (await stand.get("/v1/log", pod="web"))[1]["reason"] == f'container "app" in pod "web-n1" {text}'


async def test_a_log_is_cut_by_time_and_bytes_and_shows_times(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    now = time.time()
    stamps = [f"{datetime.fromtimestamp(now - age, UTC):%Y-%m-%dT%H:%M:%S}.5Z" for age in (100, 50, 10)]
    log_file(stand).write_text("".join(f"{stamp} stdout F l{n}\n" for n, stamp in enumerate(stamps)))
    assert await stand.text("/v1/log", pod="web", sinceSeconds="60") == "l1\nl2\n"
    assert await stand.text("/v1/log", pod="web", sinceTime=stamps[2]) == "l2\n"
    assert await stand.text("/v1/log", pod="web", sinceSeconds="60", tail="1") == "l2\n"
    assert await stand.text("/v1/log", pod="web", limitBytes="4") == "l0\nl"
    assert await stand.text("/v1/log", pod="web", limitBytes="4", follow="1") == "l0\nl"
    shown = stamps[2].replace(".5Z", ".500000000Z")
    assert await stand.text("/v1/log", pod="web", tail="1", timestamps="1") == f"{shown} l2\n"


async def test_a_shard_that_is_away_withholds_no_log(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    log_file(stand).write_text(log_entry("one"))
    stand.actor._questions._answer_s = 0.05
    stand.owner("default", "web-n1").answers = False
    assert await stand.text("/v1/log", pod="web") == "one\n"


async def test_a_followed_log_ends_when_the_status_says_that_the_container_stopped(stand: Stand) -> None:
    await stand.add(changed("web-n1"))
    log_file(stand).write_text(log_entry("one"))
    async with stand.client.get("http://podherd/v1/log", params={"pod": "web", "follow": "1"}) as response:
        assert await response.content.readline() == b"one\n"
        with log_file(stand).open("a") as file:
            file.write(log_entry("two"))
        assert await response.content.readline() == b"two\n"
        ended = [{"name": "app", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}]
        begin = time.monotonic()
        await stand.add(changed("web-n1", statuses=ended))
        assert await response.content.read() == b""
        assert time.monotonic() - begin < 2.0


async def test_followers_are_bounded_and_a_client_that_leaves_frees_its_place(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_page, "STREAMS", 1)
    await stand.add(changed("web-n1"))
    log_file(stand).write_text(log_entry("one"))
    query = {"pod": "web", "follow": "1"}
    first = await stand.client.get("http://podherd/v1/log", params=query)
    assert await first.content.readline() == b"one\n"
    code, body = await stand.get("/v1/log", **query)
    assert (code, body["thing"]) == (503, "logs")
    first.close()

    async def there_is_room() -> bool:
        return (await stand.get("/v1/log", pod="web", tail="x"))[0] == 400

    await until(there_is_room)


async def test_a_watch_shows_the_table_then_each_change_once(stand: Stand) -> None:
    await stand.add(changed("a"))
    async with stand.client.get("http://podherd/v1/watch") as response:

        async def line() -> dict[str, Any]:
            value: dict[str, Any] = json.loads(await response.content.readline())
            return value

        assert (await line())["row"]["name"] == "a"
        assert (await line()) == {"type": "synced"}
        many = [changed("b", phase=phase) for phase in ("Pending", "Pending", "Running")]
        await stand.shards[0].say(*many, PodForgotten("uid-a", "default", "a"))
        found = await line()
        assert (found["row"]["name"], found["row"]["phase"]) == ("b", "Running")  # only the last of three
        assert await line() == {"type": "gone", "uid": "uid-a", "namespace": "default", "name": "a"}


async def test_a_watcher_that_reads_nothing_holds_no_more_than_the_table(stand: Stand) -> None:
    reader = socket.socket(socket.AF_UNIX)
    reader.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(reader, str(stand.settings.admin_socket))
    await loop.sock_sendall(reader, b"GET /v1/watch HTTP/1.1\r\nHost: podherd\r\n\r\n")
    hub = stand.actor._facts.hub
    await until(lambda: hub._watchers)
    (watcher,) = hub._watchers
    for version in range(200):
        await stand.shards[0].say(*(changed(f"p{n}", created_at=version) for n in range(50)))
    assert len(watcher._waiting) <= 50
    assert (await stand.get("/v1/summary"))[1]["pods"] == 50
    reader.close()
    await stand.shards[0].say(changed("p0", created_at=1000.5))
    await until(lambda: not hub._watchers)


def test_a_dead_servers_socket_is_taken_over(tmp_path: Path) -> None:
    app.bind(tmp_path / "podherd.sock").close()
    assert (tmp_path / "podherd.sock").exists()
    listener = app.bind(tmp_path / "podherd.sock")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.fspath(tmp_path / "podherd.sock"))
    listener.close()


def test_a_path_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="shorter --root-dir"):
        app.bind(tmp_path / ("x" * 120) / "podherd.sock")
