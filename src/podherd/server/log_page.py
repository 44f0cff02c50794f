"""The page that streams a container's log."""

import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from aiohttp import web

from podherd.cri.log_lines import Wanted, seconds
from podherd.server import log_reader, pod_table
from podherd.server.container_choice import NOTE_HEADER, choose
from podherd.server.facts import Facts
from podherd.server.log_files import attempts
from podherd.server.pod_pages import AskPod, body_of, find
from podherd.server.replies import BadRequestError, BusyError
from podherd.wire.status import StatusChanged

STREAMS = 64
"""So many logs are followed at once; each holds one open file and at most a chunk."""

LogDir = Callable[[str, str, str], Path]
"""(namespace, name, uid) of a pod to the directory of its logs."""


class LogPage:
    """`/v1/logs/{namespace}/{name}` or `/v1/log?pod=WORD`, with container, follow, previous, tail, timestamps,
    sinceSeconds or sinceTime, limitBytes (kubelet behaviour, section 12.3)."""

    def __init__(
        self,
        facts: Facts,
        ask_pod: AskPod,
        log_dir: LogDir,
        node_name: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._facts = facts
        self._ask_pod = ask_pod
        self._log_dir = log_dir
        self._node_name = node_name
        self._clock = clock
        self._open = 0

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The log as the container wrote it. With `follow` it ends when that attempt of the container has stopped."""
        row = find(self._facts, request, self._node_name)
        pod = await body_of(self._ask_pod, row)
        container, note = choose(pod, request.query.get("container", ""), row)
        directory = self._log_dir(row.namespace, row.name, row.uid) / container
        attempt = _attempt(directory, row, container, bool(request.query.get("previous")))
        if self._open >= STREAMS:
            raise BusyError("logs", f"{STREAMS} logs are being read", "end one of them and try again")

        def alive() -> bool:
            return not pod_table.is_over(self._facts.pods.row(row.uid), container, attempt)

        self._open += 1
        try:
            wanted = Wanted(_since(request, self._clock()), bool(request.query.get("timestamps")))
            return await _stream(request, log_reader.LogReader(directory, attempt, wanted), alive, note)
        finally:
            self._open -= 1


async def _stream(
    request: web.Request, reader: log_reader.LogReader, alive: Callable[[], bool], note: str
) -> web.StreamResponse:
    tail, left = _number(request, "tail"), _number(request, "limitBytes")
    headers = {"Content-Type": "text/plain; charset=utf-8", **({NOTE_HEADER: note} if note else {})}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    pieces = log_reader.stream(reader, tail, bool(request.query.get("follow")), alive)
    async with aclosing(pieces):
        async for piece in pieces:
            await response.write(piece if left is None else piece[:left])
            if left is not None and (left := left - len(piece)) <= 0:
                break
    await response.write_eof()
    return response


def _attempt(directory: Path, row: StatusChanged, container: str, previous: bool) -> int:
    """Which attempt to read. Raises BadRequestError with the kubelet's texts where there is none."""
    kept = attempts(directory)
    named = f'container "{container}" in pod "{row.name}"'
    if previous and len(kept) < 2:
        reason = f"previous terminated {named} not found"
        raise BadRequestError(f"container {container}", reason, "leave --previous out")
    if not kept:
        mend = f"podherd describe pod {row.namespace}/{row.name}"
        raise BadRequestError(f"container {container}", f"{named} {_no_log_yet(row, container)}", mend)
    return kept[-2] if previous else kept[-1]


_PULLS = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


def _no_log_yet(row: StatusChanged, container: str) -> str:
    """Why a container has no log, in the kubelet's words."""
    state = pod_table.state_of(row, container)
    if state is None:
        return "is not available"
    if "terminated" in state:
        return "is terminated"
    reason = (state.get("waiting") or {}).get("reason")
    return f"is waiting to start: {_PULLS.get(reason, reason)}" if reason else "is waiting to start - no logs yet"


def _since(request: web.Request, now: float) -> float:
    """From when on lines are wanted, in seconds since the epoch; 0 for all."""
    span_s, moment = _number(request, "sinceSeconds"), request.query.get("sinceTime", "")
    if span_s is not None and moment:
        raise BadRequestError("sinceTime", "at most one of sinceTime or sinceSeconds may be specified", "give one")
    if not moment:
        return 0.0 if span_s is None else now - span_s
    if (at := seconds(moment.encode())) == float("inf"):
        raise BadRequestError("sinceTime", f"{moment!r} is not a time", "write it as 2026-01-02T03:04:05Z")
    return at


def _number(request: web.Request, name: str) -> int | None:
    word = request.query.get(name, "")
    if not word:
        return None
    if not word.isdecimal():
        raise BadRequestError(name, f"{word!r} is not a number", "use 0 or more")
    return int(word)
