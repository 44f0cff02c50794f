"""A pod's row as kubectl prints it: READY, STATUS and RESTARTS from the v1.PodStatus; ages; columns of text. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

Row = dict[str, Any]
"""A row of the admin API: uid, namespace, name, source, phase, deleting, createdAt, status (v1.PodStatus), sidecars."""


@dataclass(frozen=True, slots=True)
class PodLine:
    """The cells of one pod."""

    namespace: str
    name: str
    ready: str
    status: str
    restarts: str
    age: str
    ip: str


def pod_line(row: Row, now: float) -> PodLine:
    """The cells of a row; `now` in seconds since the epoch."""
    status, sidecars = row["status"], row.get("sidecars") or ()
    inits, regular = status.get("initContainerStatuses") or [], status.get("containerStatuses") or []
    beside = [found for found in inits if found["name"] in sidecars]
    begun = _is_past_init(row)
    up = [found for found in _passed(inits, sidecars) if found["name"] in sidecars and found.get("ready")]
    if begun:
        up += [found for found in regular if found.get("ready") and "running" in _state(found)]
    return PodLine(
        namespace=row["namespace"],
        name=row["name"],
        ready=f"{len(up)}/{len(sidecars) + len(regular)}",
        status=status_word(row),
        restarts=_restarts([*beside, *regular] if begun else inits, now),
        age=age(now - row["createdAt"]) if row["createdAt"] else "<unknown>",
        ip=status.get("podIP") or "<none>",
    )


def status_word(row: Row) -> str:
    """kubectl's STATUS: the phase, unless a container, an init container or the deletion says more."""
    status = row["status"]
    word: str = status.get("reason") or row["phase"]
    if waits := _init_word(status.get("initContainerStatuses") or [], row.get("sidecars") or ()):
        word = waits
    if _is_past_init(row):
        word = _container_word(status.get("containerStatuses") or [], word, status)
    if row["deleting"] and row["phase"] not in ("Succeeded", "Failed"):
        return "Terminating"
    return word


def _is_past_init(row: Row) -> bool:
    """Whether the regular containers tell how the pod is."""
    inits = row["status"].get("initContainerStatuses") or []
    return initialised(row["status"]) or not _init_word(inits, row.get("sidecars") or ())


def initialised(status: Row) -> bool:
    """Whether the condition Initialized is true."""
    return _condition(status, "Initialized")


def _condition(status: Row, kind: str) -> bool:
    return any(found["type"] == kind and found["status"] == "True" for found in status.get("conditions") or ())


def _state(found: Row) -> Row:
    return found.get("state") or {}


def _is_through(found: Row, sidecars: Sequence[str]) -> bool:
    """Whether an init container has ended well, or is a sidecar that has started."""
    ended = _state(found).get("terminated")
    return bool(ended and ended.get("exitCode") == 0) or (found["name"] in sidecars and bool(found.get("started")))


def _passed(inits: Sequence[Row], sidecars: Sequence[str]) -> list[Row]:
    """Those before the first one that the others wait for."""
    return list(takewhile(lambda found: _is_through(found, sidecars), inits))


def _init_word(inits: Sequence[Row], sidecars: Sequence[str]) -> str:
    """What the first of them that is not through says; empty when all are."""
    done = len(_passed(inits, sidecars))
    if done == len(inits):
        return ""
    state = _state(inits[done])
    if ended := state.get("terminated"):
        return f"Init:{_ended_word(ended)}"
    reason = (state.get("waiting") or {}).get("reason")
    return f"Init:{reason}" if reason not in (None, "", "PodInitializing") else f"Init:{done}/{len(inits)}"


def _ended_word(ended: Row) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _container_word(statuses: Sequence[Row], word: str, status: Row) -> str:
    """The first container with something to say wins over those after it."""
    runs = False
    for found in reversed(statuses):
        state = _state(found)
        if reason := (state.get("waiting") or {}).get("reason"):
            word = reason
        elif ended := state.get("terminated"):
            word = _ended_word(ended)
        elif found.get("ready") and "running" in state:
            runs = True
    if word == "Completed" and runs:
        return "Running" if _condition(status, "Ready") else "NotReady"
    return word


def _restarts(statuses: Sequence[Row], now: float) -> str:
    count = sum(int(found.get("restartCount", 0)) for found in statuses)
    ends = [((found.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for found in statuses]
    times = [epoch(end) for end in ends if end]
    return f"{count} ({age(now - max(times))} ago)" if count and times else str(count)


def epoch(timestamp: str) -> float:
    """RFC 3339 in seconds since the epoch."""
    return datetime.fromisoformat(timestamp).timestamp()


def age(seconds: float) -> str:
    """A time span as kubectl writes it: two units at most, the second only while it matters."""
    if seconds < -1:
        return "<invalid>"
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 180:
        return f"{minutes}m" + _rest(whole % 60, "s", minutes < 10)
    if hours < 48:
        return f"{hours}h" + _rest(minutes % 60, "m", hours < 8)
    if days < 730:
        return f"{days}d" + _rest(hours % 24, "h", days < 8)
    return f"{days // 365}y" + _rest(days % 365, "d", days < 8 * 365)


def _rest(count: int, unit: str, matters: bool) -> str:
    return f"{count}{unit}" if count and matters else ""


def one_line(text: str) -> str:
    """Whatever a runtime or a program said, it cannot begin a line or move the cursor."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def columns(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Text columns, three spaces apart, each line ended by a newline and without spaces at its end."""
    cells = [tuple(headers), *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "".join(f"{line.rstrip()}\n" for line in lines)
