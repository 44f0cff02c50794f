"""The runtime as a whole: version, conditions, deadlines, its death and return under a client."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from tests.kit.waiting import until

from podherd.cri.client import Cri
from podherd.errors import CriError


async def test_version_is_cri_v1(cri):
    version = await cri.wait_ready()
    assert version.runtime_api_version == "v1"
    assert version.runtime_name


async def test_runtime_and_network_are_ready(cri):
    conditions = {each.type: each.status for each in (await cri.status()).status.conditions}
    assert conditions["RuntimeReady"] is True
    assert conditions["NetworkReady"] is True


async def test_cgroup_driver_is_known_or_the_fallback(cri):
    assert await cri.cgroup_driver("cgroupfs") in ("cgroupfs", "systemd")


def is_stopped(pid: int) -> bool:
    """Whether SIGSTOP has reached every thread: until then one may still answer."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


async def test_our_deadline_ends_a_call_that_is_never_answered(runtime, cri):
    await cri.version()
    hung = Cri(runtime.endpoint, request_s=0.3)
    await hung.version()
    os.kill(runtime.pid(), signal.SIGSTOP)
    try:
        await until(lambda: is_stopped(runtime.pid()))
        began = time.monotonic()
        for call in (hung.status(), hung.list_containers_raw(), hung.stop_sandbox("any")):
            with pytest.raises(CriError) as error:
                await call
            assert error.value.code == "DEADLINE_EXCEEDED"
        assert time.monotonic() - began < 20  # a client without a deadline of its own waits for minutes
    finally:
        os.kill(runtime.pid(), signal.SIGCONT)
        await hung.close()


async def test_a_client_survives_the_runtimes_death_and_return(runtime, cri):
    await cri.version()
    runtime.kill()
    with pytest.raises(CriError) as error:
        await cri.list_sandboxes_raw()
    assert error.value.code == "UNAVAILABLE"
    reasons: asyncio.Queue[CriError] = asyncio.Queue()
    waiting = asyncio.create_task(cri.wait_ready(reasons.put_nowait))
    assert (await reasons.get()).code == "UNAVAILABLE"
    runtime.start()
    async with asyncio.timeout(10):
        await waiting
    await cri.list_sandboxes_raw()


async def test_calls_in_flight_fail_when_the_runtime_dies(runtime, cri):
    await cri.version()
    os.kill(runtime.pid(), signal.SIGSTOP)
    call = asyncio.create_task(cri.status())
    await asyncio.sleep(0)
    runtime.kill()
    try:
        with pytest.raises(CriError) as error:
            await call
        assert error.value.code == "UNAVAILABLE"
    finally:
        runtime.start()
    await cri.wait_ready()


async def test_events_tell_of_a_container_or_are_unimplemented(runtime, cri, pods):
    stream = cri.events()
    first = asyncio.create_task(anext(stream))
    try:
        _, container_id = await pods.running("events")
        await cri.stop_container(container_id, 0)
        async with asyncio.timeout(10):
            event = await first
            while event.container_id != container_id:
                event = await anext(stream)
    except CriError as error:
        if (error.code, runtime.name) != ("UNIMPLEMENTED", "containerd"):
            raise
    finally:
        first.cancel()
        await stream.aclose()
