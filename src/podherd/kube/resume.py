"""What to ask next in order to miss nothing: the decisions of `follow`, without a clock, a network or a die.

A list without resourceVersion is the newest state, never older than what was told before; a watch goes on from the
resourceVersion of that list, of the last event or of the last bookmark. Only 410 makes a new list necessary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from podherd.errors import ApiError
from podherd.kube.answers import of_status
from podherd.kube.door import Dropped, Listed, News, Put, Query, Trouble

PAGE = 500
FIRST_S = 0.8
LONGEST_S = 30.0
JITTER = 0.5
"""How much longer than its base a delay may be."""
STEADY_S = 10.0
"""A watch that lasted so long was no failure however it ended."""
QUICK = 3
"""So many shorter ones in a row are none either, if each told of something."""
BAD_LINES = 2
"""After so many answers in a row that are no JSON, the list is fetched anew."""


@dataclass(frozen=True, slots=True)
class AskList:
    """GET this page."""

    query: Query


@dataclass(frozen=True, slots=True)
class AskWatch:
    """Watch with this."""

    query: Query


class Resume:
    """Where one follow stands. query: the selectors of both, list and watch."""

    def __init__(self, query: Query) -> None:
        self._query = dict(query)
        self._version = ""
        """Of the last thing that was told; empty: a list is needed."""
        self._items: list[dict[str, Any]] = []
        self._continue = ""
        self._whole = False
        self._failures = 0
        self._quick = 0
        self._expired = 0
        self._bad_lines = 0
        self._at_once = False
        self._least_s = 0.0
        self._troubled = False

    def ask(self) -> AskList | AskWatch:
        """The next request."""
        if self._version:
            resumed = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": self._version}
            return AskWatch({**self._query, **resumed})
        page = {} if self._whole else {"limit": str(PAGE)}
        return AskList({**self._query, **page, **({"continue": self._continue} if self._continue else {})})

    def delay_s(self, jitter: float) -> float:
        """How long to wait before the next request. jitter: from 0 up to 1, thrown by the caller."""
        if self._at_once or not self._failures:
            return 0.0
        base: float = min(FIRST_S * 2.0 ** min(self._failures - 1, 16), LONGEST_S / (1 + JITTER))
        return max(base * (1 + JITTER * jitter), self._least_s)

    def listed(self, page: Mapping[str, Any]) -> list[News]:
        """A page has come; the last one tells."""
        metadata = page.get("metadata") or {}
        self._at_once = False
        self._items += _named(page)
        self._continue = str(metadata.get("continue") or "")
        if self._continue:
            return []
        items, self._items = self._items, []
        self._version, self._whole = str(metadata.get("resourceVersion") or ""), False
        return [Listed(items)]

    def opened(self) -> list[News]:
        """The watch is accepted."""
        self._at_once = False
        if not self._troubled:
            return []
        self._troubled = False
        return [Trouble("")]

    def event(self, asked: str, told: Any) -> list[News]:
        """One line of a watch. Raises ApiError for the server's ERROR, and for what is no event."""
        kind, body = (told.get("type"), told.get("object")) if isinstance(told, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(body, dict):
            raise ApiError(asked, 0, "", "the watch told of something that is no event")
        if kind == "ERROR":
            raise of_status(asked, body)
        self._version = str((body.get("metadata") or {}).get("resourceVersion") or self._version)
        self._failures = self._expired = self._bad_lines = 0
        match kind:
            case "ADDED" | "MODIFIED":
                return [Put(body)]
            case "DELETED":
                return [Dropped(body)]
        return []

    def ended(self, lasted_s: float, told_any: bool) -> None:
        """The watch was closed or broken off, as happens from time to time. Soon after its start it is a failure."""
        steady = lasted_s >= STEADY_S
        self._quick = 0 if steady else self._quick + 1
        self._expired = 0 if steady else self._expired
        self._at_once = steady or (told_any and self._quick <= QUICK)
        self._failures = 0 if self._at_once else self._failures + 1
        self._least_s = 0.0

    def torn(self) -> list[News]:
        """A line was no JSON: go on from the last good one, and from a new list when that does not help."""
        self._bad_lines += 1
        if self._bad_lines >= BAD_LINES:
            self._forget()
        return self.failed(ApiError("", 0, "", "the watch told of something that is no JSON"))

    def failed(self, error: ApiError) -> list[News]:
        """A request failed, or a watch ended with this.

        The first 410 is no trouble, not even right after an outage: list anew, at once.
        """
        expired = error.status == HTTPStatus.GONE or error.code in ("Expired", "Gone") or _too_new(error)
        self._failures += 1
        self._expired += expired
        self._at_once = expired and self._expired == 1
        self._least_s = min(error.retry_after_s, LONGEST_S)
        if expired:
            # A list that has expired between two pages is fetched in one piece.
            self._whole = bool(self._continue)
            self._forget()
        if self._at_once or self._troubled:
            return []
        self._troubled = True
        return [Trouble(f"{error.thing}: {error.reason}" if error.thing else error.reason, error.status)]

    def _forget(self) -> None:
        self._version = self._continue = ""
        self._items = []


def _too_new(error: ApiError) -> bool:
    """The server is behind what it told before: its store was set back."""
    return error.status == HTTPStatus.GATEWAY_TIMEOUT and "Too large resource version" in error.reason


def _named(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items, with the apiVersion and kind that a list leaves out and a watch tells."""
    kind, version = str(page.get("kind") or "").removesuffix("List"), str(page.get("apiVersion") or "")
    return [{"apiVersion": version, "kind": kind, **item} for item in page.get("items") or ()]
