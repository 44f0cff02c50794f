"""Pods as `podherd.cri.convert` writes them, accepted and carried out by both runtimes."""

from pathlib import Path

from cri_api.v1 import api_pb2 as pb
from tests.contract.conftest import until_state
from tests.kit.pods import pod

from podherd.agent.provision import BUSYBOX
from podherd.cri.convert import Host, container_config, mount, observed, sandbox_config
from podherd.model.hashing import same_container
from podherd.model.settings import Settings

HOST = Host(
    memory_bytes=8 << 30,
    cpu_milli=2000,
    resolv_conf="nameserver 192.0.2.53\nsearch corp.test\n",
    hugepage_sizes=("2MB", "1GB"),
)
PRINT = 'echo "$GREETING"; id -u; hostname; cat /etc/resolv.conf /data/in; echo last > /dev/termination-log; exit 3'
SPEC = {
    "dnsPolicy": "Default",
    "containers": [
        {
            "name": "app",
            "image": BUSYBOX,
            "command": ["sh", "-c", PRINT],
            "env": [{"name": "A", "value": "x"}, {"name": "GREETING", "value": "$(A) $$(A)"}],
            "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}},
            "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False},
        }
    ],
}


async def test_a_converted_pod_runs_and_is_observed_as_written(runtime, cri, pods, tmp_path):
    made = pod(SPEC)
    settings = Settings(node_name="n1", root_dir=tmp_path, runtime_endpoint=runtime.endpoint, pod_logs_dir=tmp_path)
    sandbox = sandbox_config(made, 0, settings, host=HOST)
    log = Path(sandbox.log_directory, "app", "0.log")
    log.parent.mkdir(parents=True)
    (tmp_path / "in").write_text("from a volume\n")
    (tmp_path / "message").touch()
    sandbox_id = await cri.run_sandbox(sandbox)
    pods.made.append(sandbox_id)
    image = await cri.image_status(BUSYBOX)
    config = container_config(
        made, made.containers[0], 0, image.id, settings, host=HOST, image=image,
        mounts=[mount("/data", str(tmp_path), readonly=True)], termination_log=str(tmp_path / "message"),
    )  # fmt: skip
    container_id = await cri.create_container(sandbox_id, config, sandbox)
    await cri.start_container(container_id)
    if runtime.name == "containerd":
        assert (await until_state(cri, container_id, pb.CONTAINER_EXITED)).exit_code == 3
        lines = _texts(log)
        assert lines == ["x $(A)", "0", "web", "search corp.test", "nameserver 192.0.2.53", "from a volume"]
        assert (tmp_path / "message").read_text() == "last\n"
    await _check_observed(cri, sandbox_id, container_id, made)


def _texts(log: Path) -> list[str]:
    """The lines of a CRI log without time, stream and tag."""
    return [line.split(" ", 3)[3] for line in log.read_text().splitlines()]


async def _check_observed(cri, sandbox_id, container_id, made):
    sandbox = (await cri.sandbox_status(sandbox_id)).status
    container = await cri.container_status(container_id)
    seen = observed(made.uid, made.namespace, made.name, 1.0, [sandbox], [(sandbox_id, container)])
    (box,), (one,) = seen.sandboxes, seen.containers
    assert (box.id, box.ready, box.host_network, len(box.ips)) == (sandbox_id, True, False, 1)
    assert (one.id, one.name, one.sandbox_id, one.attempt) == (container_id, "app", sandbox_id, 0)
    assert one.annotations["io.kubernetes.container.restartCount"] == "0"
    assert same_container(one.annotations, "app", BUSYBOX, one.image)
    assert not same_container(one.annotations, "app", "podherd.local/busybox:2", one.image)
