"""A namespace of a test's own in a cluster, with kubectl in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.kit.cluster import ControlPlane, KubectlError

GENTLY_S = 60


class Namespace:
    """kubectl with `--namespace`."""

    def __init__(self, cluster: ControlPlane, name: str) -> None:
        self.cluster = cluster
        self.name = name

    def kubectl(self, *args: str, stdin: str = "") -> str:
        """What kubectl prints. Raises KubectlError."""
        return self.cluster.kubectl("--namespace", self.name, *args, stdin=stdin)

    def apply(self, manifests: str) -> None:
        """`kubectl apply` of YAML or JSON documents that name no namespace."""
        self.kubectl("apply", "-f", "-", stdin=manifests)

    def get(self, *args: str) -> dict[str, Any]:
        """One object, or a list with `items`."""
        found: dict[str, Any] = json.loads(self.kubectl("get", *args, "-o", "json"))
        return found

    def pods(self, *selector: str) -> list[dict[str, Any]]:
        """The pods; selector: as `-l app=web`."""
        items: list[dict[str, Any]] = self.get("pods", *selector)["items"]
        return items

    def rolled_out(self, what: str, seconds: int = 120) -> None:
        """Return once a Deployment, DaemonSet or StatefulSet (`deployment/web`) is as wanted. Raises KubectlError."""
        self.kubectl("rollout", "status", what, f"--timeout={seconds}s")


@contextmanager
def own_namespace(cluster: ControlPlane, name: str) -> Iterator[Namespace]:
    """A fresh one, in which pods may be created; deleted at the end, by force when its pods do not go by themselves.

    A volume and a storage class of its name go with it.
    """
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "--namespace", name, "--timeout=30s")
    cluster.kubectl("wait", "--for=create", "configmap/kube-root-ca.crt", "--namespace", name, "--timeout=30s")
    fresh = Namespace(cluster, name)
    try:
        yield fresh
    finally:
        # Without pods nothing of it concerns the node: the controllers may take their time.
        patience = [f"--timeout={GENTLY_S}s"] if fresh.pods() else ["--wait=false"]
        try:
            cluster.kubectl("delete", "namespace", name, *patience)
        except KubectlError:
            fresh.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
            raise
        finally:
            cluster.kubectl("delete", "persistentvolumes,storageclasses", name, "--ignore-not-found", "--wait=false")
