"""Stories of pods on a hollow runtime, read from the journals alone."""

from pathlib import Path

import msgpack
import pytest
from tests.journal.conftest import Agent
from tests.journal.kept import journal_of

from podherd.hollow.control import Control
from podherd.journal.entries import JournalError
from podherd.journal.replay import journals, replay
from podherd.journal.story import plan_words, status_words
from podherd.journal.story.line import Kind
from podherd.journal.story.story import story
from podherd.journal.story.tale import NoStoryError
from podherd.machines.pod.instructions import KillContainer, Plan, Publish, StartContainer
from podherd.machines.sources import SourcesMachine
from podherd.steps.deeds import Deed


def in_order(texts: list[str], *words: str) -> None:
    """Each of the words stands in a line after the one before."""
    rest = iter(texts)
    for word in words:
        assert any(word in text for text in rest), f"{word!r} is not at its place in\n" + "\n".join(texts)


async def test_a_start_is_told_from_the_file_to_the_last_call(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    await agent.stop()
    in_order(
        agent.texts(),
        f"source file {agent.manifests}/web.yaml created: pod wanted",
        "status Pending",
        "make sandbox 0, start main",
        "cri RunPodSandbox",
        "cri CreateContainer main",
        "cri StartContainer main",
        "seen main running",
        "status Pending -> Running",
    )
    assert not any("failed" in text for text in agent.texts())


async def test_the_story_is_there_when_the_agent_is_stopped_and_every_machine_can_be_replayed(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    await agent.stop()
    assert agent.texts()[-1] == "status ready"
    outcomes = [replay(files) for files in journals(agent.root / "journal")]
    assert {outcome.actor for outcome in outcomes} == {"node", "pleg", "pod_shard-0", "sources"}
    for outcome in outcomes:
        assert (outcome.differs, outcome.notes) == (None, [])
        assert outcome.instructions > 0


async def test_a_crash_loop_says_what_ended_how_and_when_it_is_started_again(agent: Agent, control: Control) -> None:
    agent.write()
    for count in (1, 2):
        await agent.until("seen main running", count)
        await control.kill(pod="shop/web-n1", container="main", exit_code=3, reason="Error")
        await agent.until("seen main exited 3 (Error)", count)
    await agent.until("status main: restart in")
    in_order(
        agent.texts(),
        "seen main exited 3 (Error)",
        "start main (attempt 1)",
        "cri CreateContainer main",
        "seen main running (attempt 1)",
        "seen main exited 3 (Error) (attempt 1)",
        "status main: restart in 10s: back-off after exit 3",
    )


async def test_an_edit_ends_the_old_edition_before_the_new_one_begins(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    agent.write(args="two")
    await agent.until("status ready", 2)
    await agent.until("over: nothing of it is left")
    await agent.stop()
    cause = f"file {agent.manifests}/web.yaml changed"
    in_order(agent.texts(), f"source {cause}: uid", "status Terminating", "plan", "cri StopContainer main", "ready")
    in_order(agent.texts(), f"source {cause}: pod wanted", "cri StopPodSandbox", "make sandbox 0, start main", "ready")
    assert len({line.uid for line in agent.lines() if line.uid}) == 2


async def test_a_removed_manifest_is_told_to_the_end(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    (agent.manifests / "web.yaml").unlink()
    await agent.until("over: nothing of it is left")
    await agent.stop()
    in_order(
        agent.texts(),
        f"source file {agent.manifests}/web.yaml removed",
        "status Terminating",
        "stop main within",
        "cri StopContainer main",
        "cri StopPodSandbox",
        "seen main exited",
        "cri RemoveContainer main",
        "cri RemovePodSandbox",
        "status over",
    )


async def test_an_actor_that_begins_anew_is_told_and_what_goes_on_is_not_told_twice(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    await agent.until("pod wanted (uid")
    before = agent.texts()
    await agent.stop("pod_shard-0")
    await agent.start("pod_shard-0")
    agent.write("other")
    await agent.until("status ready", word="other")
    after = agent.texts()
    assert after[: len(before)] == before
    assert after[len(before)].startswith("agent pod_shard-0 starts anew")
    assert not any(text.startswith(("source", "seen", "cri", "plan")) for text in after[len(before) :])


async def test_manifests_that_are_read_anew_say_that_nothing_has_changed(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    await agent.stop("sources")
    await agent.start("sources")
    await agent.until("created: pod wanted, as before")
    assert not any(text.startswith(("cri", "plan")) for text in agent.texts()[-3:])


async def test_a_failing_call_is_told_with_the_runtimes_words(agent: Agent, control: Control) -> None:
    await control.fault("CreateContainer", code="INTERNAL", message="no space for it")
    agent.write()
    await agent.until("failed main: CreateContainerError: no space for it")
    (line,) = [line for line in agent.lines() if line.kind is Kind.CRI and "CreateContainer" in line.text]
    assert "failed: no space for it" in line.text
    await agent.until("status main: waits: CreateContainerError: no space for it")


async def test_a_manifest_that_is_spoilt_is_a_part_of_its_pods_story(agent: Agent) -> None:
    agent.write()
    await agent.until("status ready")
    (agent.manifests / "web.yaml").write_text("kind: Pod\nspec: [")
    await agent.until(f"source {agent.manifests}/web.yaml: ")


async def test_a_network_that_is_away_is_told_to_every_pod(agent: Agent, control: Control) -> None:
    agent.write()
    await agent.until("status ready")
    await control.ready("NetworkReady", False, "NetworkPluginNotReady", "cni plugin not initialized")
    await agent.until("node container runtime network not ready")
    await control.ready("NetworkReady", True)
    await agent.until("node runtime and network are ready")


@pytest.mark.parametrize("word", ["web", "web-n1", "shop/web-n1", "shop/web"])
async def test_a_pod_is_found_by_all_of_its_names(agent: Agent, word: str) -> None:
    agent.write("web-2")
    agent.write()
    await agent.until("status ready")
    await agent.until("status ready", word="web-2")
    assert story(agent.root, word)[0] == ("shop", "web-n1")


@pytest.mark.parametrize(("word", "namespace"), [("wep", ""), ("web", "default"), ("web-n2", "")])
async def test_an_unknown_pod_is_an_error_that_names_the_nearest(agent: Agent, word: str, namespace: str) -> None:
    agent.write()
    await agent.until("status ready")
    with pytest.raises(NoStoryError, match="web-n1") as caught:
        story(agent.root, word, namespace)
    assert "no journal tells of it" in caught.value.reason


def test_without_journals_the_error_says_what_may_be_why(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="journalMB"):
        story(tmp_path, "web")


def test_what_one_file_spoils_the_others_still_tell(tmp_path: Path) -> None:
    top = tmp_path / "journal"
    top.mkdir()
    deed = Deed("u1", "shop", "web", "StopContainer", "c1", 1.0, 0.1)
    for _ in range(2):
        journal = journal_of("pod_shard-0", SourcesMachine(1, ()), top)
        journal.deed(deed)
        journal.close()
    first, second = sorted((top / "pod_shard-0").iterdir())
    first.write_bytes(first.read_bytes() + b"\x95\x01")
    second.write_bytes(second.read_bytes() + msgpack.packb((1, 2.0, ((999, "x"),), b"", ())))
    (top / "pod_shard-0" / "alien.mp").write_bytes(b"plain text")
    key, lines, notes = story(tmp_path, "web")
    assert key == ("shop", "web")
    assert [line.text for line in lines if line.kind is Kind.CRI] == ["StopContainer    c1  100 ms  ok"] * 2
    assert [note.partition(": ")[2][:20] for note in notes] == [
        f"{first.name}: the l"[:20], f"{second.name}: holds"[:20], "alien.mp: is no jour",
    ]  # fmt: skip


def test_a_plan_is_told_with_its_reason_and_in_its_order() -> None:
    plan = Plan(
        kill=(KillContainer("c1", "main", 30, "Stopping container main", {"exec": {}}),),
        stop_sandboxes=("0123456789abcdef",),
        remove_containers=("c0", "c2"),
        remove_sandboxes=("s1",),
        make_sandbox=2,
        start=(StartContainer("main", 3, pull_allowed=False),),
        clean_up=True,
        why="its sandbox died",
    )
    assert plan_words.plan_text(plan) == (
        "its sandbox died: stop main after its preStop hook within 30 s (Stopping container main),"
        " stop sandbox 0123456789ab, remove 2 dead containers and 1 dead sandbox, make sandbox 2,"
        " start main (attempt 3) without pulling, remove its directories and logs"
    )
    assert plan_words.plan_text(Plan()) == "nothing"


def test_a_status_is_told_by_what_is_new_in_it() -> None:
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'}
    pending = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": waiting}}]}
    first = Publish("u", "ns", "web", "file", False, 0.0, pending)
    assert list(status_words.news(None, first)) == [
        "Pending", 'main: waits: ImagePullBackOff: Back-off pulling image "x"',
    ]  # fmt: skip
    assert list(status_words.news(first, first)) == []
    failed = {"phase": "Failed", "reason": "DeadlineExceeded", "message": "too long"}
    last = Publish("u", "ns", "web", "file", True, 0.0, failed)
    assert list(status_words.news(first, last)) == ["Terminating", "Pending -> Failed: DeadlineExceeded: too long"]
