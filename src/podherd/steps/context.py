"""What a step works with: the plan, the tools, and what the steps before it did."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar, cast

from cri_api.v1 import api_pb2 as pb

from podherd.cri.client import Cri
from podherd.cri.convert import Host
from podherd.machines.pod.events import StepFailed, StepResult
from podherd.machines.pod.instructions import Plan, Sync
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.steps.credentials import Credentials
from podherd.steps.deeds import Note, NotedCri, noted, unnoted
from podherd.steps.known_objects import KnownObjects
from podherd.steps.pulls import Pulls
from podherd.volumes.ready import Ready
from podherd.wire.node import NodeFacts
from podherd.wire.status import PodEvent

T = TypeVar("T")

FINISH_S = 2.0
"""How long a cancelled sync waits for the CRI call in flight, so that its outcome is known and not guessed."""


@dataclass(slots=True)
class Tools:
    """What all syncs of one shard share. files: the threads for file work that may take long."""

    cri: Cri
    settings: Settings
    pulls: Pulls
    files: Executor
    clock: Callable[[], float]
    record: Callable[[PodEvent], None]
    unexpected: Callable[[str, Exception], None]
    """Told of an exception that is no PodherdError: a fault of ours, worth a traceback in the log."""
    cgroup_driver: str
    host: Callable[[], Host]
    note: Note = unnoted
    """Told of each CRI call that changes something."""
    node: NodeFacts | None = None
    """What the node actor last told of the node; None before its first word."""
    credentials: Credentials = field(init=False)
    """Of image registries; made here, since they hang on settings alone."""
    objects: KnownObjects | None = None
    """None where no API server is served."""

    def __post_init__(self) -> None:
        """Files and plugins are first looked at by a pull."""
        self.credentials = Credentials(self.settings, self.clock)
        if self.objects is not None:
            self.objects.also = self.credentials.refs


class Step(Protocol):
    """One thing done for a pod. `do` returns at once when the plan has nothing for it."""

    name: str

    async def do(self, context: "Context") -> None:
        """Perform; outcomes go to `context.add` and `context.fail` as they happen, so that a cancel loses none."""


class Context:
    """One sync on its way through the steps.

    sandbox_id, sandbox_attempt, pod_ips: set by the sandbox step. volumes: made ready, by name. hosts_path: the
    hosts file once written. userns: the mapping of a pod with its own users. did: whether a CRI call that changes
    something was tried. halted: the steps that follow must not run.
    """

    def __init__(self, sync: Sync, tools: Tools) -> None:
        self.sync = sync
        self.plan: Plan = sync.plan
        self.tools = tools
        self.settings = tools.settings
        self.cri = tools.cri if tools.note is unnoted else cast(Cri, NotedCri(tools.cri, sync, tools.note, tools.clock))
        self.sandbox_id = sync.plan.sandbox_id
        self.sandbox_attempt = sync.plan.make_sandbox or 0
        self.sandbox_config: pb.PodSandboxConfig | None = None
        self.pod_ips: tuple[str, ...] = ()
        self.userns: pb.UserNamespace | None = None
        self.cgroup_parent = ""
        self.volumes: dict[str, Ready] = {}
        self.hosts_path = ""
        self.results: list[StepResult] = []
        self.did = False
        self.halted = False
        self.cancelled = False
        self.task: asyncio.Task[object] | None = None
        self._in_flight = 0

    @property
    def pod(self) -> Pod:
        """The pod's spec; only plans that make or start something need one, and those always have it."""
        if (pod := self.sync.pod) is None:
            raise ValueError(f"the plan for {self.sync.namespace}/{self.sync.name} needs the pod's spec and has none")
        return pod

    @property
    def starts(self) -> bool:
        """Whether anything is to be made: then directories, volumes and the sandbox's config are needed."""
        return self.plan.make_sandbox is not None or bool(self.plan.start)

    @cached_property
    def pod_dir(self) -> str:
        """The pod's data directory."""
        return os.fspath(self.settings.pod_dir(self.sync.uid))

    @cached_property
    def log_dir(self) -> str:
        """The pod's log directory."""
        return os.fspath(self.settings.pod_log_dir(self.sync.namespace, self.sync.name, self.sync.uid))

    def add(self, result: StepResult) -> None:
        """An outcome for the machine."""
        self.results.append(result)

    def fail(self, step: str, message: str, halt: bool = True) -> None:
        """A step failed as a whole; `halt` keeps the following steps from running."""
        self.results.append(StepFailed(step, message))
        self.halted = self.halted or halt

    async def change(self, call: Awaitable[T]) -> T:
        """A CRI call that changes something. A cancel lets it finish for up to FINISH_S, then breaks it off."""
        self.did = True
        self._in_flight += 1
        try:
            return await call
        finally:
            self._in_flight -= 1

    async def noted(self, call: str, target: str, work: Awaitable[T]) -> T:
        """Something that is no CRI call, and which a story should tell all the same."""
        return await noted(call, target, work, self.sync, self.tools.note, self.tools.clock)

    def cancel(self) -> None:
        """Stop soon: at once while waiting, after the call in flight otherwise."""
        self.cancelled = True
        if self.task is None:
            return
        if self._in_flight:
            asyncio.get_running_loop().call_later(FINISH_S, self.task.cancel)
        else:
            self.task.cancel()

    def check(self) -> None:
        """Leave here when the sync was cancelled. Raises CancelledError."""
        if self.cancelled:
            raise asyncio.CancelledError

    async def in_thread(self, work: Callable[..., T], *args: object) -> T:
        """Blocking file work beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self.tools.files, work, *args)

    def normal(self, reason: str, message: str, field: str = "") -> None:
        """Record an event of type Normal about the pod or one field of it."""
        self._record("Normal", reason, message, field)

    def warn(self, reason: str, message: str, field: str = "") -> None:
        """Record an event of type Warning about the pod or one field of it."""
        self._record("Warning", reason, message, field)

    def _record(self, kind: str, reason: str, message: str, field: str) -> None:
        sync = self.sync
        at = self.tools.clock()
        self.tools.record(PodEvent(sync.uid, sync.namespace, sync.name, field, at, kind, reason, message))
