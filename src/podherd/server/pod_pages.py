"""Pages about pods: the list, one pod, events, problems, and the stream of changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from podherd.server import event_ring, pod_table
from podherd.server.facts import Facts
from podherd.server.replies import BadRequestError, BusyError, NotFoundError, reply
from podherd.server.watch import Change
from podherd.wire.status import PodForgotten, SourceProblem, StatusChanged

AskPod = Callable[[StatusChanged], Awaitable[dict[str, Any]]]
"""The owning shard's `{pod, status}` of a row. Raises NotFoundError, BusyError."""

ALIVE_S = 15.0
"""A silent watch gets a line this often, so that a reader that is gone is noticed."""


def find(facts: Facts, request: web.Request, node_name: str) -> StatusChanged:
    """The pod that the path or query means. Raises NotFoundError with near names, BadRequestError for several."""
    word, namespace = request.query.get("pod", ""), request.query.get("namespace", "")
    if "name" in request.match_info:
        word, namespace = request.match_info["name"], request.match_info["namespace"]
    found = pod_table.resolve(facts.pods, word, namespace, node_name)
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(f"{row.namespace}/{row.name}" for row in found)
        raise BadRequestError(f"pod {word}", f"several pods are meant: {keys}", "write NAMESPACE/NAME")
    near = f"near it: {', '.join(found.near)}" if found.near else "`podherd get pods` lists them"
    bad = len(facts.problems)
    more = f"; manifest problems: {bad}, `podherd doctor` says which" if bad else ""
    raise NotFoundError(f"pod {word}", "there is no such pod on this node", near + more)


async def body_of(ask_pod: AskPod, row: StatusChanged) -> dict[str, Any]:
    """The v1.Pod of a row; empty while its shard is away: what runs and what it wrote do not wait for it."""
    try:
        return (await ask_pod(row)).get("pod") or {}
    except (BusyError, NotFoundError):
        return {}


def _troubles(facts: Facts) -> dict[str, Any]:
    """What a reader of a list must know beside it: how many problems manifests have, why the node is not ready."""
    status = (facts.node() or {}).get("status") or {}
    not_ready = [found["message"] for found in status.get("conditions") or ()
                 if found["type"] == "Ready" and found["status"] != "True"]  # fmt: skip
    return {"problems": len(facts.problems), "notReady": not_ready[0] if not_ready else ""}


class PodPages:
    """Handlers over the facts and the shards' answers."""

    def __init__(self, facts: Facts, ask_pod: AskPod, node_name: str) -> None:
        self._facts = facts
        self._ask_pod = ask_pod
        self._node_name = node_name

    async def list(self, request: web.Request) -> web.Response:
        """`/v1/pods[?namespace=N][&full=1]`: rows without specs, or with `full` v1.Pods as the shards hold them."""
        namespace = request.query.get("namespace", "")
        rows = [row for row in self._facts.pods.rows() if namespace in ("", row.namespace)]
        if not request.query.get("full"):
            items = [pod_table.as_json(row) for row in rows]
            return reply({"nodeName": self._node_name, **_troubles(self._facts), "items": items})
        answers = await asyncio.gather(*(self._ask_pod(row) for row in rows), return_exceptions=True)
        return reply({"items": [_whole(row, answer) for row, answer in zip(rows, answers, strict=True)
                                if not isinstance(answer, NotFoundError)]})  # fmt: skip

    async def summary(self, _request: web.Request) -> web.Response:
        """`/v1/summary`: counts alone, the same cost for any number of pods."""
        return reply({"pods": len(self._facts.pods), "phases": self._facts.pods.phases()})

    async def one(self, request: web.Request) -> web.Response:
        """`/v1/pods/{namespace}/{name}` or `/v1/pod?pod=WORD`: the v1.Pod, its row, its events and its cause."""
        row = find(self._facts, request, self._node_name)
        answer = await self._ask_pod(row)
        events = [event_ring.as_json(counted) for counted in self._facts.events.of(uid=row.uid)]
        pod, cause = _whole(row, answer), answer.get("cause", "")
        return reply({"pod": pod, "row": pod_table.as_json(row), "events": events, "cause": cause})

    async def events(self, request: web.Request) -> web.Response:
        """`/v1/events[?namespace=N][&name=N][&uid=U]`."""
        words = {key: request.query.get(key, "") for key in ("namespace", "name", "uid")}
        return reply({"items": [event_ring.as_json(counted) for counted in self._facts.events.of(**words)]})

    async def problems(self, _request: web.Request) -> web.Response:
        """`/v1/problems`: manifests that cannot be used."""
        return reply({"items": [_problem(problem) for problem in self._facts.problems.values()]})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """`/v1/watch`: a JSON line for every pod and problem, one `synced` line, then a line for each change."""
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        with self._facts.hub.watcher() as watcher:
            known: tuple[Change, ...] = (*self._facts.pods.rows(), *self._facts.problems.values())
            for change in known:
                await response.write(_line(change))
            await response.write(b'{"type":"synced"}\n')
            while True:
                try:
                    async with asyncio.timeout(ALIVE_S):
                        changes = await watcher.take()
                except TimeoutError:
                    await response.write(b'{"type":"alive"}\n')
                    continue
                for change in changes:
                    await response.write(_line(change))


def _whole(row: StatusChanged, answer: Any) -> dict[str, Any]:
    """A v1.Pod out of a shard's answer; with none, what the row tells."""
    if isinstance(answer, BaseException):
        if not isinstance(answer, Exception):
            raise answer
        answer = {}
    known = {"metadata": {"name": row.name, "namespace": row.namespace, "uid": row.uid}}
    pod = {"apiVersion": "v1", "kind": "Pod", **(answer.get("pod") or known)}
    return {**pod, "status": answer.get("status") or pod_table.status_of(row)}


def _problem(problem: SourceProblem) -> dict[str, Any]:
    return {"thing": problem.thing, "problem": problem.problem, "at": problem.at}


def _line(change: Change) -> bytes:
    match change:
        case StatusChanged():
            value = {"type": "pod", "row": pod_table.as_json(change)}
        case PodForgotten():
            value = {"type": "gone", "uid": change.uid, "namespace": change.namespace, "name": change.name}
        case SourceProblem():
            value = {"type": "problem", **_problem(change)}
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
