"""The pages behind exec and attach: from a person's words to a container that runs, then the streams."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web

from podherd.cri.streams.remote import Wants, open_remote
from podherd.errors import CriError
from podherd.server.container_choice import NOTE_HEADER, choose, spec_of
from podherd.server.facts import Facts
from podherd.server.pod_pages import AskPod, body_of, find
from podherd.server.relay import relay
from podherd.server.replies import BadRequestError, BusyError, ConflictError

if TYPE_CHECKING:
    from cri_api.v1 import api_pb2 as pb

    from podherd.cri.client import Cri

STREAMS = 256
"""So many commands run at once; each holds two sockets and a few chunks of bytes."""
TTY_HEADER = "X-Podherd-Tty"
"""Whether the container's own process, which attach joins, has a terminal: 1 or 0."""
RUNNING = 1
"""CRI CONTAINER_RUNNING."""
ASK_S = 10.0
_STATES = ("created", "running", "exited", "in an unknown state")
_AWAY = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"})


class StreamPage:
    """`/v1/exec` and `/v1/attach` with pod, namespace, container, stdin, stdout, stderr, tty; exec with command too.

    runtime: the client of the runtime, asked for at the first request.
    """

    def __init__(self, facts: Facts, ask_pod: AskPod, runtime: Callable[[], "Cri"], node_name: str) -> None:
        self._facts = facts
        self._ask_pod = ask_pod
        self._runtime = runtime
        self._node_name = node_name
        self._open = 0

    async def exec(self, request: web.Request) -> web.StreamResponse:
        """Run a command in a container that runs."""
        command = request.query.getall("command", [])
        if not command:
            raise BadRequestError("exec", "no command is given", "podherd exec POD -- COMMAND")
        wants = _wants(request)
        with self._place():
            _, container, note = await self._container(request)
            url = await _told(self._runtime().exec_url(container.id, command, wants))
            return await relay(request, await open_remote(url, wants), {NOTE_HEADER: note} if note else {})

    async def attach(self, request: web.Request) -> web.StreamResponse:
        """Join the streams of a container's own process: its terminal if it has one, its stdin if it has one."""
        asked = _wants(request)
        with self._place():
            spec, container, note = await self._container(request)
            tty = bool(spec.get("tty"))
            stdin = asked.stdin and bool(spec.get("stdin"))
            if asked.stdin and not stdin:
                note = f"container {container.metadata.name} has no stdin: only its output is shown"
            wants = Wants(stdin=stdin, stdout=asked.stdout, stderr=asked.stderr and not tty, tty=tty)
            url = await _told(self._runtime().attach_url(container.id, wants))
            headers = {TTY_HEADER: str(int(tty)), **({NOTE_HEADER: note} if note else {})}
            return await relay(request, await open_remote(url, wants), headers)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._open >= STREAMS:
            raise BusyError("exec", f"{STREAMS} commands run already", "end one of them and try again")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _container(self, request: web.Request) -> "tuple[dict[str, Any], pb.Container, str]":
        """Its v1.Container, the runtime's running attempt of it, and a note for the person."""
        row = find(self._facts, request, self._node_name)
        pod = await body_of(self._ask_pod, row)
        name, note = choose(pod, request.query.get("container", ""), row)
        held = await _told(self._runtime().containers_named(row.uid, name, ASK_S))
        running = next((one for one in held if one.state == RUNNING), None)
        if running is None:
            state = f"is {_STATES[held[0].state]}" if held else "has not been created"
            mend = f"podherd describe pod {row.namespace}/{row.name}"
            raise ConflictError(f"container {name}", f"is not running: it {state}", mend)
        return spec_of(pod, name), running, note


def _wants(request: web.Request) -> Wants:
    """The streams asked for; a terminal has no stderr of its own (kubelet behaviour, section 12.3)."""
    on = {name: request.query.get(name, "") in ("1", "true") for name in ("stdin", "stdout", "stderr", "tty")}
    if not (on["stdin"] or on["stdout"] or on["stderr"]):
        raise BadRequestError("streams", "none is asked for", "ask for at least one of stdin, stdout, stderr")
    if not web.WebSocketResponse().can_prepare(request):  # told before anything is run
        raise BadRequestError("streams", "the request is not that of a WebSocket", "use podherd exec, podherd attach")
    return Wants(on["stdin"], on["stdout"], on["stderr"] and not on["tty"], on["tty"])


async def _told(call: Awaitable[Any]) -> Any:
    """What the runtime answers. Raises BusyError when it is away."""
    try:
        return await call
    except CriError as error:
        if error.code not in _AWAY:
            raise
        mend = "start it, for example: systemctl start containerd; `podherd doctor` asks it itself"
        raise BusyError("the container runtime", "does not answer", mend) from error
