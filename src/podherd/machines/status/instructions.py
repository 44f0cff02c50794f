"""What the status machine has its shell do. All but WakeAt are requests; each is answered by exactly one outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Strategic merge patch of the pod's `status` subresource; `patch` is whole, with metadata.uid."""

    namespace: str
    name: str
    uid: str
    patch: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete with grace 0 and this uid as precondition; `why` is for people."""

    namespace: str
    name: str
    uid: str
    why: str


@dataclass(frozen=True, slots=True)
class CreateMirror:
    """Create this v1.Pod."""

    namespace: str
    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Say Woke at this time; replaces an earlier one."""

    at: float


Request: TypeAlias = PatchStatus | DeletePod | CreateMirror
Instruction: TypeAlias = Request | WakeAt
