"""What a credential plugin is told of the service account of the pod whose image is pulled (KEP-4412)."""

import json
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from podherd.errors import PodherdError
from podherd.machines.objects import references
from podherd.machines.objects.found import Lookup
from podherd.model.pod import Pod
from podherd.model.pull_record import PullAccount
from podherd.steps.credential_config import TokenUse
from podherd.wire.objects import Ref


class CredentialError(PodherdError):
    """A program gave no credentials."""


class Bearer(NamedTuple):
    """account: None for a pod that has none, which is then asked for without a token. key: of what it is told apart by.

    token: never printed.
    """

    account: PullAccount | None = None
    token: str = ""
    annotations: Mapping[str, str] = MappingProxyType({})
    key: str = ""

    def __repr__(self) -> str:
        """Nothing that is secret."""
        return f"Bearer({self.account})"

    @property
    def request(self) -> dict[str, Any]:
        """Fields of a CredentialProviderRequest."""
        fields = {"serviceAccountToken": self.token, "serviceAccountAnnotations": dict(self.annotations)}
        return {name: value for name, value in fields.items() if value}


NOBODY = Bearer()


def token_of(pod: Pod, use: TokenUse) -> Ref:
    """The token that a program wants."""
    return references.token(pod, {"audience": use.audience})


def takes_part(use: TokenUse, account: Mapping[str, Any]) -> bool:
    """Whether the service account, which is known, has all the annotations that say that it wants this program."""
    metadata = account.get("metadata")
    return metadata is not None and not set(use.required) - set(metadata.get("annotations") or ())


def bearer_of(use: TokenUse, pod: Pod, look: Lookup) -> Bearer | None:
    """Whom to tell the program of; None: it is none of its business. Raises CredentialError."""
    if pod.source != "api":
        return None if use.must else NOBODY
    found = look(references.account(pod))
    if found.body is None:
        raise CredentialError(pod.name, f"failed to get service account: {found.problem}")
    if not takes_part(use, found.mapping):
        return None
    given = look(token_of(pod, use))
    if given.body is None:
        raise CredentialError(pod.name, f"failed to get service account token: {given.problem}")
    metadata = found.mapping["metadata"]
    has = metadata.get("annotations") or {}
    account = PullAccount(str(metadata.get("uid") or ""), pod.namespace, str(metadata.get("name") or ""))
    told = {key: str(has[key]) for key in (*use.required, *use.optional) if key in has}
    token = str(given.mapping.get("token") or "")
    return Bearer(account, token, told, _key(use, account, told, pod.uid, token))


def _key(use: TokenUse, account: PullAccount, told: Mapping[str, str], pod_uid: str, token: str) -> str:
    """Whose answers are good for whom: all pods of the account with these annotations, or this token alone."""
    words: list[Any] = [account, sorted(told.items())]
    if use.cache == "Token":
        words += [pod_uid, token]
    return sha256(json.dumps(words).encode()).hexdigest()
