"""How Ray is set for an agent: the smallest runtime that runs named actors. Measured effect of each: docs/ray.md.

No import of Ray: the parent puts `environment` into the driver's environment, where Ray reads it when it is imported
and hands it on to the GCS, the raylet and the workers.
"""

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from podherd.errors import PodherdError

NAMESPACE = "podherd"
LOOPBACK = "127.0.0.1"
OBJECT_STORE_BYTES = 80 * 2**20
"""Ray refuses less than 75 MiB. Shared memory that nobody touches: frames travel inside the calls."""
MARKER = "PODHERD_TREE"
"""In the environment of every process of one driver's tree: the parent knows orphans by it."""
SOCKET_DIR_BYTES = 107 - len("/session_2026-12-01_00-00-00_000000_4194304/sockets/plasma_store")
"""Longest directory in which Ray's own sockets fit their limit (unix(7))."""

LEAN: Mapping[str, str] = {
    # Every process on 127.0.0.1: Ray takes the node's address for the outside, unless clusters are off.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    # Statistics of every event loop, taken also at the 100 wake-ups a second of each idle worker.
    "RAY_event_stats": "0",
    # Periodic work whose period may be longer on a node of six actors and no tasks.
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_kill_idle_workers_interval_ms": "60000",
    "RAY_object_manager_timer_freq_ms": "10000",
    "RAY_local_fs_monitor_interval_ms": "60000",
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_gcs_pull_resource_loads_period_milliseconds": "10000",
    "RAY_raylet_check_gc_period_milliseconds": "10000",
    "RAY_health_check_period_ms": "5000",
    "RAY_raylet_check_for_unexpected_worker_disconnect_interval_ms": "10000",
    # Workers: none in advance, all actors at once.
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_worker_maximum_startup_concurrency": "16",
    # Ray's default of 15 is for batch work: every pod of the node would go before the agent that starts the next one.
    "RAY_worker_niceness": "0",
}


def new_token(run_dir: Path) -> Path:
    """Write a new random token for Ray's ports, readable by the owner alone; its path."""
    path = run_dir / "ray-token"
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
    return path


def environment(token_file: Path, tree: str) -> dict[str, str]:
    """The driver's environment: ours without other Ray settings, the lean ones, the token's path and the marker."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    clean.pop("PODHERD_TREE", None)
    return {**clean, **LEAN, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_file), MARKER: tree}


def _above(root_dir: Path) -> tuple[Path, bool]:
    """The directory above Ray's, always the same for a root, and whether it is outside the root."""
    inside = root_dir.absolute() / "run"
    if len(os.fsencode(inside / "ray")) <= SOCKET_DIR_BYTES:
        return inside, False
    name = hashlib.sha256(os.fsencode(root_dir.absolute())).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"podherd-{name}", True


def _is_ours_alone(path: Path) -> bool:
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def ray_dir_of(root_dir: Path) -> Path:
    """Ray's directory: in the root dir, or in the temporary directory where Ray's socket paths would be too long.

    Ray opens its directory to everybody (mode 0777): the one above it is ours alone. Raises PodherdError when not.
    """
    above, _ = _above(root_dir)
    above.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours_alone(above):
        raise PodherdError(f"directory {above}", "is not ours alone", "remove it, or choose a shorter --root-dir")
    return above / "ray"


def remove_outside_dir(root_dir: Path) -> None:
    """After the end of Ray: nothing of it stays outside the root dir."""
    above, outside = _above(root_dir)
    if outside and above.exists() and _is_ours_alone(above):
        shutil.rmtree(above, ignore_errors=True)
