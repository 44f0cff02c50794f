"""What can be asked of an API server. `podherd.kube.connect.connect` opens the real one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Body = Mapping[str, Any]
"""An API object as decoded JSON."""
Query = Mapping[str, str]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Listed:
    """A full list: the objects there are, in place of all that was told before."""

    items: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Put:
    """An object is new or has changed."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dropped:
    """An object is gone; `body` is its last state."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The server cannot be asked or refuses; what was told stands. An empty reason: it answers again."""

    reason: str
    status: int = 0


News = Listed | Put | Dropped | Trouble


class Api(Protocol):
    """One client of one server. Paths begin with `/api` or `/apis`. Every method but `follow` raises ApiError.

    Requests wait for their turn under the client's QPS; 429 and 5xx with Retry-After are retried a few times inside.
    """

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        """One object or list."""

    async def create(self, path: str, body: Body, query: Query | None = None) -> dict[str, Any]:
        """POST; the object as it was made."""

    async def replace(self, path: str, body: Body) -> dict[str, Any]:
        """PUT; a stale resourceVersion is ApiError 409 `Conflict`."""

    async def patch(self, path: str, body: Body, kind: str = STRATEGIC) -> dict[str, Any]:
        """PATCH with this content type; the object as it stands then."""

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:
        """DELETE, with a UID precondition unless `uid` is empty. 404 is no error: it is gone."""

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:
        """List, then watch, for ever: resumes by resourceVersion, lists anew after 410, backs off with jitter.

        Returns only by cancellation. `told` is called in this loop and must not block.
        """

    async def close(self) -> None:
        """Break off everything and close the connections."""
