"""Credentials to pull an image with, in order: the pod's, the node's files, plugins (kubelet behaviour, 3.6)."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from podherd.errors import PodherdError
from podherd.machines.objects.found import Lookup
from podherd.machines.objects.references import account, pull_secrets
from podherd.model.docker_config import Auth, Keyring, matching, of_json, of_legacy, of_secret
from podherd.model.pod import Body, Pod
from podherd.model.pull_record import PullAccount, PullSecret, Source, digest_of
from podherd.model.settings import Settings
from podherd.steps.credential_config import load
from podherd.steps.credential_plugins import Plugins
from podherd.steps.credential_tokens import CredentialError, bearer_of, takes_part, token_of
from podherd.wire.objects import Ref


class Given(NamedTuple):
    """auths: each to be tried until one works; none: pull without. missing: pull secrets that could not be had.

    failed: why plugins gave nothing. sources: of which of the pod's Secrets an auth is, or for which account's token.
    """

    auths: tuple[Auth, ...]
    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    sources: Mapping[Auth, Source] = MappingProxyType({})


class Credentials:
    """Of one shard. Files are read at each pull: they are small, and whoever changes them waits for nothing."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._plugins: Plugins | None = None

    async def for_image(self, image: str, pod: Pod, look: Lookup) -> Given:
        """What to try. Raises PodherdError for a secret, file or configuration that cannot be read."""
        found, missing = _of_pod(pod, look)
        own, node = _joined([ring for _, ring in found]), _of_node(self._settings.root_dir)
        plugins = self._plugins_once()
        more, failed = await plugins.rings(image, pod, look) if plugins is not None else ([], [])
        auths = matching([own, node, *(ring for ring, _ in more)], image)
        node_wide = frozenset(matching([node], image))
        by_account: dict[Auth, Source] = {
            auth: whose for ring, whose in reversed(more) if whose for auth in matching([ring], image)
        }
        sources = {auth: whose for auth, whose in by_account.items() if auth not in node_wide}
        return Given(auths, missing, tuple(failed), {**sources, **_sources(found, image)})

    def sources(self, image: str, pod: Pod, look: Lookup) -> tuple[Source, ...]:
        """By which of its own a pod may use an image that is there. Raises PodherdError."""
        secrets = tuple(_sources(_of_pod(pod, look)[0], image).values())
        return (*secrets, *self._accounts(image, pod, look))

    def _accounts(self, image: str, pod: Pod, look: Lookup) -> Iterator[PullAccount]:
        plugins = self._plugins_once()
        for use in plugins.token_uses([image]) if plugins is not None else ():
            try:
                bearer = bearer_of(use, pod, look)
            except CredentialError:
                continue
            if bearer is not None and bearer.account is not None:
                yield bearer.account

    def refs(self, pod: Pod, look: Lookup) -> tuple[Ref, ...]:
        """What plugins must be told of the pod's service account; a token only once it is known to take part.

        A configuration that is wrong a pull tells of.
        """
        if pod.source != "api":
            return ()
        try:
            plugins = self._plugins_once()
        except PodherdError:
            return ()
        uses = plugins.token_uses(_images(pod)) if plugins is not None else []
        if not uses:
            return ()
        robot = account(pod)
        return (robot, *(token_of(pod, use) for use in uses if takes_part(use, look(robot).mapping)))

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


def _images(pod: Pod) -> Iterator[str]:
    yield from (container.image for container in pod.every_container)
    for volume in pod.body["spec"].get("volumes") or ():
        if source := volume.get("image"):
            yield str(source.get("reference") or "")


_Found = list[tuple[Body, Keyring]]
"""Secrets, each with what it holds."""


def _of_pod(pod: Pod, look: Lookup) -> tuple[_Found, tuple[str, ...]]:
    """The pod's imagePullSecrets, as far as they are there, and the names of the others."""
    if pod.source != "api":
        return [], ()
    secrets: _Found = []
    missing: list[str] = []
    for ref in pull_secrets(pod):
        found = look(ref)
        if found.body is None:
            missing.append(ref.name)
        else:
            secrets.append((found.mapping, of_secret(found.mapping, f"secret {ref.namespace}/{ref.name}")))
    return secrets, tuple(missing)


def _sources(secrets: _Found, image: str) -> dict[Auth, PullSecret]:
    sources: dict[Auth, PullSecret] = {}
    for secret, ring in secrets:
        place = secret.get("metadata") or {}
        uid, namespace, name = (str(place.get(field) or "") for field in ("uid", "namespace", "name"))
        for auth in matching([ring], image):
            sources.setdefault(auth, PullSecret(uid, namespace, name, digest_of(auth)))
    return sources


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
