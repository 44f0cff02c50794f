"""The PLEG's table of what the runtime holds, compiled; rules and limits: `fallback/relist.py`, its oracle."""

from typing import final

from podherd.native.changes import Change

@final
class Table:
    """What the runtime held at the last relist. One owner; not for several threads."""

    def __init__(self) -> None: ...
    def relist(self, sandboxes: bytes, containers: bytes) -> list[Change]:
        """Take two undecoded replies (ListPodSandboxResponse, ListContainersResponse) and tell what changed.

        Sandboxes first, then containers; of each kind in the order of the reply, then the gone ones sorted by id.
        Raises TruncatedError for bytes that are no such reply; the table is then as it was before.
        """

    def pods(self) -> list[tuple[str, str, str]]:
        """(uid, namespace, name) of every pod that has an entry, sorted."""

    def states(self, uid: str) -> dict[str, str]:
        """State by id of one pod's sandboxes, then its containers, each sorted by id; empty for an unknown pod."""

    def forget(self, uid: str) -> None:
        """Drop one pod's entries: the next relist reports those that are still there as new."""

    def counts(self) -> tuple[int, int]:
        """How many sandboxes and how many containers the table holds."""

    def clear(self) -> None:
        """Forget everything, as a new table."""

    def __len__(self) -> int: ...
