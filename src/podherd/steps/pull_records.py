"""What was pulled with which credentials, on disk under `<root>/image_manager` (kubelet behaviour, section 3.6).

`pulled` holds a record of each image; `pulling` a file of each pull under way, which an agent that was killed leaves
behind: what it had begun to pull counts as pulled by it, with credentials that nobody knows. All shards share both. A
puller has a shared lock on its file there, so that whoever is the last of them takes it away.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import orjson

from podherd.errors import PodherdError
from podherd.model.pull_record import (
    INTENT_KIND,
    NEVER,
    VERSION,
    Record,
    Source,
    admission,
    wants_proof,
    with_credentials,
)
from podherd.model.settings import Settings
from podherd.model.status import rfc3339


class PullRecords:
    """Of one shard. Small files are read and written in the loop; a lock is held for some microseconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        place = settings.root_dir / "image_manager"
        self._pulling, self._pulled, self._lock = place / "pulling", place / "pulled", place / "lock"
        self._policy, self._allowlist = settings.pull_verification, settings.pull_allowlist
        self._clock = clock

    def admits(self, image: str, ref: str, sources: Callable[[], tuple[Source, ...]]) -> bool:
        """Whether a pod may use the image, which is there, without a pull. sources: of the pod's own credentials.

        ref: the runtime's id of it. A record that cannot be read admits nobody. Raises what `sources` raises.
        """
        if self._policy == NEVER:
            return True
        try:
            record, known = self._read(ref), True
            if record is None:
                known = (self._pulling / _name(image)).exists()
        except (OSError, ValueError):
            return False
        if not wants_proof(self._policy, self._allowlist, image, known):
            return True
        allowed, learned = admission(record, image, sources)
        if learned is not None:
            self._learn(image, ref, learned)
        return allowed

    @contextmanager
    def pull(self, image: str) -> Iterator[Callable[[str, Source | None], None]]:
        """Around a pull: what it gives is to be called with the id and the source of one that succeeded.

        Raises PodherdError where it cannot be noted that the pull begins.
        """
        file = self._pulling / _name(image)
        try:
            fd = _shared(file)
        except OSError as error:
            reason = f"failed to record image pull intent: {file}: {error.strerror}"
            raise PodherdError(f"image {image}", reason) from error
        noted = True

        def succeeded(ref: str, source: Source | None) -> None:
            nonlocal noted
            noted = self._learn(image, ref, source)

        try:
            if not os.fstat(fd).st_size:
                os.pwrite(fd, orjson.dumps({"kind": INTENT_KIND, "apiVersion": VERSION, "image": image}), 0)
            yield succeeded
        except Exception:
            raise
        except BaseException:
            noted = False  # broken off: the runtime may go on
            raise
        finally:
            if noted:
                _take_away(file, fd)
            os.close(fd)

    def _learn(self, image: str, ref: str, source: Source | None) -> bool:
        """Whether the record has it now."""
        try:
            with _alone(self._lock):
                try:
                    record = self._read(ref)
                except ValueError:
                    record = None
                fresh = with_credentials(record, ref, image, source, rfc3339(self._clock()))
                if fresh is not None:
                    _replace(self._pulled / _name(ref), orjson.dumps(fresh))
        except OSError:
            return False
        return True

    def _read(self, ref: str) -> Record | None:
        """Raises OSError; ValueError for what is no record of this image."""
        try:
            record = orjson.loads((self._pulled / _name(ref)).read_bytes())
        except FileNotFoundError:
            return None
        if not isinstance(record, dict) or record.get("imageRef") != ref:
            raise ValueError("no record of this image")
        return record


def _name(of: str) -> str:
    return f"sha256-{sha256(of.encode()).hexdigest()}"


def _open(file: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(file, flags, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        return os.open(file, flags, 0o600)


def _shared(file: Path) -> int:
    """A descriptor of the file, which is there, with a shared lock."""
    while True:
        fd = _open(file)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            if _is(file, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _is(file: Path, fd: int) -> bool:
    """Whether the descriptor's file still has this name."""
    try:
        found = os.stat(file, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return found.st_ino == os.fstat(fd).st_ino


def _take_away(file: Path, fd: int) -> None:
    """Unless another puller has it too."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(file, fd):
            file.unlink(missing_ok=True)
    except OSError:
        return


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    fd = _open(file)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _replace(file: Path, data: bytes) -> None:
    """Whole or as it was; by one at a time."""
    file.parent.mkdir(0o700, parents=True, exist_ok=True)
    fresh = file.with_suffix(".tmp")
    fresh.write_bytes(data)
    fresh.chmod(0o600)
    fresh.replace(file)
