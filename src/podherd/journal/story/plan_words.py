"""A plan in words: why, and what it does in its order."""

from collections.abc import Iterator

from podherd.machines.pod.instructions import KillContainer, Plan, StartContainer

SHORT = 12
"""So much of an id tells it from others."""


def plan_text(plan: Plan) -> str:
    """`no pod sandbox exists: make sandbox 0, start main`."""
    deeds = ", ".join(_deeds(plan)) or "nothing"
    return f"{plan.why}: {deeds}" if plan.why else deeds


def _deeds(plan: Plan) -> Iterator[str]:
    yield from (_kill(kill) for kill in plan.kill)
    yield from (f"stop sandbox {each[:SHORT]}" for each in plan.stop_sandboxes)
    dead = [(plan.remove_containers, "container"), (plan.remove_sandboxes, "sandbox")]
    if counts := [_count(len(ids), what) for ids, what in dead if ids]:
        yield f"remove {' and '.join(counts)}"
    if plan.make_sandbox is not None:
        yield f"make sandbox {plan.make_sandbox}"
    yield from (f"resize {resize.name}" for resize in plan.resize)
    yield from (_start(start) for start in plan.start)
    if plan.refresh:
        yield "write the files in its volumes anew"
    if plan.release:
        yield "unmount its volumes and remove its cgroup"
    if plan.clean_up:
        yield "remove its directories and logs"


def _kill(kill: KillContainer) -> str:
    hook = " after its preStop hook" if kill.hook is not None else ""
    return f"stop {kill.name}{hook} within {kill.grace_s} s ({kill.message})"


def _start(start: StartContainer) -> str:
    attempt = f" (attempt {start.attempt})" if start.attempt else ""
    return f"start {start.name}{attempt}" + ("" if start.pull_allowed else " without pulling")


def _count(number: int, what: str) -> str:
    plural = what + ("es" if what.endswith("x") else "s")
    return f"{number} dead {what if number == 1 else plural}"
