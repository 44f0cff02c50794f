"""Pull policies, pull failures, shared and bounded pulls."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.virtual_loop import run_virtually

from podherd.errors import CriError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps import pull_limits, reference
from podherd.steps.pull_limits import Places, Rate
from podherd.steps.pulls import Pulls, of_shard
from podherd.steps.runner import perform

NEW = "reg.test/new:2"


def plan(**start: Any) -> Plan:
    return Plan(sandbox_id="s0", start=(StartContainer("web", 0, **start),))


def pod_with(make_pod: Any, image: str, policy: str = "IfNotPresent") -> Any:
    return make_pod({}, {"name": "web", "image": image, "imagePullPolicy": policy})


async def test_an_absent_image_is_pulled_and_told(bench: Any, make_pod: Any) -> None:
    synced = await perform(bench.context(plan(), pod_with(make_pod, NEW)))
    assert isinstance(synced.results[0], Started)
    assert bench.cri.methods().count("pull_image") == 1
    assert bench.told()[:2] == [
        ("Normal", "Pulling", f'Pulling image "{NEW}"'),
        (
            "Normal",
            "Pulled",
            f'Successfully pulled image "{NEW}" in 0s (0s including waiting). Image size: 1234 bytes.',
        ),
    ]
    config = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    assert (config.image.image, config.image.user_specified_image) == (f"sha256:{NEW}", NEW)


async def test_always_pulls_also_what_is_present(bench: Any, make_pod: Any) -> None:
    await perform(bench.context(plan(), pod_with(make_pod, "reg.test/web:1", "Always")))
    assert "pull_image" in bench.cri.methods()


async def test_never_does_not_pull(bench: Any, make_pod: Any) -> None:
    synced = await perform(bench.context(plan(), pod_with(make_pod, NEW, "Never")))
    text = f'Container image "{NEW}" is not present with pull policy of Never'
    assert synced.results == (StartFailed("web", "ErrImageNeverPull", text),)
    assert bench.told() == [
        ("Warning", "ErrImageNeverPull", text),
        ("Warning", "Failed", "Error: ErrImageNeverPull"),
    ]


@pytest.mark.parametrize(
    ("words", "reason", "told"),
    [
        ("not found", "ErrImagePull", "not found"),
        (
            "RegistryUnavailable: 503",
            "RegistryUnavailable",
            f"image pull failed for {NEW} because the registry is unavailable: 503",
        ),
        (
            "SignatureValidationFailed: who?",
            "SignatureValidationFailed",
            f"image pull failed for {NEW} because the signature validation failed: who?",
        ),
    ],
)
async def test_a_failed_pull_moves_the_images_back_off(
    bench: Any, make_pod: Any, words: str, reason: str, told: str
) -> None:
    bench.cri.fail["pull_image"] = CriError("CRI PullImage", "UNKNOWN", words)
    synced = await perform(bench.context(plan(), pod_with(make_pod, NEW)))
    assert synced.results == (StartFailed("web", reason, told, image_pull=True),)
    assert bench.told()[1:] == [
        ("Warning", "Failed", f'Failed to pull image "{NEW}": {told}'),
        ("Warning", "Failed", f"Error: {reason}"),
    ]


async def test_a_runtimes_error_that_has_a_code_is_told_with_it(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["pull_image"] = CriError("CRI PullImage", "NOT_FOUND", "no such image")
    synced = await perform(bench.context(plan(), pod_with(make_pod, NEW)))
    told = "rpc error: code = NotFound desc = no such image"
    assert synced.results == (StartFailed("web", "ErrImagePull", told, image_pull=True),)


def test_a_pull_that_takes_long_says_so_every_minute(bench: Any, make_pod: Any) -> None:
    async def slow() -> Any:
        loop = asyncio.get_running_loop()
        bench.tools.clock = loop.time
        first = bench.cri.gate["pull_image"] = asyncio.Event()
        bench.tools.pulls = Pulls(bench.cri, 1, Rate(0, 1, loop.time), loop.time)
        before = asyncio.create_task(bench.tools.pulls.pull("reg.test/before:1", None))
        await asyncio.sleep(0)
        loop.call_later(130, first.set)
        synced = await perform(bench.context(plan(), pod_with(make_pod, NEW)))
        await before
        return synced

    bench.cri.pull_s = {NEW: 70.0}
    synced = run_virtually(slow())
    assert isinstance(synced.results[0], Started)
    assert [message for _, reason, message in bench.told() if reason in ("Pulling", "Pulled")] == [
        f'Pulling image "{NEW}"',
        f'Still waiting to pull image "{NEW}" after 1m0s',
        f'Still waiting to pull image "{NEW}" after 2m0s',
        f'Still pulling image "{NEW}" after 3m0s',
        f'Successfully pulled image "{NEW}" in 1m10s (3m20s including waiting). Image size: 1234 bytes.',
    ]


async def test_an_absent_image_inside_its_back_off_is_not_pulled(bench: Any, make_pod: Any) -> None:
    held = plan(pull_allowed=False, back_off="not found")
    synced = await perform(bench.context(held, pod_with(make_pod, NEW)))
    told = f'Back-off pulling image "{NEW}": not found'
    assert synced.results == (StartFailed("web", "ImagePullBackOff", told),)
    assert bench.told() == [
        ("Normal", "BackOff", f'Back-off pulling image "{NEW}"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    ]
    synced = await perform(bench.context(held, pod_with(make_pod, "reg.test/web:1")))
    assert isinstance(synced.results[0], Started)


async def test_an_unreadable_name_and_a_failed_inspection(bench: Any, make_pod: Any) -> None:
    synced = await perform(bench.context(plan(), pod_with(make_pod, "Not An Image")))
    (failed,) = synced.results
    assert failed.reason == "InvalidImageName"
    assert failed.message.startswith('Failed to apply default image tag "Not An Image": ')
    assert bench.reasons() == ["InspectFailed", "Failed"]
    bench.cri.fail["image_status"] = CriError("CRI ImageStatus", "UNKNOWN", "disk")
    synced = await perform(bench.context(plan(), pod_with(make_pod, NEW)))
    assert synced.results[0].reason == "ImageInspectError"


@pytest.mark.parametrize(
    "image",
    ["nginx", "nginx:1.27", "a/b/c:tag", "reg.test:5000/x", "localhost/x_y.z-w", "x@sha256:" + "a" * 64,
     "reg.test/x:1@sha256:" + "0" * 64, "sha256:" + "b" * 64, "[::1]:5000/x"],
)  # fmt: skip
def test_names_of_images(image: str) -> None:
    assert reference.problem(image) == ""


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("", "invalid reference format"),
        ("Nginx", "repository name must be lowercase"),
        ("a b", "invalid reference format"),
        ("nginx:", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("nginx:" + "t" * 129, "invalid reference format"),
        ("a" * 64, "cannot specify 64-byte hexadecimal strings"),
        ("r.test/" + "p/" * 140 + "x", "repository name must not be more than 255 characters"),
    ],
)
def test_no_names_of_images(image: str, words: str) -> None:
    assert reference.problem(image).endswith(words)


def pulls(bench: Any, parallel: int = 1, qps: float = 0, burst: int = 1) -> Pulls:
    def clock() -> float:
        return float(bench.now[0])

    return Pulls(bench.cri, parallel, Rate(qps, burst, clock), clock)


async def test_the_same_image_is_pulled_once_for_all_who_wait(bench: Any) -> None:
    shared = pulls(bench)
    gate = bench.cri.gate["pull_image"] = asyncio.Event()
    tasks = [asyncio.create_task(shared.pull(NEW, None)) for _ in range(5)]
    await bench.until(lambda: bench.cri.calls)
    tasks[0].cancel()
    gate.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(ends[0], asyncio.CancelledError)
    assert {end.ref for end in ends[1:]} == {f"sha256:{NEW}"}
    assert bench.cri.methods().count("pull_image") == 1


async def test_pulls_of_different_images_wait_for_their_turn(bench: Any) -> None:
    serial = pulls(bench)
    gate = bench.cri.gate["pull_image"] = asyncio.Event()
    tasks = [asyncio.create_task(serial.pull(f"reg.test/{n}", None)) for n in range(3)]
    await bench.until(lambda: bench.cri.calls)
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.cri.methods() == ["pull_image"]
    bench.now[0] += 2.5
    gate.set()
    waited = [pull.waited_s for pull in await asyncio.gather(*tasks)]
    assert waited == [2.5, 2.5, 2.5]
    assert [call[1] for call in bench.cri.calls if call[0] == "pull_image"] == [f"reg.test/{n}" for n in range(3)]


async def test_more_pulls_than_the_rate_allows_fail(bench: Any) -> None:
    limited = pulls(bench, parallel=8, qps=2, burst=2)
    ends = await asyncio.gather(*(limited.pull(f"reg.test/{n}", None) for n in range(3)), return_exceptions=True)
    assert [getattr(end, "reason", "") for end in ends] == ["", "", "pull QPS exceeded"]
    bench.now[0] += 0.5
    assert (await limited.pull("reg.test/9", None)).ref == "sha256:reg.test/9"


def shards_of(bench: Any, count: int, **settings: Any) -> list[Pulls]:
    node = replace(bench.settings, shards=count, **settings)
    return [of_shard(bench.cri, node, lambda: float(bench.now[0])) for _ in range(count)]


@pytest.mark.parametrize(("count", "parallel"), [(1, 1), (2, 1), (3, 4)])
async def test_all_shards_together_pull_so_many_images_at_once(
    bench: Any, monkeypatch: pytest.MonkeyPatch, count: int, parallel: int
) -> None:
    monkeypatch.setattr(pull_limits, "POLL_S", 0)
    shards = shards_of(bench, count, max_parallel_pulls=parallel, pull_qps=0.0)
    running = most = 0
    pull_image = bench.cri.pull_image

    async def counted(image: str, config: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        return str(await pull_image(image, config))

    bench.cri.pull_image = counted
    await asyncio.gather(*(shards[n % count].pull(f"reg.test/{n}", None) for n in range(12)))
    assert (most, bench.cri.methods().count("pull_image")) == (parallel, 12)


async def test_all_shards_together_have_one_rate(bench: Any) -> None:
    shards = shards_of(bench, 3, max_parallel_pulls=8, pull_qps=2.0, pull_burst=4)
    pulls = (shards[n % 3].pull(f"reg.test/{n}", None) for n in range(6))
    ends = await asyncio.gather(*pulls, return_exceptions=True)
    assert [getattr(end, "reason", "") for end in ends] == [""] * 4 + ["pull QPS exceeded"] * 2
    bench.now[0] += 0.5
    assert (await shards[2].pull("reg.test/7", None)).ref == "sha256:reg.test/7"
    with pytest.raises(CriError, match="pull QPS exceeded"):
        await shards[0].pull("reg.test/8", None)


async def test_the_place_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    command = (sys.executable, "-c", script, str(tmp_path / "place-0"))
    other = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    await other.stdout.readline()
    taken = asyncio.Event()

    async def take() -> None:
        async with Places(tmp_path, 1).one():
            taken.set()

    task = asyncio.create_task(take())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not taken.is_set()
    other.kill()
    await other.wait()
    async with asyncio.timeout(10):
        await task


async def test_where_no_file_can_be_had_each_shard_keeps_the_limits_by_itself(bench: Any) -> None:
    bench.settings.root_dir.mkdir()
    (bench.settings.root_dir / "pulls").write_text("a file")
    (shard,) = shards_of(bench, 1, pull_qps=1.0, pull_burst=1)
    assert (await shard.pull(NEW, None)).ref == f"sha256:{NEW}"
    with pytest.raises(CriError, match="pull QPS exceeded"):
        await shard.pull(NEW, None)


async def test_a_herd_of_one_image_asks_for_it_once_in_a_while(bench: Any) -> None:
    shared = pulls(bench)
    for _ in range(3):
        assert (await shared.status("reg.test/web:1")).size == 1234
    assert bench.cri.methods() == ["image_status"]
    bench.now[0] += 0.5
    await shared.status("reg.test/web:1")
    assert bench.cri.methods() == ["image_status"] * 2


async def test_an_absent_image_is_asked_for_every_time_and_a_pull_renews_what_is_known(bench: Any) -> None:
    shared = pulls(bench)
    assert (await shared.status(NEW), await shared.status(NEW)) == (None, None)
    assert bench.cri.methods() == ["image_status"] * 2
    assert (await shared.pull(NEW, None)).image.size == 1234
    assert (await shared.status(NEW)).size == 1234
    assert bench.cri.methods()[2:] == ["pull_image", "image_status"]
