"""The page that streams a container's log."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from podherd.server import log_reader, pod_table
from podherd.server.facts import Facts
from podherd.server.log_files import attempts
from podherd.server.pod_pages import AskPod, find
from podherd.server.replies import BadRequestError, BusyError, NotFoundError
from podherd.wire.status import StatusChanged

STREAMS = 64
"""So many logs are followed at once; each holds one open file and at most a chunk."""

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
NOTE_HEADER = "X-Podherd-Note"

_KINDS = ("containers", "initContainers", "ephemeralContainers")

LogDir = Callable[[str, str, str], Path]
"""(namespace, name, uid) of a pod to the directory of its logs."""


class LogPage:
    """`/v1/logs/{namespace}/{name}` or `/v1/log?pod=WORD`, with container, tail, follow, previous."""

    def __init__(self, facts: Facts, ask_pod: AskPod, log_dir: LogDir, node_name: str) -> None:
        self._facts = facts
        self._ask_pod = ask_pod
        self._log_dir = log_dir
        self._node_name = node_name
        self._open = 0

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The log as the container wrote it. With `follow` it ends when that attempt of the container has stopped."""
        row = find(self._facts, request, self._node_name)
        answer = await self._ask_pod(row)
        container, note = choose(answer.get("pod") or {}, request.query.get("container", ""), row)
        directory = self._log_dir(row.namespace, row.name, row.uid) / container
        attempt = _attempt(directory, row, container, bool(request.query.get("previous")))
        if self._open >= STREAMS:
            raise BusyError("logs", f"{STREAMS} logs are being read", "end one of them and try again")

        def alive() -> bool:
            return not pod_table.is_over(self._facts.pods.row(row.uid), container, attempt)

        self._open += 1
        try:
            return await _stream(request, log_reader.LogReader(directory, attempt), alive, note)
        finally:
            self._open -= 1


async def _stream(
    request: web.Request, reader: log_reader.LogReader, alive: Callable[[], bool], note: str
) -> web.StreamResponse:
    tail, follow = _tail(request.query.get("tail", "")), bool(request.query.get("follow"))
    headers = {"Content-Type": "text/plain; charset=utf-8", **({NOTE_HEADER: note} if note else {})}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    async for piece in log_reader.stream(reader, tail, follow, alive):
        await response.write(piece)
    await response.write_eof()
    return response


def choose(pod: dict[str, Any], wanted: str, row: StatusChanged) -> tuple[str, str]:
    """The container to read, and a note when it was chosen for the user. NotFoundError names those there are."""
    names, regular = _names(pod.get("spec") or {}, ""), _names(pod.get("spec") or {}, "", ("containers",))
    if not names:
        status = pod_table.status_of(row)
        names, regular = _names(status, "Statuses"), _names(status, "Statuses", ("containers",))
    if wanted or not names:
        if wanted not in names:
            there_are = f"it has: {', '.join(names)}" if names else ""
            raise NotFoundError(f"container {wanted}", f"pod {row.name} has no such container", there_are)
        return wanted, ""
    default = ((pod.get("metadata") or {}).get("annotations") or {}).get(DEFAULT_CONTAINER, "")
    if default in names:
        return default, ""
    first = (regular or names)[0]
    return first, f'Defaulted container "{first}" out of: {", ".join(names)}' if len(names) > 1 else ""


def _names(lists: dict[str, Any], ending: str, kinds: tuple[str, ...] = _KINDS) -> list[str]:
    """Names in `initContainers`… of a spec, or with the ending `Statuses` in `initContainerStatuses`… of a status."""
    keys = [kind.removesuffix("s") + ending if ending else kind for kind in kinds]
    return [container["name"] for key in keys for container in lists.get(key) or ()]


def _attempt(directory: Path, row: StatusChanged, container: str, previous: bool) -> int:
    kept = attempts(directory)
    if previous and len(kept) < 2:
        reason = f'previous terminated container "{container}" in pod "{row.name}" not found'
        raise NotFoundError(f"container {container}", reason, "leave --previous out")
    if not kept:
        raise BadRequestError(f"container {container}", f"it has no log yet: {_waiting(row, container)}",
                              f"podherd describe pod {row.namespace}/{row.name}")  # fmt: skip
    return kept[-2] if previous else kept[-1]


def _waiting(row: StatusChanged, container: str) -> str:
    status = pod_table.status_of(row)
    for kind in ("containerStatuses", "initContainerStatuses"):
        for found in status.get(kind) or ():
            if found["name"] == container and (waiting := (found.get("state") or {}).get("waiting")):
                return f"waiting to start: {waiting.get('reason') or 'created'}"
    return f"the pod is {row.phase}"


def _tail(word: str) -> int | None:
    if not word:
        return None
    if not word.isdecimal():
        raise BadRequestError("tail", f"{word!r} is not a number of lines", "use 0 or more")
    return int(word)
