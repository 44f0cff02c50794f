"""A cancelled sync answers once, with what was done; no failing call ever makes it raise."""

import asyncio
import contextlib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podherd.errors import CriError
from podherd.machines.pod.events import SandboxFailed, Started, Synced
from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer
from podherd.steps.runner import perform

START = Plan(make_sandbox=0, start=(StartContainer("a", 0), StartContainer("b", 0)))


def two(make_pod: Any) -> Any:
    return make_pod({}, {"name": "a"}, {"name": "b"})


async def reached(bench: Any, method: str) -> None:
    async with asyncio.timeout(5):
        await bench.cri.reached.setdefault(method, asyncio.Event()).wait()


async def test_the_call_in_flight_is_allowed_to_finish(bench: Any, make_pod: Any) -> None:
    gate = bench.cri.gate["run_sandbox"] = asyncio.Event()
    context = bench.context(START, two(make_pod))
    task = asyncio.create_task(perform(context))
    await reached(bench, "run_sandbox")
    context.cancel()
    gate.set()
    synced = await task
    assert (synced.cancelled, synced.did, synced.results) == (True, True, ())
    assert bench.cri.methods() == ["run_sandbox"]


async def test_a_call_that_does_not_finish_is_broken_off(bench: Any, make_pod: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("podherd.steps.context.FINISH_S", 0.0)
    bench.cri.gate["run_sandbox"] = asyncio.Event()
    context = bench.context(START, two(make_pod))
    task = asyncio.create_task(perform(context))
    await reached(bench, "run_sandbox")
    context.cancel()
    async with asyncio.timeout(5):
        synced = await task
    assert (synced.cancelled, synced.did) == (True, True)


async def test_what_was_started_before_the_cancel_is_told(bench: Any, make_pod: Any) -> None:
    context = bench.context(START, two(make_pod))
    gate = bench.cri.gate["start_container"] = asyncio.Event()
    task = asyncio.create_task(perform(context))
    await reached(bench, "start_container")
    context.cancel()
    gate.set()
    synced = await task
    assert (synced.results, synced.cancelled) == ((Started("a", "a-0", 0),), True)
    assert bench.cri.methods().count("create_container") == 1


async def test_a_wait_for_a_dying_container_is_broken_off_at_once(bench: Any) -> None:
    bench.cri.gate["stop_container"] = asyncio.Event()
    context = bench.context(Plan(kill=(KillContainer("c1", "web", 30, "Stopping container web"),), clean_up=True))
    task = asyncio.create_task(perform(context))
    await reached(bench, "stop_container")
    context.cancel()
    async with asyncio.timeout(1):
        synced = await task
    assert (synced.cancelled, synced.did, synced.results) == (True, True, ())


async def test_a_cancel_before_the_first_step(bench: Any, make_pod: Any) -> None:
    context = bench.context(START, two(make_pod))
    context.cancel()
    synced = await perform(context)
    assert (synced.cancelled, synced.did, bench.cri.calls) == (True, False, [])


async def test_a_pull_goes_on_when_its_pod_is_cancelled(bench: Any, make_pod: Any) -> None:
    gate = bench.cri.gate["pull_image"] = asyncio.Event()
    pod = make_pod({}, {"name": "web", "image": "reg.test/new:2"})
    context = bench.context(Plan(sandbox_id="s0", start=(StartContainer("web", 0),)), pod)
    task = asyncio.create_task(perform(context))
    await reached(bench, "pull_image")
    context.cancel()
    assert (await task).cancelled
    gate.set()
    await bench.tools.pulls.pull("reg.test/new:2", None)
    assert "reg.test/new:2" in bench.cri.images


async def test_the_end_of_the_actor_is_no_answer(bench: Any, make_pod: Any) -> None:
    bench.cri.gate["run_sandbox"] = asyncio.Event()
    task = asyncio.create_task(perform(bench.context(START, two(make_pod))))
    await reached(bench, "run_sandbox")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


METHODS = (
    "run_sandbox", "sandbox_status", "image_status", "pull_image", "create_container", "start_container",
    "stop_container", "stop_sandbox", "remove_container", "remove_sandbox",
)  # fmt: skip
CODES = ("UNKNOWN", "NOT_FOUND", "UNAVAILABLE", "DEADLINE_EXCEEDED", "INVALID_ARGUMENT")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fail=st.dictionaries(st.sampled_from(METHODS), st.sampled_from(CODES)),
    odd=st.sets(st.sampled_from(METHODS), max_size=2),
    policy=st.sampled_from(("Always", "IfNotPresent", "Never")),
    image=st.sampled_from(("reg.test/web:1", "reg.test/new:2", "No")),
    has_spec=st.booleans(),
    cancel_at=st.none() | st.integers(0, 12),
    new=st.booleans(),
)
async def test_whatever_fails_there_is_one_answer(
    bench: Any, make_pod: Any, fail: Any, odd: Any, policy: str, image: str, has_spec: bool, cancel_at: Any, new: bool
) -> None:
    bench.cri.calls.clear()
    bench.cri.images = {"reg.test/web:1"}
    bench.cri.fail = {method: CriError(f"CRI {method}", code, "scripted") for method, code in fail.items()}
    bench.cri.fail.update({method: ValueError("odd") for method in odd})
    pod = make_pod({}, {"name": "a", "image": image, "imagePullPolicy": policy}, {"name": "b"}) if has_spec else None
    starts = START.start if has_spec else ()
    plan = Plan(
        (KillContainer("c1", "a", 2, "k"), KillContainer("c2", "b", 2, "k")), ("s0",), ("c1",), ("s0",),
        1 if new and has_spec else None, "s0", starts, clean_up=not has_spec,
    )  # fmt: skip
    context = bench.context(plan, pod)
    task = asyncio.create_task(perform(context))
    for turn in range(200):
        if turn == cancel_at:
            context.cancel()
        if task.done():
            break
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        synced = await task
    assert isinstance(synced, Synced)
    assert synced.did or synced.cancelled
    halting = [r for r in synced.results if isinstance(r, SandboxFailed)]
    assert len(halting) <= 1
    named = [r.name for r in synced.results if hasattr(r, "name")]
    assert len(named) == len(set(named))
