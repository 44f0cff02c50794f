"""Whose directories stand here from before: read once, when a shard starts (kubelet behaviour, sections 2.1 and 13.7).

A pod's data directory is named by its uid alone; namespace and name are those of its log directory,
`<ns>_<name>_<uid>`, which is made before any volume is put into the data directory and removed after they have gone.
A log directory without a data directory may be another agent's, and is left alone.
"""

import os
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import NamedTuple

from podherd.machines.pod.events import LeftBehind
from podherd.model.keys import shard_of
from podherd.model.settings import Settings
from podherd.steps.logs import links_dir
from podherd.steps.release import LAST_WORDS
from podherd.volumes.errors import VolumeError
from podherd.volumes.removal import remove_tree

SETTLED_S = 60.0
"""A directory that is younger may be in the making, by another shard."""


class Found(NamedTuple):
    """pods: those of the shard. nameless: data directories that hold something and belong to nobody known."""

    pods: list[LeftBehind]
    nameless: list[str]


def find(settings: Settings, shard: int, now: float) -> Found:
    """Look through both directories; shard 0 also clears away what is left of clean-ups that were broken off.

    Blocking; what cannot be read counts as not there.
    """
    ours = {entry.name: entry for entry in _directories(os.fspath(settings.root_dir / "pods"))}
    named = dict(_named(settings, ours.keys())) if ours else {}
    pods = [pod for pod in named.values() if shard_of(pod.namespace, pod.name, settings.shards) == shard]
    if shard != 0:
        return Found(pods, [])
    _unlink_dead(settings)
    old = [ours[uid] for uid in ours.keys() - named.keys() if _is_settled(ours[uid], now)]
    return Found(pods, sorted(entry.path for entry in old if not _removed_remains(entry.path)))


def _directories(path: str) -> Iterator["os.DirEntry[str]"]:
    with suppress(OSError), os.scandir(path) as entries:
        yield from (entry for entry in entries if entry.is_dir(follow_symlinks=False))


def _named(settings: Settings, uids: Container[str]) -> Iterator[tuple[str, LeftBehind]]:
    for entry in _directories(os.fspath(settings.pod_logs_dir)):
        parts = entry.name.split("_", 2)
        if len(parts) == 3 and parts[2] in uids:
            yield parts[2], LeftBehind(parts[2], parts[0], parts[1])


def _is_settled(entry: "os.DirEntry[str]", now: float) -> bool:
    with suppress(OSError):
        return now - entry.stat(follow_symlinks=False).st_mtime > SETTLED_S
    return False


def _removed_remains(path: str) -> bool:
    """A data directory without volumes holds nothing of a user's: its removal was broken off, or its making."""
    if any(entry.name != LAST_WORDS for entry in _directories(path)):
        return False
    try:
        return remove_tree(path)
    except VolumeError:
        return False


def _unlink_dead(settings: Settings) -> None:
    """Links for log collectors whose pod has no log directory any more: their containers vanished with the runtime."""
    above = f"{settings.pod_logs_dir}/"
    with suppress(OSError), os.scandir(links_dir(settings.pod_logs_dir)) as entries:
        for entry in entries:
            with suppress(OSError):
                target = os.readlink(entry.path)
                if target.startswith(above) and not os.path.isdir(os.path.dirname(os.path.dirname(target))):
                    os.unlink(entry.path)
