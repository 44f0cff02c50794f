"""The pretend node's runtime: what befalls its containers, and how a plan is performed, whole or in part."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from tests.machines.pod.builders import container, sandbox
from tests.machines.pod.laws import Held, Laws
from tests.machines.pod.shapes import (
    GRACE_S,
    container_of,
    hook_of,
    plain_inits,
)

from podherd.machines.pod.events import (
    HookEnded,
    SandboxFailed,
    Started,
    StartFailed,
    StepFailed,
    StepResult,
)
from podherd.machines.pod.instructions import (
    KillContainer,
    StartContainer,
    Sync,
)
from podherd.model import keys
from podherd.model.pod import ContainerKind
from podherd.wire.observed import Observed


class Runtime(Laws):
    """image_broken: no image can be had. delivered: views that the shard has had. told: ids that it was told of."""

    def __init__(self) -> None:
        super().__init__()
        self.image_broken = False
        self.delivered: list[Observed] = []
        self.told: set[str] = set()
        self.ids = count()

    def happen(self, number: int, change: Callable[[Held], None]) -> None:
        """Something befalls one of the pods that the runtime holds."""
        uids = sorted(self.runtime)
        if uids:
            uid = uids[number % len(uids)]
            change(self.runtime[uid])
            self.drop_empty(uid)
            self.changed.add(uid)

    def exit(self, held: Held, code: int, number: int = 0) -> None:
        if held.running():
            self.end(held, held.running()[number % len(held.running())].id, code)

    def end(self, held: Held, container_id: str, code: int) -> None:
        for each in held.running():
            if each.id == container_id:
                self.note_end(held, each, code)
        held.containers = [
            replace(each, state="exited", exit_code=code, finished_at=self.now, reason="Error" if code else "")
            if each.id == container_id and each.state == "running"
            else each
            for each in held.containers
        ]

    def kill_sandbox(self, held: Held, sandbox_id: str) -> None:
        held.sandboxes = [replace(each, ready=False) if each.id == sandbox_id else each for each in held.sandboxes]
        for each in held.running():
            if each.sandbox_id == sandbox_id:
                self.end(held, each.id, 137)

    def stop_pause(self, held: Held) -> None:
        """The newest sandbox is no longer ready, but its containers go on."""
        if held.sandboxes:
            held.sandboxes[-1] = replace(held.sandboxes[-1], ready=False)

    def lose(self, held: Held) -> None:
        """A dead container is removed behind our back; not before this shard saw how it ended."""
        seen = {(each.id, each.state) for view in self.delivered for each in view.containers}
        dead = [each for each in held.containers if each.state == "exited" and (each.id, "exited") in seen]
        if dead:
            held.containers.remove(dead[0])

    def vanish(self, held: Held) -> None:
        """A running container that this shard knows of is killed and removed behind our back."""
        known = self.told | {each.id for view in self.delivered for each in view.containers}
        if held.running() and held.running()[-1].id in known:
            self.note_end(held, held.running()[-1], 137)
            held.containers.remove(held.running()[-1])

    def drop_empty(self, uid: str) -> None:
        if uid in self.runtime and not self.runtime[uid].sandboxes and not self.runtime[uid].containers:
            del self.runtime[uid]

    def do(self, sync: Sync, fault: int) -> tuple[list[StepResult], bool]:
        """Perform the plan. fault: 4 no sandbox, 5 no container, 6 cancelled after the kills, 7 nothing stops."""
        plan, results = sync.plan, list[StepResult]()
        if plan == replace(plan, clean_up=False, kill=(), stop_sandboxes=(), remove_containers=()) and fault == 6:
            return results, False
        held = self.runtime.setdefault(sync.uid, Held(sync.name))
        self.changed.add(sync.uid)
        self.now += 0.01
        try:
            if fault == 7 and (plan.kill or plan.stop_sandboxes or plan.clean_up):
                hooks = [each for kill in plan.kill for each in self.run_hook(kill)]
                return [*hooks, StepFailed("kill", "busy")], True
            for kill in sorted(plan.kill, key=lambda each: len(each.after)):
                results += self.run_hook(kill)
                self.end(held, kill.id, 143)
            if fault == 6 and plan.kill:
                return results, True
            for sandbox_id in plan.stop_sandboxes:
                self.kill_sandbox(held, sandbox_id)
            self.check_removal(sync.uid, held, plan)
            held.containers = [each for each in held.containers if each.id not in plan.remove_containers]
            held.sandboxes = [each for each in held.sandboxes if each.id not in plan.remove_sandboxes]
            made, did = self.make_and_start(sync, held, fault)
            return [*results, *made], did
        finally:
            self.drop_empty(sync.uid)

    def run_hook(self, kill: KillContainer) -> list[StepResult]:
        if kill.hook is None:
            return []
        assert kill.id not in self.hooked, "a hook twice"
        self.hooked.add(kill.id)
        return [HookEnded(kill.id)]

    def make_and_start(self, sync: Sync, held: Held, fault: int) -> tuple[list[StepResult], bool]:
        plan, sandbox_id = sync.plan, sync.plan.sandbox_id
        if plan.make_sandbox is not None:
            if fault == 4:
                return [SandboxFailed("no")], True
            if plan.make_sandbox in {each.attempt for each in held.sandboxes}:
                return [SandboxFailed("name is reserved")], True
            assert not any(each.ready for each in held.sandboxes), "a second sandbox beside a ready one"
            sandbox_id = f"s{next(self.ids)}"
            held.sandboxes.append(sandbox(sandbox_id, plan.make_sandbox, created_at=self.now))
        results = list[StepResult]()
        for each in plan.start:
            results.append(self.start(sync, held, sandbox_id, each, fault))
            first = container_of(self.specs[sync.uid], each.name) in self.specs[sync.uid].init_containers
            if first and isinstance(results[-1], StartFailed):
                break
        tried = any(not isinstance(each, StartFailed) or each.reason != "ImagePullBackOff" for each in results)
        return results, tried or not plan.start or plan.make_sandbox is not None

    def start(self, sync: Sync, held: Held, sandbox_id: str, want: StartContainer, fault: int) -> StepResult:
        if self.image_broken:
            reason = "ErrImagePull" if want.pull_allowed else "ImagePullBackOff"
            return StartFailed(want.name, reason, "no such image", image_pull=want.pull_allowed)
        home = next((each for each in held.sandboxes if each.id == sandbox_id and each.ready), None)
        taken = (want.name, want.attempt) in {(each.name, each.attempt) for each in held.containers}
        if fault == 5 or home is None or taken:
            return StartFailed(want.name, "CreateContainerError", "no")
        assert want.name not in {each.name for each in held.running()}, "two running containers of one name"
        self.check_start(sync, held, sandbox_id, want)
        attempt, last = want.attempt, self.logs.get((sync.uid, want.name), -1)
        if (want.name, last) not in {(each.name, each.attempt) for each in held.containers}:
            attempt = max(attempt, last + 1)  # the steps see the log files
        assert attempt > last, "an attempt number is used again"
        self.logs[sync.uid, want.name] = attempt
        made = container(
            f"c{next(self.ids)}",
            want.name,
            attempt=attempt,
            created_at=self.now,
            sandbox_id=sandbox_id,
            grace_s=GRACE_S,
        )
        if hook := hook_of(container_of(self.specs[sync.uid], want.name), "preStop"):
            made.annotations[keys.CONTAINER_PRE_STOP_HANDLER] = json.dumps(hook)
        held.containers.append(made)
        if container_of(self.specs[sync.uid], want.name).kind is ContainerKind.SIDECAR:
            self.init_ok.add((sync.uid, sandbox_id, want.name))
        if fault == 3 and hook_of(container_of(self.specs[sync.uid], want.name), "postStart"):
            self.end(held, made.id, 143)
            return StartFailed(want.name, "PostStartHookError", "it failed")
        return Started(want.name, made.id, attempt)

    def end_inits(self) -> None:
        """Plain init containers do their work."""
        for uid, held in self.runtime.items():
            for each in held.running():
                if each.name in {init.name for init in plain_inits(self.specs[uid])}:
                    self.end(held, each.id, 0)
                    self.changed.add(uid)
