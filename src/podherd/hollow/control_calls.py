"""podherd.hollow.v1.Control, the tests' and benchmarks' own door: JSON in, JSON out, on the CRI socket."""

import time
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import orjson

from podherd.hollow.door import Call, Door
from podherd.hollow.events import Broadcast
from podherd.hollow.faults import parse_fault
from podherd.hollow.node_calls import NodeCalls
from podherd.hollow.refusal import RefusedError
from podherd.hollow.runtime import Runtime
from podherd.hollow.script import Script, load, parse

SERVICE = "podherd.hollow.v1.Control"
Arguments = dict[str, Any]


class ControlCalls:
    """Each method of `table` takes the fields of one JSON object by name; one it does not know is INVALID_ARGUMENT."""

    def __init__(self, runtime: Runtime, door: Door, events: Broadcast, node: NodeCalls) -> None:
        self._runtime = runtime
        self._door = door
        self._events = events
        self._node = node
        self.restart: Callable[[float], None] = lambda _down_s: None
        """Set by the server: close the socket, come back after so many seconds with the same records."""

    def table(self) -> dict[str, Call]:
        """By the names of the service."""
        methods: dict[str, Callable[..., Any]] = {
            "Kill": self.kill,
            "Sandbox": self.sandbox,
            "Fault": self.fault,
            "ClearFaults": self.clear_faults,
            "Script": self.script,
            "Wipe": self.wipe,
            "Reboot": self._runtime.reboot,
            "Events": self.events,
            "Ready": self.ready,
            "Restart": self.restarted,
            "Stats": self.stats,
            "Journal": self.journal,
        }
        return {name: _json(name, method) for name, method in methods.items()}

    def kill(
        self,
        container_id: str = "",
        pod: str = "",
        container: str = "",
        exit_code: int = 137,
        reason: str = "",
        message: str = "",
    ) -> Arguments:
        """A container ends now. It is named by its id, or by its pod (`namespace/name`) and its name."""
        containers = self._runtime.containers
        found = containers.get(container_id) if container_id else self._runtime.find_container(pod, container)
        containers.exit(found, exit_code, reason, message)
        return {"container_id": found.id}

    def sandbox(self, pod: str, kill_containers: bool = False) -> Arguments:
        """A sandbox is not ready any more (its process died); the pod is `namespace/name` or a sandbox id."""
        found = self._runtime.find_sandbox(pod)
        self._runtime.sandboxes.lose(found)
        if kill_containers:
            for container in found.containers.values():
                self._runtime.containers.exit(container, 137)
        return {"sandbox_id": found.id}

    def fault(self, **fields: Any) -> Arguments:
        """Arm a fault (see faults.py); its id."""
        return {"id": self._door.faults.add(parse_fault("fault", fields))}

    def clear_faults(self, id: int | None = None) -> None:  # noqa: A002  # the JSON field's name
        """Disarm one fault or all; calls they hold go on."""
        self._door.faults.clear(id)
        self._door.release(id)

    def script(self, **fields: Any) -> None:
        """Follow these rules and images from now on instead of the file's; faults of the script are armed."""
        self._follow(parse("script", fields))

    def follow_file(self, path: Path) -> None:
        """Follow a script file. Raises ConfigError and changes nothing then."""
        self._follow(load(path))

    def _follow(self, script: Script) -> None:
        self._runtime.use(script)
        for fault in script.faults:
            self._door.faults.add(replace(fault))

    def wipe(self, images: bool = False) -> None:
        """Forget all sandboxes and containers, the images too if asked."""
        self._runtime.wipe()
        if images:
            self._runtime.images.clear()

    def events(self, on: bool) -> None:
        """Whether GetContainerEvents is there; off: open streams end and new ones are UNIMPLEMENTED."""
        self._events.on = on
        if not on:
            self._events.close_all()

    def ready(self, condition: str, ready: bool, reason: str = "", message: str = "") -> None:
        """Set the condition RuntimeReady or NetworkReady of Status."""
        if condition not in ("RuntimeReady", "NetworkReady"):
            raise RefusedError("INVALID_ARGUMENT", f"condition {condition!r} is neither RuntimeReady nor NetworkReady")
        self._node.set_ready(condition, ready, reason, message)

    def restarted(self, down_s: float = 0.0) -> None:
        """The runtime restarts: calls in flight break, the socket is away for `down_s`, the records stay."""
        self.restart(float(down_s))

    def stats(self) -> Arguments:
        """Calls, entries, waiting, events, CPU seconds of this process, names that ran twice at once."""
        ledger = self._runtime.ledger
        return self._door.tally.report() | {
            "sandboxes": len(ledger.sandboxes),
            "containers": len(ledger.containers),
            "images": len(self._runtime.images),
            "doubled": ledger.doubled,
            "journal_seq": ledger.journal.seq,
            "subscribers": self._events.subscribers,
            "events_sent": self._events.sent,
            "events_lost": self._events.lost_in_all,
            "cpu_s": time.process_time(),
        }

    def journal(self, since: int = 0) -> Arguments:
        """Entries after number `since`; `first` is the oldest number that is kept."""
        journal = self._runtime.ledger.journal
        return {"entries": journal.since(since), "seq": journal.seq, "first": journal.first}


def _json(name: str, method: Callable[..., Any]) -> Call:
    def call(request: bytes) -> bytes:
        try:
            fields = orjson.loads(request) if request else {}
        except orjson.JSONDecodeError as error:
            raise RefusedError("INVALID_ARGUMENT", f"{name}: not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise RefusedError("INVALID_ARGUMENT", f"{name}: not a JSON object")
        try:
            bound = signature(method).bind(**fields)
        except TypeError as error:
            raise RefusedError("INVALID_ARGUMENT", f"{name}: {error}") from error
        return orjson.dumps(method(*bound.args, **bound.kwargs))

    return call
