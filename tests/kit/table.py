"""The table of manifests with their expected end states (tests/node/table/*.yaml), and what an agent made of them.

An entry: `name`; `spec` and `metadata` of a pod, whose containers may say `run` (a shell script; `$SLEEP` waits for
SIGTERM) and `mounts` (path to volume) for short; what is expected: `phase`, `reason`, `ready`, `qos`, `states`, `last`
(`running`, `waiting REASON`, `terminated REASON CODE`; each a regular expression), `restarts` (a number, or `at least
N`), `message`, `log` (one expression a line), `event` (its reason). `hollow`: the marks by which the hollow runtime
acts alike; an entry without them is for real containers alone. `hollow-states`, `hollow-phase`: where that differs.
"""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from podherd.agent.provision import BUSYBOX

TABLE = Path(__file__).parents[1] / "node" / "table"
SLEEP = "{ trap 'exit 0' TERM; while :; do sleep 0.2; done; }"
INSIDE = ("log", "message", "event", "last", "restarts", "host-ip")
"""What only real containers show, or show at a time of their own."""
KEYS = {
    "name", "metadata", "spec", "hollow", "hollow-states", "hollow-phase", "phase", "reason", "ready", "qos", "states",
    *INSIDE,
}  # fmt: skip
Entry = dict[str, Any]


def entries(hollow: bool = False) -> list[Entry]:
    """The whole table, or the part of it that the hollow runtime can play."""
    found = [entry for path in sorted(TABLE.glob("*.yaml")) for entry in yaml.safe_load(path.read_text())]
    assert all(entry.keys() <= KEYS for entry in found), "an entry says something that nobody looks at"
    return [_as_played(entry) for entry in found if "hollow" in entry] if hollow else found


def _as_played(entry: Entry) -> Entry:
    played = {key: value for key, value in entry.items() if key not in INSIDE}
    return played | {key: entry[f"hollow-{key}"] for key in ("states", "phase") if f"hollow-{key}" in entry}


def manifest(entry: Entry, root: Path) -> str:
    """The pod of one entry. root: what `$ROOT` stands for."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {**entry.get("metadata", {}), "name": entry["name"]}}
    spec = copy.deepcopy(entry["spec"])
    spec.setdefault("terminationGracePeriodSeconds", 2)
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        _spell_out(container)
    marks = {f"hollow.podherd.io/{key}": value for key, value in entry.get("hollow", {}).items()}
    body["metadata"]["annotations"] = body["metadata"].get("annotations", {}) | marks
    return yaml.safe_dump({**body, "spec": spec}).replace("$ROOT", str(root))


def _spell_out(container: dict[str, Any]) -> None:
    container.setdefault("image", BUSYBOX)
    if script := container.pop("run", None):
        container["command"] = ["/bin/sh", "-c", script.replace("$SLEEP", SLEEP).replace("$", "$$")]
    if mounts := container.pop("mounts", None):
        container["volumeMounts"] = [{"name": name, "mountPath": path} for path, name in mounts.items()]


class Found:
    """One pod as the agent tells of it, and what its containers wrote."""

    def __init__(self, told: dict[str, Any] | None, logs: Path) -> None:
        self.told = told or {}
        self.pod: dict[str, Any] = self.told.get("pod") or {}
        self.status: dict[str, Any] = self.pod.get("status") or {}
        self._logs = logs

    def container(self, name: str) -> dict[str, Any]:
        """The status of a container of any kind; empty when there is none."""
        kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        every = (one for kind in kinds for one in self.status.get(kind, ()))
        return next((one for one in every if one["name"] == name), {})

    def log(self, name: str) -> list[str]:
        """The lines of its newest log."""
        if (metadata := self.pod.get("metadata")) is None:
            return []
        place = self._logs / "_".join(metadata[key] for key in ("namespace", "name", "uid")) / name
        files = sorted(place.glob("*.log"), key=lambda path: int(path.stem)) if place.exists() else []
        return [line.split(" ", 3)[3] for line in files[-1].read_text().splitlines()] if files else []


def differences(entry: Entry, found: Found) -> Iterator[str]:
    """Where the pod is not as its entry says; nothing when it is."""
    yield from _pod(entry, found)
    for key, read in _OF_CONTAINERS.items():
        for name, wanted in entry.get(key, {}).items():
            if trouble := read(wanted, found, name):
                yield f"{key} of {name}: {trouble}"


def _pod(entry: Entry, found: Found) -> Iterator[str]:
    status = found.status
    plain = {"phase": status.get("phase"), "reason": status.get("reason"), "qos": status.get("qosClass")}
    for key, value in plain.items():
        if key in entry and value != entry[key]:
            yield f"{key} {value!r}, not {entry[key]!r}"
    if "ready" in entry and (_condition(status, "Ready") == "True") is not entry["ready"]:
        yield f"Ready is {_condition(status, 'Ready')}"
    if "host-ip" in entry and (not status.get("podIP") or status.get("podIP") != status.get("hostIP")):
        yield f"podIP {status.get('podIP')}, hostIP {status.get('hostIP')}"
    reasons = {event["reason"] for event in found.told.get("events", ())}
    if "event" in entry and entry["event"] not in reasons:
        yield f"no event {entry['event']} among {sorted(reasons)}"


def _condition(status: dict[str, Any], kind: str) -> str:
    return next((each["status"] for each in status.get("conditions", ()) if each["type"] == kind), "absent")


def _spelled(state: dict[str, Any]) -> str:
    if ended := state.get("terminated"):
        return f"terminated {ended.get('reason')} {ended.get('exitCode')}"
    if waits := state.get("waiting"):
        return f"waiting {waits.get('reason')}"
    return next(iter(state), "nothing")


def _unlike(wanted: str, got: str) -> str:
    return "" if re.fullmatch(wanted, got, re.DOTALL) else f"{got!r}, not {wanted!r}"


def _restarts(wanted: int | str, found: Found, name: str) -> str:
    count = found.container(name).get("restartCount", -1)
    right = count == wanted if isinstance(wanted, int) else count >= int(wanted.removeprefix("at least "))
    return "" if right else f"{count}, not {wanted}"


def _message(wanted: str, found: Found, name: str) -> str:
    state = found.container(name).get("state", {})
    return _unlike(wanted, next((each.get("message", "") for each in state.values()), ""))


def _log(wanted: list[str], found: Found, name: str) -> str:
    lines = found.log(name)
    alike = len(lines) == len(wanted) and all(map(re.fullmatch, wanted, lines))
    return "" if alike else f"{lines}, not {wanted}"


_OF_CONTAINERS = {
    "states": lambda wanted, found, name: _unlike(wanted, _spelled(found.container(name).get("state", {}))),
    "last": lambda wanted, found, name: _unlike(wanted, _spelled(found.container(name).get("lastState", {}))),
    "restarts": _restarts,
    "message": _message,
    "log": _log,
}
