"""A pod's row as kubectl prints it: READY, STATUS and RESTARTS from the v1.PodStatus; ages; columns of text. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Row = dict[str, Any]
"""A row of the admin API: uid, namespace, name, source, phase, deleting, createdAt and status (v1.PodStatus)."""


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
    status = row["status"]
    inits, regular = status.get("initContainerStatuses") or [], status.get("containerStatuses") or []
    sidecars = [found for found in inits if _is_sidecar(found, status)]
    shown = [*sidecars, *regular] if initialised(status) or not _waits_for_init(inits) else inits
    ready = sum(1 for found in [*sidecars, *regular] if found.get("ready") and "running" in _state(found))
    return PodLine(
        namespace=row["namespace"],
        name=row["name"],
        ready=f"{ready}/{len(sidecars) + len(regular)}",
        status=status_word(row),
        restarts=_restarts(shown, now),
        age=age(now - row["createdAt"]) if row["createdAt"] else "<unknown>",
        ip=status.get("podIP") or "<none>",
    )


def status_word(row: Row) -> str:
    """kubectl's STATUS: the phase, unless a container, an init container or the deletion says more."""
    status = row["status"]
    inits = status.get("initContainerStatuses") or []
    word: str = status.get("reason") or row["phase"]
    waiting = _init_word(inits, status)
    if waiting and not initialised(status):
        word = waiting
    else:
        word = _container_word(status.get("containerStatuses") or [], word, status)
    if row["deleting"] and row["phase"] not in ("Succeeded", "Failed"):
        return "Terminating"
    return word


def initialised(status: Row) -> bool:
    """Whether the condition Initialized is true."""
    return _condition(status, "Initialized")


def _condition(status: Row, kind: str) -> bool:
    return any(found["type"] == kind and found["status"] == "True" for found in status.get("conditions") or ())


def _state(found: Row) -> Row:
    return found.get("state") or {}


def _is_sidecar(found: Row, status: Row) -> bool:
    """A status does not say it, but only a sidecar still runs once the pod is initialised."""
    return "running" in _state(found) and bool(found.get("started")) and initialised(status)


def _waits_for_init(inits: Sequence[Row]) -> bool:
    return any((_state(found).get("terminated") or {}).get("exitCode") != 0 for found in inits)


def _init_word(inits: Sequence[Row], status: Row) -> str:
    for done, found in enumerate(inits):
        state = _state(found)
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if (ended and ended.get("exitCode") == 0) or _is_sidecar(found, status):
            continue
        if ended:
            return f"Init:{_ended_word(ended)}"
        if waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{done}/{len(inits)}"
    return ""


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


def columns(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Text columns, three spaces apart, each line ended by a newline and without spaces at its end."""
    cells = [tuple(headers), *(tuple(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "".join(f"{line.rstrip()}\n" for line in lines)
