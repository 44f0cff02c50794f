"""Plans performed on a real containerd: what a container finds inside, and that nothing is left behind."""

import os
from pathlib import Path
from typing import Any

from cri_api.v1 import api_pb2 as pb
from tests.kit.volumes import mounts_below

from podherd.agent.provision import BUSYBOX
from podherd.machines.pod.events import Started
from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer
from podherd.steps.cgroup import MOUNT, hierarchies
from podherd.steps.runner import perform

SCRIPT = """
grep -q 'Kubernetes-managed' /etc/hosts && grep "$(hostname)" /etc/hosts
grep ' /scratch tmpfs' /proc/mounts | grep -o 'size=[0-9]*k'
echo from-inside > /node/file
touch /ro/file 2>/dev/null || echo read-only
echo my last words > /dev/termination-log
exec sleep 3600
"""


def lines_of(log: Path) -> list[str]:
    """What the container has said so far."""
    return [line.split(" ", 3)[3] for line in log.read_text().splitlines()] if log.exists() else []


def cgroups_of(uid: str) -> list[str]:
    path = f"/podherd-test-none/kubepods/besteffort/pod{uid}"
    return [hierarchy for hierarchy in hierarchies(MOUNT) if os.path.exists(hierarchy + path)]


async def test_a_pod_from_first_to_last_deed(real: Any, make_pod: Any, tmp_path: Path) -> None:
    node = tmp_path / "node"
    spec = {
        "terminationGracePeriodSeconds": 1,
        "volumes": [
            {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "2Mi"}},
            {"name": "plain", "emptyDir": {}},
            {"name": "node", "hostPath": {"path": str(node), "type": "DirectoryOrCreate"}},
        ],
    }
    web = {
        "name": "web",
        "image": BUSYBOX,
        "command": ["sh", "-c", SCRIPT],
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "plain", "mountPath": "/ro", "readOnly": True},
            {"name": "node", "mountPath": "/node"},
        ],
    }
    pod = make_pod(spec, web, uid="steps-real-u1")
    synced = await perform(real.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), pod))
    (started,) = synced.results
    assert isinstance(started, Started), synced.results
    log = real.settings.pod_log_dir("shop", "web", pod.uid) / "web" / "0.log"
    await real.until(lambda: "read-only" in lines_of(log))
    lines = lines_of(log)
    assert lines[0].endswith("\tweb")
    assert lines[1] == "size=2048k"
    assert (node / "file").read_text() == "from-inside\n"
    words = real.settings.pod_dir(pod.uid) / "containers" / "web" / "00000000"
    await real.until(lambda: words.read_text() == "my last words\n")
    link = real.settings.pod_logs_dir.parent / "containers" / f"web_shop_web-{started.id}.log"
    assert link.samefile(log)
    assert cgroups_of(pod.uid)

    status = await real.cri.container_status(started.id)
    assert status.state == pb.CONTAINER_RUNNING
    context = real.context(Plan(kill=(KillContainer(started.id, "web", 1, "Stopping container web"),)), pod)
    assert (await perform(context)).results == ()
    assert (await real.cri.container_status(started.id)).state == pb.CONTAINER_EXITED
    sandboxes = pb.ListPodSandboxResponse.FromString(await real.cri.list_sandboxes_raw()).items
    ids = tuple(one.id for one in sandboxes)
    end = Plan(stop_sandboxes=ids, remove_containers=(started.id,), remove_sandboxes=ids, clean_up=True)
    for _ in range(2):
        assert (await perform(real.context(end, pod))).results == ()
    assert pb.ListContainersResponse.FromString(await real.cri.list_containers_raw()).containers == []
    assert not real.settings.pod_dir(pod.uid).exists()
    assert list(real.settings.pod_logs_dir.iterdir()) == []
    assert mounts_below(tmp_path) == []
    assert cgroups_of(pod.uid) == []
    assert (node / "file").exists()


async def test_a_command_that_is_not_there_is_a_run_error(real: Any, make_pod: Any) -> None:
    pod = make_pod({}, {"name": "web", "image": BUSYBOX, "command": ["/none"]}, uid="steps-real-u2")
    synced = await perform(real.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), pod))
    (failed,) = synced.results
    assert failed.reason in ("RunContainerError", "CreateContainerError")
    assert "/none" in failed.message
    sandboxes = pb.ListPodSandboxResponse.FromString(await real.cri.list_sandboxes_raw()).items
    ids = tuple(one.id for one in sandboxes if one.metadata.uid == pod.uid)
    synced = await perform(real.context(Plan(stop_sandboxes=ids, remove_sandboxes=ids, clean_up=True), pod))
    assert synced.results == ()


async def test_an_image_that_no_registry_gives_is_a_pull_error(real: Any, make_pod: Any) -> None:
    pod = make_pod({}, {"name": "web", "image": "127.0.0.1:1/none:1"}, uid="steps-real-u3")
    synced = await perform(real.context(Plan(make_sandbox=0, start=(StartContainer("web", 0),)), pod))
    (failed,) = synced.results
    assert (failed.reason, failed.image_pull) == ("ErrImagePull", True)
    assert "127.0.0.1:1/none:1" in failed.message
    sandboxes = pb.ListPodSandboxResponse.FromString(await real.cri.list_sandboxes_raw()).items
    ids = tuple(one.id for one in sandboxes if one.metadata.uid == pod.uid)
    await perform(real.context(Plan(stop_sandboxes=ids, remove_sandboxes=ids, clean_up=True), pod))
