"""Who may use an image that is there already (KEP-2535; kubelet behaviour, section 3.6). Pure.

A record says with which credentials an image was pulled on this node. It is a kubelet.config.k8s.io/v1beta1
ImagePulledRecord as decoded JSON, so that podherd and the kubelet can take over from each other.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from podherd.model.docker_config import Auth

VERSION = "kubelet.config.k8s.io/v1beta1"
RECORD_KIND = "ImagePulledRecord"
INTENT_KIND = "ImagePullIntent"
NEVER, PRELOADED, LISTED, ALWAYS = (
    "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify",
)  # fmt: skip
"""Values of imagePullCredentialsVerificationPolicy."""
LEARNED_MAX = 100
"""Secrets of one record beyond which no more are learned without a pull."""

Record = Mapping[str, Any]


class PullSecret(NamedTuple):
    """A Secret that has credentials for an image. digest: of these credentials."""

    uid: str
    namespace: str
    name: str
    digest: str


class PullAccount(NamedTuple):
    """A service account whose token a credential plugin took for an image's credentials."""

    uid: str
    namespace: str
    name: str


Source = PullSecret | PullAccount


class Admission(NamedTuple):
    """Whether a pod may use the image without a pull, and a secret of its that the record should have."""

    allowed: bool
    learned: PullSecret | None = None


def digest_of(auth: Auth) -> str:
    """SHA-256 of the JSON of name and password, as the kubelet computes it; a record never holds the password."""
    given = {"username": auth.username, "password": auth.password}
    text = json.dumps({key: value for key, value in given.items() if value}, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&":  # Go's encoder escapes them
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return sha256(text.encode()).hexdigest()


def trimmed(image: str) -> str:
    """The image as the pod names it, without tag and digest: what a record keeps its credentials by."""
    path, slash, last = image.partition("@")[0].rpartition("/")
    return path + slash + last.partition(":")[0]


def wants_proof(policy: str, allowlist: Iterable[str], image: str, pulled_here: bool) -> bool:
    """Whether credentials must be shown for an image that is there. pulled_here: by this node's agent, ever."""
    if policy == LISTED:
        name = trimmed(image)
        return not any(name.startswith(one[:-1]) if one.endswith("/*") else name == one for one in allowlist)
    return policy == ALWAYS or (policy == PRELOADED and pulled_here)


def is_pattern(pattern: str) -> bool:
    """Whether it can be one of preloadedImagesVerificationAllowlist: a name without tag, or a prefix with `/*`."""
    name = pattern.removesuffix("/*")
    return bool(name) and name == name.strip() and "*" not in name and (name != pattern or trimmed(name) == name)


def admission(record: Record | None, image: str, sources: Callable[[], Iterable[Source]]) -> Admission:
    """Whether a pod may use the image, of which the record tells; None: nothing is known.

    sources: of the pod's own credentials for this image; asked for where it depends on them.
    """
    known = _credentials(record, image)
    if known.get("nodePodsAccessible"):
        return Admission(True)
    kept, accounts = _secrets(known), _accounts(known)
    room = len(kept) < LEARNED_MAX
    for mine in sources() if kept or accounts else ():
        if isinstance(mine, PullAccount):
            if mine in accounts:
                return Admission(True)
            continue
        for one in kept:
            same_place = mine[:3] == one[:3]
            if mine.digest and mine.digest == one.digest:
                return Admission(True, mine if room and not same_place else None)
            if same_place and room:
                return Admission(True, mine)
    return Admission(False)


def with_credentials(record: Record | None, ref: str, image: str, source: Source | None, now: str) -> Record | None:
    """The record after a pull of `image` with credentials of this source, None: of none, so that every pod may.

    ref: the runtime's id of the image. now: RFC 3339. None when nothing changes.
    """
    known = _credentials(record, image)
    fresh: dict[str, Any]
    if source is None:
        fresh = {"nodePodsAccessible": True}
    elif isinstance(source, PullAccount):
        every = sorted({*_accounts(known), source}, key=_order)
        fresh = {**known, "kubernetesServiceAccounts": [one._asdict() for one in every]}
    else:
        places = {one[:3]: one for one in (*_secrets(known), source)}
        fresh = {**known, "kubernetesSecrets": [_told(places[key]) for key in sorted(places, key=_order)]}
    if known.get("nodePodsAccessible") or fresh == known:
        return None
    mapping = {**((record or {}).get("credentialMapping") or {}), trimmed(image): fresh}
    head = {"kind": RECORD_KIND, "apiVersion": VERSION, "lastUpdatedTime": now, "imageRef": ref}
    return {**head, "credentialMapping": mapping}


def _credentials(record: Record | None, image: str) -> Mapping[str, Any]:
    mapping = (record or {}).get("credentialMapping")
    known = mapping.get(trimmed(image)) if isinstance(mapping, Mapping) else None
    return known if isinstance(known, Mapping) else {}


def _secrets(known: Mapping[str, Any]) -> tuple[PullSecret, ...]:
    fields = ("uid", "namespace", "name", "credentialHash")
    return tuple(
        PullSecret(*(str(one.get(field) or "") for field in fields)) for one in known.get("kubernetesSecrets") or ()
    )


def _accounts(known: Mapping[str, Any]) -> tuple[PullAccount, ...]:
    given = known.get("kubernetesServiceAccounts") or ()
    return tuple(PullAccount(*(str(one.get(field) or "") for field in PullAccount._fields)) for one in given)


def _told(secret: PullSecret) -> dict[str, str]:
    return dict(zip(("uid", "namespace", "name", "credentialHash"), secret, strict=True))


def _order(place: tuple[str, ...]) -> tuple[str, ...]:
    uid, namespace, name = place
    return namespace, name, uid
