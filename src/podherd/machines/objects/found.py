"""What is known of a Ref at this moment, as whoever uses the object asks for it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from podherd.wire.objects import Ref

_SINGULAR = {"ConfigMap": "configmap", "Secret": "secret"}


class Found(NamedTuple):
    """body: the object as decoded JSON (Services: a list of them); None when it is not there.

    problem: why, in the kubelet's words. missing: the API server said that there is no such object.
    """

    body: Any = None
    problem: str = ""
    missing: bool = False

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The object; empty when it is not there."""
        return self.body if isinstance(self.body, Mapping) else {}


Lookup = Callable[[Ref], Found]
"""Answers at once from what was told."""


def nowhere(ref: Ref) -> Found:
    """A Lookup where no API server is served."""
    return Found(problem=f"a {ref.kind} reference needs an API server to read from")


def unknown(ref: Ref) -> Found:
    """Nothing was heard of it within the time given: the kubelet's words."""
    kind = _SINGULAR.get(ref.kind, ref.kind)
    return Found(problem=f"failed to sync {kind} cache: timed out waiting for the condition")
