"""A real Kubernetes control plane for tests: etcd, API server, controllers, scheduler, on loopback ports of their own.

A test run that was killed leaves its control plane behind; the next finds it by the dead pid in the directory's name.
"""

import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.kit import binaries
from tests.kit.certificates import LIFE, Authority, new_key
from tests.kit.ports import free_ports
from tests.kit.started import Started, end_leftovers

PREFIX = "podherd-cluster-"
PLACE = Path("/tmp")
READY_S = 60.0
LOOK_S = 0.05
ANSWER_S = 5.0
KUBECTL_S = 120.0
SERVICES = "10.0.0.0/16"
KUBECTL = Path(sys.executable).with_name("kubectl")
BOOTSTRAPPERS = "system:bootstrappers"
JOINING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "{role}"}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "{group}"}}]
"""
SIGNED = "system:certificates.k8s.io:certificatesigningrequests"
BINDINGS = (
    ("bootstrappers-ask", "system:node-bootstrapper", BOOTSTRAPPERS),
    ("bootstrappers-get", f"{SIGNED}:nodeclient", BOOTSTRAPPERS),
    ("nodes-renew", f"{SIGNED}:selfnodeclient", "system:nodes"),
)
TOKEN = """
apiVersion: v1
kind: Secret
metadata: {{name: "bootstrap-token-{id}", namespace: kube-system}}
type: bootstrap.kubernetes.io/token
stringData: {{token-id: "{id}", token-secret: "{secret}", usage-bootstrap-authentication: "true"}}
"""


class KubectlError(Exception):
    """kubectl failed; the text is what it wrote to stderr."""


class ControlPlane:
    """One that runs. `home` holds its certificates, kubeconfigs, data and logs (`etcd.log`, `kube-apiserver.log`…)."""

    def __init__(self, home: Path, *, controllers: bool = True) -> None:
        self.home = home
        self.controllers = controllers
        self.authority = Authority(home)
        new_key(home / "service-accounts.key")
        self._etcd_port, self._peer_port, self._port = free_ports(3)
        self.server = f"https://127.0.0.1:{self._port}"
        self._parts: dict[str, Started] = {}
        self.admin_kubeconfig = self.kubeconfig_for("admin", ["system:masters"])

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each program that was started, by its name."""
        return {name: part.pid for name, part in self._parts.items()}

    def start(self) -> None:
        """Run everything; returns when the API server is ready and, with controllers, pods may be created."""
        self.authority.server("server", ["127.0.0.1", "10.0.0.1"])
        self.authority.client("to-kubelets", "kube-apiserver-kubelet-client", ["system:masters"])
        self._run("etcd", self._etcd_flags())
        self.start_api()
        if self.controllers:
            self._run("kube-controller-manager", self._controller_flags())
            self._run("kube-scheduler", ["--leader-elect=false", "--secure-port=0", *self._as_admin()])
            self._wait(lambda: "default" in self.kubectl("get", "serviceaccounts", "-o", "name"), "service accounts")

    def stop(self) -> None:
        """End everything by SIGKILL: nothing here is kept."""
        for name in ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"):
            if name in self._parts:
                self._parts[name].end(signal.SIGKILL)

    def start_api(self) -> None:
        """Run the API server, on the port that it had before; returns when it is ready."""
        self._run("kube-apiserver", self._api_flags())
        self._wait(self.is_ready, "the API server")

    def stop_api(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the API server and wait for that; its port then refuses. SIGTERM drains watches first."""
        self._parts["kube-apiserver"].end(how)

    def pause_api(self) -> None:
        """SIGSTOP: connections stay open, and nothing answers."""
        self.signal("kube-apiserver", signal.SIGSTOP)

    def resume_api(self) -> None:
        """SIGCONT after `pause_api`."""
        self.signal("kube-apiserver", signal.SIGCONT)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one of the programs."""
        os.kill(self._parts[name].pid, number)

    def is_ready(self) -> bool:
        """Whether the API server says so."""
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        try:
            with urllib.request.urlopen(f"{self.server}/readyz", timeout=ANSWER_S, context=context) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kubeconfig_for(self, user: str, groups: Sequence[str] = (), life: timedelta = LIFE) -> Path:
        """A kubeconfig with a client certificate of this user, for `system:node:NAME` in group `system:nodes` also."""
        stem = user.replace(":", "-")
        certificate, key = self.authority.client(stem, user, groups, life)
        return self._kubeconfig(stem, {"client-certificate": str(certificate), "client-key": str(key)})

    def node_kubeconfig(self, node: str) -> Path:
        """The kubeconfig of a node's agent: what the Node authorizer and NodeRestriction know as this node."""
        return self.kubeconfig_for(f"system:node:{node}", ["system:nodes"])

    def token_kubeconfig(self, name: str, token: str) -> Path:
        """A kubeconfig with a bearer token."""
        return self._kubeconfig(name, {"token": token})

    def bootstrap_kubeconfig(self) -> Path:
        """One that may only ask for a node's client certificate; the controllers sign such requests by themselves."""
        ident, secret = secrets.token_hex(3), secrets.token_hex(8)
        parts = [JOINING.format(name=name, role=role, group=group) for name, role, group in BINDINGS]
        self.apply("---".join([TOKEN.format(id=ident, secret=secret), *parts]))
        return self.token_kubeconfig(f"bootstrap-{ident}", f"{ident}.{secret}")

    def kubectl(self, *args: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
        """What kubectl prints, as admin or as the owner of a kubeconfig. Raises KubectlError with what it says."""
        options = [f"--kubeconfig={kubeconfig or self.admin_kubeconfig}", f"--cache-dir={self.home / 'kubectl'}"]
        done = subprocess.run(
            [KUBECTL, *options, *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=KUBECTL_S,
            check=False,
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def apply(self, manifests: str) -> None:
        """`kubectl apply` of YAML or JSON documents."""
        self.kubectl("apply", "-f", "-", stdin=manifests)

    def get(self, *args: str) -> dict[str, Any]:
        """What `kubectl get … -o json` tells: one object, or a list with `items`."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *args, "-o", "json"))
        return found

    def log(self, name: str) -> str:
        """All that one of the programs printed."""
        return (self.home / f"{name}.log").read_text(errors="replace")

    def _run(self, name: str, flags: list[str]) -> None:
        program = binaries.path_of(name)
        if program is None:
            raise binaries.NoControlPlaneError(f"no {name}: run {binaries.SCRIPT}")
        self._parts[name] = Started.begin([str(program), *flags], self.home, name)

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + READY_S
        while not done():
            for name, part in self._parts.items():
                if (code := part.exit_code()) is not None:
                    last = self.log(name).strip().splitlines()[-5:]
                    raise RuntimeError(f"{name} ended by itself, exit code {code}: {last}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not there after {READY_S:.0f} s; the logs are in {self.home}")
            time.sleep(LOOK_S)

    def _kubeconfig(self, stem: str, user: dict[str, str]) -> Path:
        cluster = {"server": self.server, "certificate-authority": str(self.authority.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
            "current-context": "test",
        }
        file = self.home / f"{stem}.kubeconfig"
        file.touch(0o600)
        file.write_text(json.dumps(config, indent=1))
        return file

    def _etcd_flags(self) -> list[str]:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        return [
            f"--data-dir={self.home / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ]

    def _api_flags(self) -> list[str]:
        """A loopback address is refused by the default reconciler of the `kubernetes` Service's endpoints: none."""
        home, accounts = self.home, self.home / "service-accounts.key"
        # Without controllers nobody makes service accounts, and the plugin would refuse every pod.
        plugins = [] if self.controllers else ["--disable-admission-plugins=ServiceAccount"]
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={home / 'server.crt'}",
            f"--tls-private-key-file={home / 'server.key'}",
            f"--client-ca-file={self.authority.certificate}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            *plugins,
            "--enable-bootstrap-token-auth",
            f"--service-cluster-ip-range={SERVICES}",
            "--allow-privileged",
            f"--kubelet-client-certificate={home / 'to-kubelets.crt'}",
            f"--kubelet-client-key={home / 'to-kubelets.key'}",
            "--kubelet-preferred-address-types=InternalIP,Hostname",
        ]

    def _controller_flags(self) -> list[str]:
        return [
            *self._as_admin(),
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            f"--service-account-private-key-file={self.home / 'service-accounts.key'}",
            f"--root-ca-file={self.authority.certificate}",
            f"--cluster-signing-cert-file={self.authority.certificate}",
            f"--cluster-signing-key-file={self.authority.key}",
        ]

    def _as_admin(self) -> list[str]:
        return [f"--kubeconfig={self.admin_kubeconfig}"]


@contextmanager
def control_plane(name: str, *, controllers: bool = True) -> Iterator[ControlPlane]:
    """A control plane of this process's own; `name` tells several apart.

    controllers: with the controller manager and the scheduler; without them pods need a nodeName and get no service
    account. Raises NoControlPlaneError where the programs are not.
    """
    sweep()
    home = PLACE / f"{PREFIX}{os.getpid()}" / name
    home.mkdir(parents=True)
    running = ControlPlane(home, controllers=controllers)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        remove(home)


def remove(home: Path) -> None:
    """Delete it, and the owner's directory with the last one."""
    shutil.rmtree(home)
    if not os.listdir(home.parent):
        home.parent.rmdir()


def sweep() -> None:
    """Take away what earlier, killed test runs left."""
    for place in PLACE.glob(f"{PREFIX}*"):
        owner = place.name.removeprefix(PREFIX)
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for home in place.iterdir():
                end_leftovers(home)
                remove(home)
