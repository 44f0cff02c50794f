"""Volumes as containers of a real containerd find them."""

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from cri_api.v1 import api_pb2 as pb
from tests.kit.volumes import mounts_below

from podherd.agent.provision import BUSYBOX
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps.runner import perform
from podherd.steps.runtime_features import lacks_images, recursive_read_only
from podherd.volumes.mounting import mount

SCRIPT = """
cat /pod/labels; echo
touch /pod/x 2>/dev/null || echo pod is read-only
cat /one; echo
ls /part
stat -c '%g %a' /data
touch /data/mine && stat -c '%u %g' /data/mine
echo done
exec sleep 3600
"""
LABELS = {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}


def start(*names: str) -> Plan:
    return Plan(make_sandbox=0, start=tuple(StartContainer(name, 0) for name in names))


def lines_of(bench: Any, pod: Any, container: str) -> list[str]:
    """What a container has said so far."""
    log = bench.settings.pod_log_dir("shop", "web", pod.uid) / container / "0.log"
    return [line.split(" ", 3)[3] for line in log.read_text().splitlines()] if log.exists() else []


def has_said(bench: Any, pod: Any, container: str, line: str) -> bool:
    return line in lines_of(bench, pod, container)


async def end(bench: Any, pod: Any) -> None:
    """Everything of the pod is taken away, mounts and directories too."""
    found = pb.ListPodSandboxResponse.FromString(await bench.cri.list_sandboxes_raw()).items
    ids = tuple(one.id for one in found if one.metadata.uid == pod.uid)
    synced = await perform(bench.context(Plan(stop_sandboxes=ids, remove_sandboxes=ids, clean_up=True), pod))
    assert synced.results == ()
    assert not bench.settings.pod_dir(pod.uid).exists()


async def test_a_container_finds_its_volumes_as_the_spec_says(real: Any, make_pod: Any, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    (host / "file").write_text("one file")
    spec = {
        "securityContext": {"fsGroup": 4000, "runAsUser": 1000},
        "volumes": [
            {"name": "pod", "downwardAPI": {"items": [LABELS], "defaultMode": 0o400}},
            {"name": "host", "hostPath": {"path": str(host), "type": "Directory"}},
            {"name": "data", "emptyDir": {}},
        ],
    }
    mounts = [
        {"name": "pod", "mountPath": "/pod"},
        {"name": "host", "mountPath": "/one", "subPath": "file"},
        {"name": "host", "mountPath": "/part", "subPathExpr": "$(PART)/b"},
        {"name": "data", "mountPath": "/data"},
    ]
    (host / "a" / "b" / "inside").mkdir(parents=True)
    web = {"name": "web", "image": BUSYBOX, "command": ["sh", "-c", SCRIPT], "volumeMounts": mounts,
           "env": [{"name": "PART", "value": "a"}]}  # fmt: skip
    pod = make_pod(spec, web, uid="volumes-u1", labels={"b": "2", "a": "1"})
    synced = await perform(real.context(start("web"), pod))
    assert [type(result) for result in synced.results] == [Started], synced.results
    await real.until(lambda: "done" in lines_of(real, pod, "web"))
    assert lines_of(real, pod, "web") == [
        'a="1"', 'b="2"', "pod is read-only", "one file", "inside", "4000 2777", "1000 4000", "done",
    ]  # fmt: skip
    await end(real, pod)
    assert mounts_below(tmp_path) == []
    assert (host / "a" / "b" / "inside").is_dir()


async def test_a_mount_of_one_container_reaches_the_host_and_the_other(
    real: Any, make_pod: Any, tmp_path: Path
) -> None:
    script = "mkdir -p /shared/in && mount -t tmpfs none /shared/in && echo seen > /shared/in/file; exec sleep 3600"
    gives = {
        "name": "gives", "image": BUSYBOX, "command": ["sh", "-c", script], "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "data", "mountPath": "/shared", "mountPropagation": "Bidirectional"}],
    }  # fmt: skip
    script = "until test -s /shared/in/file; do sleep 0.1; done; cat /shared/in/file; echo read; exec sleep 3600"
    takes = {
        "name": "takes", "image": BUSYBOX, "command": ["sh", "-c", script],
        "volumeMounts": [{"name": "data", "mountPath": "/shared", "mountPropagation": "HostToContainer"}],
    }  # fmt: skip
    pod = make_pod({"volumes": [{"name": "data", "emptyDir": {}}]}, takes, gives, uid="volumes-u2")
    synced = await perform(real.context(start("takes", "gives"), pod))
    assert [type(result) for result in synced.results] == [Started, Started], synced.results
    await real.until(lambda: lines_of(real, pod, "takes") == ["seen", "read"])
    inner = real.settings.pod_dir(pod.uid) / "volumes" / "kubernetes.io~empty-dir" / "data" / "in"
    assert (inner / "file").read_text() == "seen\n"
    subprocess.run(["umount", inner], check=True)  # noqa: ASYNC221 (a moment)
    await end(real, pod)
    assert mounts_below(tmp_path) == []


async def test_a_link_out_of_the_volume_is_not_mounted(real: Any, make_pod: Any) -> None:
    script = "ln -s /etc /data/out; ln -s ../../../../../../etc/passwd /data/up; exec sleep 3600"
    data = {"volumes": [{"name": "data", "emptyDir": {}}]}
    makes = {"name": "makes", "image": BUSYBOX, "command": ["sh", "-c", script],
             "volumeMounts": [{"name": "data", "mountPath": "/data"}]}  # fmt: skip
    takes = [
        {"name": name, "image": BUSYBOX, "command": ["sleep", "3600"],
         "volumeMounts": [{"name": "data", "mountPath": "/part", "subPath": name}]}
        for name in ("out", "up")
    ]  # fmt: skip
    pod = make_pod(data, makes, *takes, uid="volumes-u3")
    synced = await perform(real.context(start("makes"), pod))
    (result,) = synced.results
    assert isinstance(result, Started)
    root = real.settings.pod_dir(pod.uid) / "volumes" / "kubernetes.io~empty-dir" / "data"
    await real.until(lambda: (root / "up").is_symlink())
    sandbox = pb.ListPodSandboxResponse.FromString(await real.cri.list_sandboxes_raw()).items[0].id
    plan = Plan(sandbox_id=sandbox, start=(StartContainer("out", 0), StartContainer("up", 0)))
    for failed in (await perform(real.context(plan, pod))).results:
        assert isinstance(failed, StartFailed)
        assert failed.reason == "CreateContainerConfigError"
        assert "leads out of the volume" in failed.message
    await end(real, pod)


async def test_an_image_is_mounted_or_it_is_said_that_this_runtime_cannot(real: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "data", "image": {"reference": BUSYBOX, "pullPolicy": "Never"}}]}
    web = [
        {"name": name, "image": BUSYBOX, "command": ["sh", "-c", f"ls {path}; touch /data/x || echo ro; exec sleep 99"],
         "volumeMounts": [{"name": "data", "mountPath": "/data", **part}]}
        for name, path, part in (("whole", "-d /data/bin", {}), ("part", "/data/sh", {"subPath": "bin"}))
    ]  # fmt: skip
    pod = make_pod(spec, *web, uid="volumes-u4")
    whole, part = (await perform(real.context(start("whole", "part"), pod))).results
    for result, of_part, found in ((whole, False, "/data/bin"), (part, True, "/data/sh")):
        reason, _ = await lacks_images(real.cri, of_part)
        if reason:
            assert isinstance(result, StartFailed)
            assert reason in result.message
        else:
            assert isinstance(result, Started), result
            await real.until(partial(has_said, real, pod, result.name, "ro"))
            assert lines_of(real, pod, result.name)[0] == found
    await end(real, pod)


async def test_mounts_below_are_read_only_too_or_it_is_said_that_this_runtime_cannot(
    real: Any, make_pod: Any, tmp_path: Path
) -> None:
    below = tmp_path / "host" / "below"
    below.mkdir(parents=True)
    mount("tmpfs", str(below), "size=64k")
    spec = {"volumes": [{"name": "host", "hostPath": {"path": str(below.parent), "type": ""}}]}
    wanted = {"name": "host", "mountPath": "/host", "readOnly": True, "recursiveReadOnly": "Enabled"}
    web = {"name": "web", "image": BUSYBOX, "command": ["sh", "-c", "touch /host/below/x || echo ro; exec sleep 99"],
           "volumeMounts": [wanted]}  # fmt: skip
    pod = make_pod(spec, web, uid="volumes-u5")
    (result,) = (await perform(real.context(start("web"), pod))).results
    if "" in await recursive_read_only(real.cri):
        assert isinstance(result, Started), result
        await real.until(lambda: has_said(real, pod, "web", "ro"))
    else:
        assert "requested recursive read-only mode, but it is not supported by the runtime" in result.message
    await end(real, pod)
    assert list(below.iterdir()) == []
