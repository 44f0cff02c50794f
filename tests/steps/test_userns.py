"""The ids of pods with their own users: never given twice, kept with the pod, asked of runtimes that can."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import userns as ids
from podherd.errors import ContainerConfigError
from podherd.machines.pod.events import SandboxFailed, Started
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model.settings import Settings
from podherd.steps import userns
from podherd.steps.runner import perform

START = Plan(make_sandbox=0, start=(StartContainer("web", 0),))
ABLE = pb.RuntimeHandler(features=pb.RuntimeHandlerFeatures(user_namespaces=True))


def settings_of(root: Path, ids_per_pod: int = 65536) -> Settings:
    return Settings(node_name="n1", root_dir=root, runtime_endpoint="unix:///x", ids_per_pod=ids_per_pod)


def make_dirs(root: Path, *uids: str) -> None:
    for uid in uids:
        (root / "pods" / uid).mkdir(parents=True)


def answer(bench: Any, *handlers: pb.RuntimeHandler, groups: bool = False) -> list[str]:
    """The runtime tells this of itself; the list grows with each question."""
    asked: list[str] = []

    async def status() -> pb.StatusResponse:
        asked.append("status")
        features = pb.RuntimeFeatures(supplemental_groups_policy=groups)
        return pb.StatusResponse(runtime_handlers=handlers, features=features)

    bench.cri.status = status
    return asked


def test_a_pods_ids_are_kept_as_the_kubelet_keeps_them_and_stay(tmp_path: Path) -> None:
    make_dirs(tmp_path, "a")
    block = userns.block_of(settings_of(tmp_path), "a")
    kept = json.loads((tmp_path / "pods" / "a" / "userns").read_text())
    assert kept["uidMappings"] == [{"hostId": block.first_id, "containerId": 0, "length": 65536}]
    assert userns.block_of(settings_of(tmp_path, 131072), "a") == block


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with 18 blocks, of which 16 may be given."""
    monkeypatch.setattr(ids, "ALL_IDS", 18 * 65536)


@pytest.mark.usefixtures("few")
def test_no_ids_are_given_twice_whoever_asks_at_once(tmp_path: Path) -> None:
    uids = [f"p{n}" for n in range(16)]
    make_dirs(tmp_path, *uids)
    settings = settings_of(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        blocks = list(threads.map(lambda uid: userns.block_of(settings, uid), uids))
    assert len({block.first_id for block in blocks}) == len(uids)
    make_dirs(tmp_path, "late")
    with pytest.raises(ContainerConfigError, match="could not find an empty slot to allocate a user namespace"):
        userns.block_of(settings, "late")


@pytest.mark.usefixtures("few")
def test_ids_of_a_pod_that_is_gone_are_free_again(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    uids = [f"p{n}" for n in range(16)]
    make_dirs(tmp_path, *uids, "late")
    blocks = [userns.block_of(settings, uid) for uid in uids]
    (tmp_path / "pods" / "p3" / "userns").unlink()
    (tmp_path / "pods" / "p3").rmdir()
    assert userns.block_of(settings, "late") == blocks[3]


@pytest.mark.usefixtures("few")
def test_a_block_of_another_size_does_not_overlap(tmp_path: Path) -> None:
    make_dirs(tmp_path, "a", "b", "c")
    big = [userns.block_of(settings_of(tmp_path, 6 * 65536), "a"), userns.block_of(settings_of(tmp_path), "b")]
    third = userns.block_of(settings_of(tmp_path, 2 * 65536), "c")
    assert len({unit for block in (*big, third) for unit in block.units}) == 6 + 1 + 2


@pytest.mark.usefixtures("few")
def test_claims_that_were_lost_are_made_anew_from_what_the_pods_keep(tmp_path: Path) -> None:
    length = 4 * 65536
    make_dirs(tmp_path, "old", "new")
    (tmp_path / "pods" / "old" / "userns").write_bytes(ids.to_json(ids.Block(length, length)))
    assert userns.block_of(settings_of(tmp_path, length), "new") == ids.Block(2 * length, length)


def test_a_choice_that_was_broken_off_is_taken_up(tmp_path: Path) -> None:
    make_dirs(tmp_path, "a")
    first = next(ids.blocks("a", 65536))
    (tmp_path / "userns").mkdir()
    os.symlink("a", tmp_path / "userns" / str(first.units[0]))
    assert userns.block_of(settings_of(tmp_path), "a") == first


async def test_sandbox_and_container_get_the_pods_ids(bench: Any, make_pod: Any) -> None:
    answer(bench, ABLE)
    synced = await perform(bench.context(START, make_pod({"hostUsers": False})))
    assert synced.results == (Started("web", "web-0", 0),)
    calls = {call[0]: call for call in bench.cri.calls}
    mapping = ids.namespace(userns.block_of(bench.settings, "u1"))
    sandbox, container = calls["run_sandbox"][1], calls["create_container"][2]
    assert sandbox.linux.security_context.namespace_options.userns_options == mapping
    assert container.linux.security_context.namespace_options.userns_options == mapping
    assert all(list(mount.uidMappings) == list(mapping.uids) for mount in container.mounts)


async def test_a_restart_in_a_sandbox_that_stands_asks_nothing_and_takes_the_same_ids(
    bench: Any, make_pod: Any
) -> None:
    answer(bench, ABLE)
    pod = make_pod({"hostUsers": False})
    await perform(bench.context(START, pod))
    asked = answer(bench)
    await perform(bench.context(Plan(sandbox_id="s0", start=(StartContainer("web", 1),)), pod))
    configs = [call[2] for call in bench.cri.calls if call[0] == "create_container"]
    first, second = (config.linux.security_context.namespace_options.userns_options for config in configs)
    assert first == second
    assert asked == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"hostUsers": False}, "runtime does not support user namespaces"),
        ({"hostUsers": False, "runtimeClassName": "kata"}, 'RuntimeClass handler "kata" does not support'),
        ({"securityContext": {"supplementalGroupsPolicy": "Strict"}}, "supplementalGroupsPolicy: Supplemental"),
        (
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
            'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
        ),
    ],
)  # fmt: skip
async def test_what_this_node_cannot_do_makes_no_sandbox_and_says_why(
    bench: Any, make_pod: Any, spec: dict[str, Any], words: str
) -> None:
    answer(bench)
    synced = await perform(bench.context(START, make_pod(spec)))
    (failed,) = synced.results
    assert isinstance(failed, SandboxFailed)
    assert words in failed.message
    assert bench.reasons() == ["FailedCreatePodSandBox"]
    assert "run_sandbox" not in bench.cri.methods()


async def test_strict_groups_pass_where_the_runtime_knows_them(bench: Any, make_pod: Any) -> None:
    answer(bench, groups=True)
    await perform(bench.context(START, make_pod({"securityContext": {"supplementalGroupsPolicy": "Strict"}})))
    sandbox = next(call[1] for call in bench.cri.calls if call[0] == "run_sandbox")
    assert sandbox.linux.security_context.supplemental_groups_policy == pb.Strict


async def test_a_plain_pod_asks_the_runtime_nothing(bench: Any, make_pod: Any) -> None:
    asked = answer(bench)
    await perform(bench.context(START, make_pod()))
    assert asked == []
    assert not (bench.settings.root_dir / "userns").exists()
