"""Credentials of image registries as Docker writes them, and which of them an image needs (kubelet behaviour, 3.6)."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import orjson

from podherd.errors import PodherdError
from podherd.model.images import DEFAULT_REGISTRY, full_reference

_DEFAULT_KEY = "index.docker.io"
JSON_TYPE = "kubernetes.io/dockerconfigjson"
LEGACY_TYPE = "kubernetes.io/dockercfg"
_FORM = "unable to parse auth field, must be formatted as base64(username:password)"


class Auth(NamedTuple):
    """One name and password. Never printed."""

    username: str
    password: str

    def __repr__(self) -> str:
        """Nothing that is secret."""
        return "Auth()"


Keyring = Mapping[str, tuple[Auth, ...]]
"""Credentials by registry and path without a scheme: `*.reg.test:5000/team`."""


class DockerConfigError(PodherdError):
    """A docker config cannot be read."""


def of_secret(secret: Mapping[str, Any], thing: str) -> Keyring:
    """The credentials of a v1.Secret of one of Docker's two types; of another none. Raises DockerConfigError."""
    data = secret.get("data") or {}
    if secret.get("type") == JSON_TYPE and (text := data.get(".dockerconfigjson")):
        return of_json(b64decode(text), thing)
    if secret.get("type") == LEGACY_TYPE and (text := data.get(".dockercfg")):
        return of_legacy(b64decode(text), thing)
    return {}


def of_json(text: bytes, thing: str) -> Keyring:
    """A `config.json` or `.dockerconfigjson`. Raises DockerConfigError."""
    return keyring(_loaded(text, thing).get("auths") or {}, thing)


def of_legacy(text: bytes, thing: str) -> Keyring:
    """A `.dockercfg`: the entries without anything around them. Raises DockerConfigError."""
    return keyring(_loaded(text, thing), thing)


def keyring(entries: Mapping[str, Any], thing: str) -> Keyring:
    """Decoded entries by what they are for. Raises DockerConfigError."""
    found: dict[str, tuple[Auth, ...]] = {}
    for place, entry in entries.items():
        if (key := _key(place)) is not None:
            found[key] = (*found.get(key, ()), _auth(entry, thing))
    return found


def matching(rings: Iterable[Keyring], image: str) -> tuple[Auth, ...]:
    """What to try for the image, in this order, each once; of one keyring the entry of the longest path first."""
    repository = _repository(image)
    return tuple(dict.fromkeys(auth for ring in rings for auth in _of_ring(ring, repository)))


def covers(pattern: str, image: str) -> bool:
    """Whether credentials for `pattern`, which may hold `*` in its host and lacks a scheme, are good for the image."""
    return _matches(pattern, _repository(image))


def _loaded(text: bytes, thing: str) -> Mapping[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DockerConfigError(thing, f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise DockerConfigError(thing, "holds no object")
    return value


def _auth(entry: Any, thing: str) -> Auth:
    if not isinstance(entry, dict):
        raise DockerConfigError(thing, "holds an entry that is no object")
    if not (packed := entry.get("auth")):
        return Auth(str(entry.get("username") or ""), str(entry.get("password") or ""))
    try:
        text = b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode()
    except (Base64Error, ValueError, TypeError):
        raise DockerConfigError(thing, _FORM) from None
    username, colon, password = text.partition(":")
    if not colon:
        raise DockerConfigError(thing, _FORM)
    return Auth(username, password)


def _key(place: str) -> str | None:
    """Host and path; `/v1/` and `/v2/` in front mean the host alone. None for what is no address."""
    if not (parts := _split(place if place.startswith(("https://", "http://")) else f"https://{place}")):
        return None
    path = parts.path[3:] if parts.path.startswith(("/v1/", "/v2/")) else parts.path
    return parts.netloc if path in ("", "/") else parts.netloc + path


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _repository(image: str) -> str:
    """The image's full name without tag and digest."""
    path, slash, last = full_reference(image).partition("@")[0].rpartition("/")
    return path + slash + last.partition(":")[0]


def _of_ring(ring: Keyring, repository: str) -> tuple[Auth, ...]:
    found = tuple(auth for key in sorted(ring, reverse=True) if _matches(key, repository) for auth in ring[key])
    if found or repository.partition("/")[0] != DEFAULT_REGISTRY:
        return found
    return ring.get(_DEFAULT_KEY, ())


def _matches(pattern: str, repository: str) -> bool:
    """Host by host part, each of which may hold `*`; the same port; the path begins with the pattern's."""
    wanted, given = _split(f"https://{pattern}"), _split(f"https://{repository}")
    if wanted is None or given is None or not given.path.startswith(wanted.path):
        return False
    wanted_host, wanted_port = _host(wanted)
    given_host, given_port = _host(given)
    if wanted_port != given_port or len(wanted_host) != len(given_host):
        return False
    return all(fnmatchcase(part, glob) for part, glob in zip(given_host, wanted_host, strict=True))


def _host(parts: SplitResult) -> tuple[list[str], str]:
    host, _, port = parts.netloc.rpartition("@")[2].partition(":")
    return host.split("."), port
