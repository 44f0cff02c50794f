"""Credentials to pull an image with, in order: the pod's, the node's files, plugins (kubelet behaviour, 3.6)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from podherd.errors import PodherdError
from podherd.machines.objects.found import Lookup
from podherd.machines.objects.references import pull_secrets
from podherd.model.docker_config import Auth, Keyring, matching, of_json, of_legacy, of_secret
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.steps.credential_config import load
from podherd.steps.credential_plugins import Plugins


class Given(NamedTuple):
    """auths: each to be tried until one works; none: pull without. missing: pull secrets that could not be had.

    failed: why plugins gave nothing.
    """

    auths: tuple[Auth, ...]
    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class Credentials:
    """Of one shard. Files are read at each pull: they are small, and whoever changes them waits for nothing."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._plugins: Plugins | None = None

    async def for_image(self, image: str, pod: Pod, look: Lookup) -> Given:
        """What to try. Raises PodherdError for a secret, file or configuration that cannot be read."""
        rings, missing = _of_pod(pod, look)
        rings.append(_of_node(self._settings.root_dir))
        plugins = self._plugins_once()
        more, failed = await plugins.rings(image) if plugins is not None else ([], [])
        return Given(matching([*rings, *more], image), missing, tuple(failed))

    def _plugins_once(self) -> Plugins | None:
        settings = self._settings
        if settings.credential_config is None or settings.credential_bin_dir is None:
            return None
        if self._plugins is None:
            self._plugins = Plugins(load(settings.credential_config), settings.credential_bin_dir, self._clock)
        return self._plugins

    async def close(self) -> None:
        """End the plugins that still run."""
        if self._plugins is not None:
            await self._plugins.close()


def _of_pod(pod: Pod, look: Lookup) -> tuple[list[Keyring], tuple[str, ...]]:
    """Of the pod's imagePullSecrets, as far as they are there, and the names of the others."""
    if pod.source != "api":
        return [], ()
    rings: list[Keyring] = []
    missing: list[str] = []
    for ref in pull_secrets(pod):
        found = look(ref)
        if found.body is None:
            missing.append(ref.name)
        else:
            rings.append(of_secret(found.mapping, f"secret {ref.namespace}/{ref.name}"))
    return [_joined(rings)] if rings else [], tuple(missing)


def _joined(rings: list[Keyring]) -> Keyring:
    """One keyring of several: for one registry the earlier secret's credentials come first."""
    joined: dict[str, tuple[Auth, ...]] = {}
    for ring in rings:
        for key, auths in ring.items():
            joined[key] = (*joined.get(key, ()), *auths)
    return joined


def _of_node(root_dir: Path) -> Keyring:
    """The first file of the node's that there is and that can be read; Docker's own form first."""
    home = Path(os.environ.get("HOME") or "/")
    places = (root_dir, Path(), home / ".docker", Path("/.docker"))
    for place in places:
        if (ring := _read(place / "config.json", of_json)) is not None:
            return ring
    for place in (root_dir, Path(), home, Path("/")):
        if (ring := _read(place / ".dockercfg", of_legacy)) is not None:
            return ring
    return {}


def _read(path: Path, parse: Callable[[bytes, str], Keyring]) -> Keyring | None:
    try:
        return parse(path.read_bytes(), str(path))
    except (OSError, PodherdError):
        return None
