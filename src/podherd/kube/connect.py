"""The client that the settings ask for."""

import os
from dataclasses import replace

from podherd.errors import ConfigError
from podherd.kube import kubeconfig
from podherd.kube.client import Client
from podherd.kube.config import CURRENT, Access, in_cluster
from podherd.model.settings import Settings


def connect(settings: Settings, qps: float, burst: int) -> Client:
    """One with a limit of its own; waits for no server. qps 0: no limit. To be called in a running loop.

    Raises ConfigError for a kubeconfig that cannot be used; one that bootstrap is yet to write may still be missing.
    """
    if settings.kubeconfig is None or settings.kubeconfig.exists() or settings.bootstrap_kubeconfig is None:
        access = access_of(settings)
        return Client(lambda: access, qps, burst)
    return Client(lambda: access_of(settings), qps, burst)


def keeps_certificate(settings: Settings) -> bool:
    """Whether `podherd.kube.rotation.run_rotation` has anything to do."""
    return settings.kubeconfig is not None and bool(settings.bootstrap_kubeconfig or settings.rotate_certificates)


def access_of(settings: Settings) -> Access:
    """Where the API server is and who asks, as the files say now. Raises ConfigError."""
    if settings.in_cluster:
        return in_cluster(os.environ)
    if settings.kubeconfig is None:
        raise ConfigError("API server", "none is configured", "give --kubeconfig or --in-cluster")
    access = kubeconfig.load(settings.kubeconfig)
    if not settings.rotate_certificates or access.user.certificate is None:
        return access
    return replace(access, user=replace(access.user, rotated=settings.pki_dir / CURRENT))
