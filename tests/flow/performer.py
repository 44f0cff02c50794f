"""Performs one Sync step by step in virtual time, in the order and with the outcomes of `podherd.steps`.

It can be cut off between any two calls, and within one: by the death of its shard (closed) or a cancel (thrown).
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tests.flow.runtime import LIVE, Runtime
from tests.flow.script import hook_of, program_of, runs_again
from tests.flow.timeline import Cancelled, Latch, Life, Task, wait

from podherd.cri.convert.labels import container_annotations
from podherd.errors import CriError
from podherd.machines.pod.events import (
    HookEnded,
    SandboxFailed,
    Started,
    StartFailed,
    StepFailed,
    StepResult,
    Synced,
)
from podherd.machines.pod.instructions import KillContainer, StartContainer, Sync
from podherd.model.pod import Container, ContainerKind

if TYPE_CHECKING:
    from tests.flow.world import World

T = TypeVar("T")
FINISH_S = 2.0
"""As in `steps/context`: a cancelled sync waits so long for the call in flight."""
MIN_STOP_S = 2
"""As in `steps/kill`."""


class Halted(Exception):  # noqa: N818
    """The steps that follow must not run."""


class Performer:
    """One sync. `ended` gets its Synced, once, unless the life of its shard ends first."""

    def __init__(self, world: "World", life: Life, sync: Sync, ended: Callable[[Synced], None]) -> None:
        self.sync = sync
        self._world = world
        self._runtime: Runtime = world.runtime
        self._laws = world.laws
        self._life = life
        self._ended = ended
        self._results: list[StepResult] = []
        self._did = self._cancelled = False
        self._in_flight = 0
        self._tasks: list[Task] = []
        self._box_id = sync.plan.sandbox_id
        self._task: Task | None = None

    def begin(self) -> None:
        self._task = self._life.spawn(self._perform())

    def cancel(self) -> None:
        """Soon: at once while it waits, after the call in flight otherwise."""
        self._cancelled = True
        if self._in_flight:
            self._life.after(FINISH_S, self._break_off)
        else:
            self._break_off()

    def _break_off(self) -> None:
        for task in self._tasks:
            task.throw(Cancelled())
        if self._task is not None:
            self._task.throw(Cancelled())

    def _check(self) -> None:
        if self._cancelled:
            raise Cancelled

    async def _perform(self) -> None:
        try:
            await wait(None, 0.001)
            for step in (
                self._kill,
                self._stop,
                self._remove,
                self._sandbox,
                self._containers,
                self._release,
                self._clean_up,
            ):
                self._check()
                await step()
        except (Cancelled, Halted):
            pass
        sync = self.sync
        synced = Synced(sync.uid, sync.plan_id, self._world.wall(), tuple(self._results), self._did, self._cancelled)
        self._ended(synced)

    async def _change(self, call: Awaitable[T]) -> T:
        self._did = True
        self._world.counted(self.sync.uid)
        self._in_flight += 1
        try:
            return await call
        finally:
            self._in_flight -= 1

    def _fail(self, step: str, message: str) -> None:
        self._results.append(StepFailed(step, message))

    # Step by step.

    async def _kill(self) -> None:
        kills = self.sync.plan.kill
        self._did = self._did or bool(kills)
        turns = {kill.id: Latch(self._world.timeline) for kill in kills}
        dead: dict[str, bool] = {}
        self._laws.kills_ordered(self.sync)
        self._tasks = [self._life.spawn(self._stop_one(kill, turns, dead)) for kill in kills]
        for task in self._tasks:
            await wait(task.ended, None)
        self._check()
        if any(isinstance(result, StepFailed) for result in self._results):
            raise Halted

    async def _stop_one(self, kill: KillContainer, turns: dict[str, Latch], dead: dict[str, bool]) -> None:
        try:
            dead[kill.id] = await self._stop_in_turn(kill, turns, dead)
        except Cancelled:
            return
        turns[kill.id].set()

    async def _stop_in_turn(self, kill: KillContainer, turns: dict[str, Latch], dead: dict[str, bool]) -> bool:
        timeline = self._world.timeline
        deadline = timeline.now + kill.grace_s
        if kill.hook is not None:
            await self._pre_stop(kill)
        for ident in kill.after:
            if ident not in turns or not await wait(turns[ident], max(0.0, deadline - timeline.now)):
                continue
            if not dead[ident] and deadline - timeline.now > MIN_STOP_S:
                return False
        timeout_s = max(MIN_STOP_S, round(deadline - timeline.now))
        self._laws.stopping(self.sync, kill, timeout_s)
        self._world.counted(self.sync.uid)
        try:
            await self._runtime.stop(kill.id, timeout_s)
        except CriError as error:
            if error.code != "NOT_FOUND":
                self._fail("kill", error.reason)
                return False
        return True

    async def _pre_stop(self, kill: KillContainer) -> None:
        proc = self._runtime.procs.get(kill.id)
        try:
            if proc is not None and proc.state == "running":
                self._laws.hook_begins(self.sync, kill)
                seconds, _ok = hook_of(kill.hook)
                await wait(proc.ended, min(seconds, float(kill.grace_s)))
        finally:
            self._results.append(HookEnded(kill.id))

    async def _stop(self) -> None:
        for box_id in self.sync.plan.stop_sandboxes:
            self._check()
            await self._or_fail("stop", self._runtime.call("StopPodSandbox", partial(self._runtime.stop_box, box_id)))
            if any(isinstance(result, StepFailed) for result in self._results):
                raise Halted

    async def _remove(self) -> None:
        for proc_id in self.sync.plan.remove_containers:
            self._check()
            await self._or_fail("remove", self._runtime.call("RemoveContainer", partial(self._runtime.remove, proc_id)))
        for box_id in self.sync.plan.remove_sandboxes:
            self._check()
            await self._or_fail(
                "remove", self._runtime.call("RemovePodSandbox", partial(self._runtime.remove_box, box_id))
            )

    async def _or_fail(self, step: str, call: Awaitable[Any]) -> None:
        try:
            await self._change(call)
        except CriError as error:
            if error.code != "NOT_FOUND":
                self._fail(step, error.reason)

    async def _sandbox(self) -> None:
        plan, pod = self.sync.plan, self.sync.pod
        if plan.make_sandbox is None and not plan.start:
            return
        assert pod is not None, "a start without a spec"
        self._world.make_files(pod)
        if (attempt := plan.make_sandbox) is not None:
            self._laws.making(self.sync)

            def deed() -> str:
                return self._runtime.make_box(pod.uid, pod.name, attempt, pod.host_network, pod.source)

            try:
                self._box_id = await self._change(self._runtime.call("RunPodSandbox", deed))
            except CriError as error:
                self._results.append(SandboxFailed(error.reason))
                raise Halted from error
        self._check()
        if plan.start and self._box_id not in self._runtime.boxes:
            self._results.append(SandboxFailed("no such sandbox"))
            raise Halted

    async def _containers(self) -> None:
        plan = self.sync.plan
        for index, start in enumerate(plan.start):
            self._check()
            container = self._container(start.name)
            result = await self._start(container, start)
            self._results.append(result)
            failed = isinstance(result, StartFailed)
            if failed and (container.kind is ContainerKind.INIT or self._holds_up(container, index)):
                break

    def _holds_up(self, container: Container, index: int) -> bool:
        """A sidecar that others of the plan wait for."""
        later = (self._container(start.name).kind for start in self.sync.plan.start[index + 1 :])
        return container.kind is ContainerKind.SIDECAR and any(kind is not ContainerKind.EPHEMERAL for kind in later)

    def _container(self, name: str) -> Container:
        assert self.sync.pod is not None, "a start without a spec"
        return next(each for each in self.sync.pod.every_container if each.name == name)

    async def _start(self, container: Container, start: StartContainer) -> StepResult:
        self._laws.making(self.sync)
        if (failed := await self._image(container, start)) is not None:
            return failed
        self._check()
        try:
            proc_id, attempt = await self._create(container, start)
        except CriError as error:
            return StartFailed(start.name, "CreateContainerError", error.reason)
        self._check()
        self._laws.making(self.sync)
        try:
            await self._change(self._runtime.call("StartContainer", lambda: self._runtime.start(proc_id)))
        except CriError as error:
            return StartFailed(start.name, "RunContainerError", error.reason)
        return await self._post_start(container, Started(start.name, proc_id, attempt))

    async def _image(self, container: Container, start: StartContainer) -> StartFailed | None:
        runtime, image = self._runtime, container.image
        if image in runtime.images and container.image_pull_policy != "Always":
            return None
        if not start.pull_allowed:
            return StartFailed(start.name, "ImagePullBackOff", f"Back-off pulling image: {start.back_off}")
        self._laws.pulling(self.sync, image)
        try:
            await runtime.call("PullImage", lambda: None)
            if image in runtime.lacking:
                raise CriError(image, "NOT_FOUND", "no such image")
        except CriError as error:
            return StartFailed(start.name, "ErrImagePull", error.reason, image_pull=True)
        runtime.images.add(image)
        return None

    async def _create(self, container: Container, start: StartContainer) -> tuple[str, int]:
        pod, logs = self.sync.pod, self._world.logs
        assert pod is not None
        attempt = max(start.attempt, logs.get((pod.uid, container.name), -1) + 1)
        always = container.kind is ContainerKind.SIDECAR
        if container.kind is ContainerKind.REGULAR:
            always = runs_again(container.body, pod.restart_policy, 0)

        def deed() -> str:
            made = self._runtime.make_proc(
                self._box_id,
                name=container.name,
                kind=container.kind.value,
                attempt=attempt,
                image=container.image,
                annotations=container_annotations(pod, container, attempt),
                program=program_of(container.body),
                always=always,
            )
            logs[pod.uid, container.name] = attempt
            return made

        return await self._change(self._runtime.call("CreateContainer", deed)), attempt

    async def _post_start(self, container: Container, started: Started) -> StepResult:
        """A cancel meanwhile says that the container was started: it runs."""
        lifecycle = container.body.get("lifecycle") or {}
        proc = self._runtime.procs.get(started.id)
        if "postStart" not in lifecycle or proc is None:
            return started
        seconds, ok = hook_of(lifecycle["postStart"])
        try:
            await wait(proc.ended, seconds)
            if (ok or self._runtime.calm) and proc.state in LIVE:
                return started
            self._laws.excuse(proc)
            grace_s = max(MIN_STOP_S, self.sync.pod.grace_s if self.sync.pod is not None else 0)
            hook = lifecycle.get("preStop")
            await self._stop_in_turn(KillContainer(started.id, container.name, grace_s, "", hook), {}, {})
        except Cancelled:
            self._results.append(started)
            raise
        return StartFailed(container.name, "PostStartHookError", "PostStartHook failed")

    async def _release(self) -> None:
        if not self.sync.plan.only_clears or any(isinstance(result, StepFailed) for result in self._results):
            return
        await wait(None, 0.01)
        self._laws.released(self.sync.uid)
        if self._world.dice.random() < self._runtime.p_fail:
            self._fail("release", "target is busy")
        else:
            self._world.volumes.discard(self.sync.uid)

    async def _clean_up(self) -> None:
        if not self.sync.plan.clean_up or any(isinstance(result, StepFailed) for result in self._results):
            return
        await wait(None, 0.01)
        self._laws.cleaned_up(self.sync.uid)
        self._world.forget_files(self.sync.uid)
