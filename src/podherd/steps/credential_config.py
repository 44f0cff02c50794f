"""Which programs give out image credentials: a CredentialProviderConfig (kubelet behaviour, section 3.6)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podherd.errors import ConfigError, ManifestError
from podherd.model.docker_config import covers
from podherd.model.document import decode
from podherd.model.go_duration import seconds_of

CONFIG_KIND = "CredentialProviderConfig"
CONFIG_VERSIONS = tuple(f"kubelet.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
REQUEST_VERSIONS = tuple(f"credentialprovider.kubelet.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
CACHE_TYPES = ("ServiceAccount", "Token")
_MUST = "requireServiceAccount"
_KEYS = ("required", "optional")


@dataclass(frozen=True, slots=True)
class TokenUse:
    """What a program is told of the pod's service account (KEP-4412). required, optional: keys of its annotations.

    cache: `Token`, or `ServiceAccount` where an answer is good for all its pods. must: whether a pod without one is
    none of its business.
    """

    audience: str
    cache: str
    must: bool
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provider:
    """One program. cache_s: for answers that do not say how long they hold. env: beside the agent's own."""

    name: str
    match_images: tuple[str, ...]
    cache_s: float
    version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    tokens: TokenUse | None = None

    def knows(self, image: str) -> bool:
        """Whether it is to be asked about the image."""
        return any(covers(pattern, image) for pattern in self.match_images)


def load(path: Path) -> tuple[Provider, ...]:
    """The providers of the file, in their order. Raises ConfigError."""
    try:
        body = decode(path.read_bytes(), str(path), CONFIG_KIND)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    except ManifestError as error:
        raise ConfigError(str(path), error.reason, error.mend) from error
    if not isinstance(body, dict) or body.get("kind") != CONFIG_KIND or body.get("apiVersion") not in CONFIG_VERSIONS:
        raise ConfigError(str(path), f"is no {CONFIG_KIND} of {', '.join(CONFIG_VERSIONS)}")
    try:
        found = tuple(_provider(one) for one in body.get("providers") or ())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(str(path), f"providers: {error}") from error
    if not found:
        raise ConfigError(str(path), "at least 1 item in plugins is required")
    return found


def _provider(body: dict[str, Any]) -> Provider:
    """Raises KeyError, TypeError, ValueError, AttributeError."""
    name, version = body.get("name") or "", body.get("apiVersion") or ""
    if not name or "/" in name or " " in name or name in (".", ".."):
        raise ValueError(f"name {name!r} must be that of a program in the directory of plugins")
    if not body.get("matchImages"):
        raise ValueError(f"{name}: at least one image pattern is required in matchImages")
    if version not in REQUEST_VERSIONS:
        raise ValueError(f"{name}: apiVersion {version!r} must be one of {', '.join(REQUEST_VERSIONS)}")
    if not body.get("defaultCacheDuration"):
        raise ValueError(f"{name}: defaultCacheDuration is required")
    return Provider(
        name,
        tuple(body["matchImages"]),
        seconds_of(str(body["defaultCacheDuration"])),
        version,
        tuple(map(str, body.get("args") or ())),
        tuple((one["name"], one["value"]) for one in body.get("env") or ()),
        _tokens(name, version, body["tokenAttributes"]) if body.get("tokenAttributes") else None,
    )


def _tokens(name: str, version: str, body: dict[str, Any]) -> TokenUse:
    """Raises ValueError, AttributeError."""
    audience, cache, must = (body.get(field) for field in ("serviceAccountTokenAudience", "cacheType", _MUST))
    required, optional = (tuple(map(str, body.get(f"{kind}ServiceAccountAnnotationKeys") or ())) for kind in _KEYS)
    rules = {
        f"tokenAttributes need apiVersion {REQUEST_VERSIONS[0]}": version == REQUEST_VERSIONS[0],
        "serviceAccountTokenAudience is required": bool(audience),
        f"cacheType must be one of {', '.join(CACHE_TYPES)}": cache in CACHE_TYPES,
        f"{_MUST} must be true or false": isinstance(must, bool),
        f"requiredServiceAccountAnnotationKeys need {_MUST}: true": bool(must) or not required,
        "annotation keys cannot be both required and optional": not set(required) & set(optional),
    }
    for rule, holds in rules.items():
        if not holds:
            raise ValueError(f"{name}: {rule}")
    return TokenUse(str(audience), str(cache), bool(must), required, optional)
