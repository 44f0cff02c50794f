"""What a view of the runtime shows that the one before did not."""

from collections.abc import Iterator

from podherd.wire.observed import ContainerSeen, Observed, SandboxSeen

NOTHING = "the runtime holds nothing of it"


def news(before: Observed | None, now: Observed) -> Iterator[str]:
    """One text for each thing that is new; `before` None: nothing was known."""
    if now.stale:
        if before is None or before.stale != now.stale:
            yield f"cannot be looked at: {now.stale}"
        return
    if not now.sandboxes and not now.containers:
        if before is not None and (before.sandboxes or before.containers):
            yield NOTHING
        return
    yield from _sandboxes({each.id: each for each in before.sandboxes} if before else {}, now.sandboxes)
    yield from _containers({each.id: each for each in before.containers} if before else {}, now.containers)


def _sandboxes(before: dict[str, SandboxSeen], now: tuple[SandboxSeen, ...]) -> Iterator[str]:
    for sandbox in reversed(now):
        known = before.pop(sandbox.id, None)
        if known is None or known.ready != sandbox.ready:
            ips = ", ".join(filter(None, sandbox.ips))
            words = f"ready{' at ' + ips if ips else ''}" if sandbox.ready else "not ready"
            yield f"sandbox {sandbox.attempt} {words}"
    yield from (f"sandbox {each.attempt} is gone" for each in before.values() if each.ready)


def _containers(before: dict[str, ContainerSeen], now: tuple[ContainerSeen, ...]) -> Iterator[str]:
    for container in reversed(now):
        known = before.pop(container.id, None)
        if known is None or known.state != container.state:
            yield _container(container)
    yield from (f"{each.name} is gone" for each in before.values() if each.state == "running")


def _container(seen: ContainerSeen) -> str:
    attempt = f" (attempt {seen.attempt})" if seen.attempt else ""
    if seen.state != "exited":
        return f"{seen.name} {seen.state}{attempt}"
    said = seen.message.strip().partition("\n")[0][:120]
    reason = f" ({seen.reason}{': ' + said if said else ''})" if seen.reason or said else ""
    return f"{seen.name} exited {seen.exit_code}{reason}{attempt}"
