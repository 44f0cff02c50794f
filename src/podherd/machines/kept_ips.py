"""The addresses of a stopped sandbox stay known (kubelet behaviour, sections 4 and 6.2).

Both ends of the lane remember them, so that neither a PLEG nor a shard that begins anew forgets a pod's address.
"""

from collections.abc import Mapping
from dataclasses import replace

from podherd.wire.observed import SandboxSeen

Sandboxes = tuple[SandboxSeen, ...]


def with_kept_ips(now: Sandboxes, before: Sandboxes) -> Sandboxes:
    """`now`, where a sandbox that has stopped and has no address any more keeps the one it had `before`."""
    if not before or all(sandbox.ready or any(sandbox.ips) for sandbox in now):
        return now
    ips = {sandbox.id: sandbox.ips for sandbox in before}
    return tuple(_kept(sandbox, ips) for sandbox in now)


def _kept(sandbox: SandboxSeen, known: Mapping[str, tuple[str, ...]]) -> SandboxSeen:
    if sandbox.ready or any(sandbox.ips) or not any(known.get(sandbox.id, ())):
        return sandbox
    return replace(sandbox, ips=known[sandbox.id])
