"""Each CRI call of a sync that changes something is told once, with its outcome and how long it took."""

import asyncio
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.errors import CriError, ManifestError
from podherd.machines.pod.instructions import Plan, Sync
from podherd.steps.deeds import BROKEN_OFF, CALLS, Deed, NotedCri, noted

SYNC = Sync("u1", "shop", "web", 1, None, Plan())


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.25
        return self.now


class Runtime:
    error: Exception | None = None

    async def create_container(self, _sandbox_id: str, _config: Any, _sandbox: Any) -> str:
        return self._answer("c1")

    async def start_container(self, _container_id: str) -> None:
        self._answer(None)

    async def container_status(self, _container_id: str) -> str:
        return self._answer("running")

    def _answer(self, it: Any) -> Any:
        if self.error is not None:
            raise self.error
        return it


@pytest.fixture
def deeds() -> list[Deed]:
    return []


@pytest.fixture
def runtime() -> Runtime:
    return Runtime()


@pytest.fixture
def cri(runtime: Runtime, deeds: list[Deed]) -> Any:
    return NotedCri(runtime, SYNC, deeds.append, Clock())  # type: ignore[arg-type]


async def test_a_call_is_told_with_what_it_made(cri: Any, deeds: list[Deed]) -> None:
    config = pb.ContainerConfig(metadata=pb.ContainerMetadata(name="main"))
    assert await cri.create_container("s1", config, pb.PodSandboxConfig()) == "c1"
    await cri.start_container("c1")
    assert deeds == [
        Deed("u1", "shop", "web", "CreateContainer", "main", 100.25, 0.25, "c1"),
        Deed("u1", "shop", "web", "StartContainer", "c1", 100.75, 0.25),
    ]


async def test_a_call_that_only_looks_is_not_told(cri: Any, deeds: list[Deed]) -> None:
    assert await cri.container_status("c1") == "running"
    assert deeds == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CriError("CRI StartContainer", "INTERNAL", "no space"), "no space"),
        (ManifestError("spec", "is odd"), "spec: is odd"),
        (ValueError("x"), BROKEN_OFF),
    ],
)
async def test_a_failure_is_told_and_goes_on_to_the_caller(
    cri: Any, runtime: Runtime, deeds: list[Deed], error: Exception, told: str
) -> None:
    runtime.error = error
    with pytest.raises(type(error)):
        await cri.start_container("c1")
    assert [deed.error for deed in deeds] == [told]


async def test_a_call_that_is_broken_off_is_told(deeds: list[Deed]) -> None:
    task = asyncio.create_task(noted("hook sleep", "main", asyncio.sleep(60), SYNC, deeds.append, Clock()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(deed.call, deed.target, deed.error) for deed in deeds] == [("hook sleep", "main", BROKEN_OFF)]


def test_every_noted_call_is_one_of_the_client() -> None:
    from podherd.cri.client import Cri

    assert all(callable(getattr(Cri, name)) for name in CALLS)
