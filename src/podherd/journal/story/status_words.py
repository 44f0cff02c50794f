"""What a status says that the one before did not: phase, readiness, and why containers wait."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from podherd.machines.pod.instructions import Publish
from podherd.model.status import CONTAINER_CREATING, CRASH_LOOP_BACK_OFF, POD_INITIALIZING

LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_BEGINNING = (CONTAINER_CREATING, POD_INITIALIZING)
_DELAY = re.compile(r"back-off (\S+) restarting")
Status = Mapping[str, Any]


def news(before: Publish | None, now: Publish) -> Iterator[str]:
    """One text for each thing that is new."""
    old = before.status if before is not None else {}
    if now.deleting and not (before is not None and before.deleting):
        yield "Terminating"
    if (phase := now.status.get("phase", "")) != (was := old.get("phase", "")):
        why = _why(now.status)
        yield (f"{was} -> {phase}" if was else phase) + (f": {why}" if why else "")
    elif (why := _why(now.status)) and why != _why(old):
        yield why
    yield from _waiting(old, now.status)
    ready, was_ready = _ready(now.status), _ready(old)
    if ready != was_ready and (ready or was_ready):
        yield "ready" if ready else "not ready"


def _why(status: Status) -> str:
    return ": ".join(filter(None, (status.get("reason", ""), status.get("message", ""))))


def _waiting(old: Status, now: Status) -> Iterator[str]:
    before = dict(_waits(old))
    for name, text in _waits(now):
        if before.get(name) != text:
            yield text


def _waits(status: Status) -> Iterator[tuple[str, str]]:
    for container in (each for name in LISTS for each in status.get(name) or ()):
        waiting = (container.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") not in _BEGINNING:
            yield container["name"], f"{container['name']}: {_wait(container, waiting)}"


def _wait(container: Mapping[str, Any], waiting: Mapping[str, str]) -> str:
    """`restart in 20s: back-off after exit 1`, or the reason and what is said of it."""
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    delay = _DELAY.search(message)
    if reason == CRASH_LOOP_BACK_OFF and delay:
        ended = (container.get("lastState") or {}).get("terminated") or {}
        after = f" after exit {ended['exitCode']}" if "exitCode" in ended else ""
        return f"restart in {delay[1]}: back-off{after}"
    return f"waits: {reason}" + (f": {message}" if message else "")


def _ready(status: Status) -> bool:
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ())
