"""The ids of a pod's own users: chosen once, kept in `<pod>/userns` as the kubelet does (kubelet behaviour, 3.11).

Shards are processes of their own. What keeps two of them from giving the same ids is a claim on every 65,536 of them: a
symlink `<root>/userns/<number>` to the pod's uid, made under a lock. A claim of a pod without a directory is free.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from podherd.cri.convert import userns
from podherd.cri.convert.security import check_strict_groups, wants_strict_groups
from podherd.errors import ContainerConfigError
from podherd.model.settings import Settings
from podherd.steps.context import Context
from podherd.steps.runtime_class import handler_of

FILE = "userns"


async def prepare(context: Context) -> None:
    """What few pods ask of the runtime: users of their own (set in the context), no groups of the image.

    The runtime is asked whether it can when a sandbox is made. Raises PodherdError, OSError.
    """
    pod = context.pod
    own = userns.wanted(pod)
    if context.plan.make_sandbox is not None and (own or wants_strict_groups(pod)):
        able = await context.cri.status()
        if own:
            userns.check_supported(handler_of(context), able.runtime_handlers)
        if wants_strict_groups(pod):
            check_strict_groups(able.features)
    if own:
        block = await context.in_thread(block_of, context.settings, pod.uid)
        context.userns = userns.namespace(block)


def block_of(settings: Settings, uid: str) -> userns.Block:
    """The pod's ids, chosen now when it has none. Raises ContainerConfigError, OSError."""
    kept = settings.pod_dir(uid) / FILE
    with suppress(FileNotFoundError):
        return userns.from_json(kept.read_bytes())
    claims = settings.root_dir / FILE
    with _locked(settings.root_dir / f"{FILE}.lock"):
        _restore(claims, settings.root_dir / "pods")
        for block in userns.blocks(uid, settings.ids_per_pod):
            if _claim(claims, block, uid):
                _write(kept, userns.to_json(block))
                return block
    raise ContainerConfigError("spec.hostUsers", "could not find an empty slot to allocate a user namespace")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _restore(claims: Path, pods: Path) -> None:
    """Make the claims anew from what the pods keep, when they are not there."""
    if claims.is_dir():
        return
    unfinished = claims.with_name(f"{FILE}.new")
    unfinished.mkdir(0o700, exist_ok=True)
    for kept in pods.glob(f"*/{FILE}"):
        for unit in userns.from_json(kept.read_bytes()).units:
            with suppress(FileExistsError):
                os.symlink(kept.parent.name, unfinished / str(unit))
    unfinished.rename(claims)


def _claim(claims: Path, block: userns.Block, uid: str) -> bool:
    """Take all of the block, or nothing."""
    for unit in block.units:
        if (owner := _owner(claims / str(unit))) not in ("", uid) and (claims.parent / "pods" / owner).is_dir():
            return False
    for unit in block.units:
        link = claims / str(unit)
        link.unlink(missing_ok=True)
        os.symlink(uid, link)
    return True


def _owner(link: Path) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def _write(path: Path, text: bytes) -> None:
    """All of it or nothing, also when the machine stops: containers would run under ids that nobody remembers."""
    draft = path.with_name(f".{FILE}")
    with open(draft, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
