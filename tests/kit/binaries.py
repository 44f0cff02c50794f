"""Where the programs of a real control plane are: $KUBEBUILDER_ASSETS, else a cache that deploy/control_plane.sh fills.

A test run that lacks some starts building them in the background, and waits for that where a test needs the first.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
SCRIPT = Path(__file__).parents[2] / "deploy" / "control_plane.sh"
ASSETS = "KUBEBUILDER_ASSETS"
VERSION = "1.37.2"
BUILD_S = 1500.0
LOWEST = 19


class NoControlPlaneError(Exception):
    """The programs are not there and could not be built; the text says why."""


def cache_dir() -> Path:
    """Where built ones are kept; $PODHERD_CONTROL_PLANE moves it."""
    if moved := os.environ.get("PODHERD_CONTROL_PLANE"):
        return Path(moved)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "podherd" / f"control-plane-{VERSION}"


def path_of(name: str) -> Path | None:
    """The program: of $KUBEBUILDER_ASSETS first, then of the cache; None when neither has it."""
    places = [Path(assets)] if (assets := os.environ.get(ASSETS)) else []
    return next((place / name for place in (*places, cache_dir()) if os.access(place / name, os.X_OK)), None)


def missing() -> list[str]:
    """Those that are nowhere."""
    return [name for name in NAMES if path_of(name) is None]


@cache
def reason_against() -> str:
    """Why tests cannot have a control plane here; empty when they can: it is there, or Go is there to build it."""
    if not missing():
        return ""
    asked = subprocess.run([SCRIPT, "able"], capture_output=True, text=True, check=False)
    return "" if asked.returncode == 0 else asked.stderr.strip() or f"{SCRIPT.name} able: {asked.returncode}"


class Build:
    """One build in the background, at the lowest priority; nothing to do when all are there."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115

    def begin(self) -> None:
        """Start what deploy/control_plane.sh does; another builder that is at it is waited for."""
        if self._process is None and (names := missing()):
            command = [shutil.which("nice") or "nice", "-n", str(LOWEST), str(SCRIPT), *names]
            self._process = subprocess.Popen(command, stdout=self._said, stderr=self._said, start_new_session=True)

    def finish(self) -> None:
        """Return once every program is there. Raises NoControlPlaneError with the build's last words."""
        self.begin()
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(BUILD_S)
        if lacking := missing():
            self._said.seek(0)
            raise NoControlPlaneError(f"no {' '.join(lacking)}: {self._said.read().decode(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """End a build that still runs; what is built already stays."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        self._said.close()
