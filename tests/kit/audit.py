"""What a cluster's users saw of its pods: every version of every pod, from a watch, and what in that was wrong."""

import http.client
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.kit.api import Api, Refused
from tests.kit.cluster import ControlPlane

PODS = "/api/v1/pods"
WATCH_S = 5
"""How long a watch lives, and so how late the end is noticed; the next one goes on where it was."""
QUIET_S = 20.0
GONE = 410
AGAIN_S = 0.1
JOIN_S = 30.0
TERMINAL = frozenset({"Succeeded", "Failed"})
KINDS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
Pod = dict[str, Any]


@dataclass
class _Container:
    """What was seen of one container of one pod. ended: ids that were told terminated. ids: by restart count."""

    restarts: int = 0
    ended: set[str] = field(default_factory=set)
    ids: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass
class _Seen:
    """What was seen of one pod, by uid."""

    phase: str = ""
    gone: bool = False
    generation: int = 0
    containers: dict[str, _Container] = field(default_factory=lambda: defaultdict(_Container))


class Judge:
    """Reads versions of pods in their order, and notes each step that no pod may take."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._seen: dict[str, _Seen] = defaultdict(_Seen)

    @property
    def uids(self) -> set[str]:
        """Of every pod that was ever seen."""
        return set(self._seen)

    def read(self, kind: str, pod: Pod) -> None:
        """One version. kind: ADDED, MODIFIED or DELETED, as a watch says it; ADDED also for what a list shows."""
        meta, status = pod["metadata"], pod.get("status", {})
        name, seen = f"{meta['namespace']}/{meta['name']}", self._seen[meta["uid"]]
        if seen.gone:
            self._say(pod, f"{name} was told of after its deletion")
        seen.gone = kind == "DELETED"
        phase = status.get("phase", "")
        if seen.phase in TERMINAL and phase != seen.phase:
            self._say(pod, f"{name} went from {seen.phase} to {phase or 'no phase'}")
        if (generation := status.get("observedGeneration", 0)) < seen.generation:
            self._say(pod, f"{name}: observedGeneration went from {seen.generation} to {generation}")
        seen.phase, seen.generation = phase, generation
        for each in (one for part in KINDS for one in status.get(part) or ()):
            for wrong in _wrong(seen.containers[each["name"]], each):
                self._say(pod, f"{name}, container {each['name']}: {wrong}")

    def _say(self, pod: Pod, text: str) -> None:
        self.problems.append(f"{text} (version {pod['metadata'].get('resourceVersion')})")


def _wrong(seen: _Container, told: dict[str, Any]) -> Iterator[str]:
    """What one status of a container contradicts in those before it; they are brought up to date by it."""
    count, state = told.get("restartCount", 0), told.get("state") or {}
    if count < seen.restarts:
        yield f"restartCount went from {seen.restarts} to {count}"
    seen.restarts = count
    if "running" in state and (ident := told.get("containerID", "")):
        if ident in seen.ended:
            yield f"{ident} runs again after it was told terminated"
        yield from _twice(seen, count, ident)
    for part in (state, told.get("lastState") or {}):
        if ident := (part.get("terminated") or {}).get("containerID", ""):
            seen.ended.add(ident)
            if part is state:
                yield from _twice(seen, count, ident)


def _twice(seen: _Container, count: int, ident: str) -> Iterator[str]:
    """An id that ran under a restart count which another one had; told once for each."""
    known = seen.ids[count]
    if known and ident not in known:
        yield f"ran twice under restartCount {count}: {sorted(known | {ident})}"
    known.add(ident)


class Audit:
    """Follows all pods of a cluster in a thread of its own; an API server that is away is waited for.

    versions: all that was read, with the kind of each. gaps: how often the server had forgotten where we were, so that
    versions may be missing, as after its restart.
    """

    def __init__(self, cluster: ControlPlane) -> None:
        self.versions: list[tuple[str, Pod]] = []
        self.gaps = -1  # the first list is none
        self._cluster = cluster
        self._judge = Judge()
        self._present: dict[str, Pod] = {}
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._follow, name="audit", daemon=True)

    def begin(self) -> None:
        """Start; versions from now on are seen."""
        self._thread.start()

    def end(self) -> None:
        """Read on until everything up to now has been seen, if the server answers; then stop."""
        deadline = time.monotonic() + JOIN_S
        with suppress(OSError, http.client.HTTPException), Api(self._cluster) as api:
            now = _versions(api.request("GET", PODS)["items"])
            while not self._has_reached(now) and time.monotonic() < deadline:
                time.sleep(AGAIN_S)
        self._over.set()
        self._thread.join(JOIN_S)

    def problems(self) -> list[str]:
        """Each step back that was seen, in order."""
        with self._lock:
            return list(self._judge.problems)

    def uids(self) -> set[str]:
        """Of every pod that was ever seen."""
        with self._lock:
            return self._judge.uids

    def present(self) -> list[Pod]:
        """Each pod that there is, as last seen."""
        with self._lock:
            return list(self._present.values())

    def of(self, name: str, namespace: str = "default") -> list[Pod]:
        """All versions of the pods of one name, in order."""
        with self._lock:
            every = [pod for _, pod in self.versions]
        return [pod for pod in every if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (namespace, name)]

    def _has_reached(self, now: dict[str, int]) -> bool:
        with self._lock:
            seen = _versions(self._present.values())
        return seen.keys() <= now.keys() and all(seen.get(uid, 0) >= version for uid, version in now.items())

    def _follow(self) -> None:
        version = ""
        while not self._over.is_set():
            try:
                with Api(self._cluster, answer_s=QUIET_S) as api:
                    version = version or self._list(api)
                    for event in api.lines(f"{PODS}?watch=1&timeoutSeconds={WATCH_S}&resourceVersion={version}"):
                        version = self._take(event)
                        if not version or self._over.is_set():
                            break
            except Refused as refused:
                version = "" if refused.code == GONE else version
                self._over.wait(AGAIN_S)
            except (OSError, http.client.HTTPException, ValueError):
                self._over.wait(AGAIN_S)

    def _list(self, api: Api) -> str:
        """Read everything anew; what is not there any more was deleted unseen."""
        told = api.request("GET", PODS)
        pods = {pod["metadata"]["uid"]: pod for pod in told["items"]}
        for uid in self._present.keys() - pods.keys():
            self._read("DELETED", self._present[uid])
        for pod in pods.values():
            self._read("ADDED", pod)
        self.gaps += 1
        return str(told["metadata"]["resourceVersion"])

    def _take(self, event: dict[str, Any]) -> str:
        """The version to go on from; empty when the server has forgotten it."""
        if event["type"] == "ERROR":
            return ""
        self._read(event["type"], event["object"])
        return str(event["object"]["metadata"]["resourceVersion"])

    def _read(self, kind: str, pod: Pod) -> None:
        with self._lock:
            self.versions.append((kind, pod))
            self._judge.read(kind, pod)
            if kind == "DELETED":
                self._present.pop(pod["metadata"]["uid"], None)
            else:
                self._present[pod["metadata"]["uid"]] = pod


def _versions(pods: Iterable[Pod]) -> dict[str, int]:
    return {pod["metadata"]["uid"]: int(pod["metadata"]["resourceVersion"]) for pod in pods}


@contextmanager
def audited(cluster: ControlPlane) -> Iterator[Audit]:
    """An audit of what happens meanwhile; at the end everything has been read, and its `problems` can be asked."""
    audit = Audit(cluster)
    audit.begin()
    try:
        yield audit
    finally:
        audit.end()
