"""podherd's own containerd: its own configuration, data, state, socket and network under one directory.

Nothing of the host's containerd is read or written; the two share only containerd's directory of shim sockets,
whose names are hashes of both addresses. The daemon and its containers outlive whoever started them.
"""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from podherd.agent import procs
from podherd.agent.provision import config, detached, network
from podherd.agent.provision.cleaning import clean
from podherd.agent.provision.errors import ProvisionError
from podherd.agent.provision.images import NAMES, write_archive
from podherd.agent.provision.packages import cni_dir, command, static_busybox
from podherd.agent.provision.sockets import listens

READY_S = 60.0
STOP_S = 20.0
IMPORT_S = 20.0
MAX_SOCKET_PATH = 100
"""The kernel takes 107 bytes; containerd puts `.ttrpc` behind the name."""
_MANAGED = 'labels."io.cri-containerd.image"==managed'
"""Filter for the label that the CRI plugin gives to an image that it has taken notice of."""


class Containerd:
    """The containerd of one podherd root directory; any number of objects may stand for the same one."""

    def __init__(self, root: Path, binary: str = "") -> None:
        self.home = root.resolve() / "containerd"
        self.socket = self.home / "containerd.sock"
        self.log = self.home / "containerd.log"
        self._binary = binary or command("containerd") or "containerd"
        self._config = self.home / "config.toml"
        self._pid_file = self.home / "containerd.pid"

    @property
    def endpoint(self) -> str:
        """Its CRI endpoint, `unix://…`."""
        return f"unix://{self.socket}"

    @property
    def exists(self) -> bool:
        """Whether it was ever set up here."""
        return self._config.exists()

    @property
    def pid(self) -> int | None:
        """Its process, None when it is not running."""
        return detached.running_pid(self._pid_file, str(self._config))

    @property
    def network(self) -> network.Network:
        """Bridge and subnet of its pods."""
        return network.settle(self.home, self.home / "cni")

    def start(self) -> None:
        """Run it, or adopt the one that runs; returns when it listens. Raises ProvisionError with its last log line."""
        if self.pid is None:
            self._write_config()
            detached.start([self._binary, "--config", str(self._config)], self._pid_file, self.log)
        self._wait_listening()

    def _write_config(self) -> None:
        if len(str(self.socket)) > MAX_SOCKET_PATH:
            raise ProvisionError(str(self.socket), "too long for a unix socket", "choose a shorter --root-dir")
        self.home.mkdir(parents=True, exist_ok=True)
        plugins = cni_dir()
        if plugins is None:
            raise ProvisionError("CNI plugins", "not installed", "apt-get install containernetworking-plugins")
        network.settle(self.home, self.home / "cni")
        printed = subprocess.run([self._binary, "--version"], capture_output=True, text=True, check=True).stdout
        major = config.major_version(printed)
        self._config.write_text(config.text(major, self.home, plugins, config.ability()))

    def _wait_listening(self) -> None:
        deadline = time.monotonic() + READY_S
        while not listens(self.socket):
            started = self._pid_file.exists()
            if time.monotonic() > deadline or (started and self.pid is None and not listens(self.socket)):
                last = (self.log.read_text(errors="replace").strip().splitlines() or ["nothing"])[-1]
                raise ProvisionError("containerd", f"does not come up: {last}", f"read {self.log}")
            time.sleep(detached.POLL_S)

    def halt(self) -> None:
        """End the daemon alone, gracefully; containers go on running."""
        self._end(signal.SIGTERM)

    def kill9(self) -> None:
        """End the daemon alone by SIGKILL; containers go on running."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if (pid := self.pid) is None:
            return
        procs.kill([pid], number)
        if procs.wait_dead([pid], STOP_S):
            procs.kill([pid], signal.SIGKILL)
            procs.wait_dead([pid], STOP_S)

    def restart(self) -> None:
        """Halt and start the daemon; containers go on running."""
        self.halt()
        self.start()

    def stop(self) -> None:
        """End everything: pods, daemon, shims, mounts, bridge, and what its pods left on the host. Idempotent.

        The images and data stay on disk.
        """
        from podherd.agent.provision import leavings  # brings the steps, which whoever only starts it has no use for

        uids = leavings.pods_of(self.home.parent, self.endpoint)
        if self.pid is not None and listens(self.socket):
            subprocess.run([*config.ASK, "empty", self.endpoint], capture_output=True, check=False)
        self.halt()
        clean(self.home, self.socket, self.network.bridge if self.exists else "")
        self._pid_file.unlink(missing_ok=True)
        leavings.remove(uids)

    def ctr(self, *args: str) -> str:
        """What `ctr` prints for this containerd's Kubernetes namespace. Raises ProvisionError when it fails."""
        base = [command("ctr") or "ctr", "--address", str(self.socket), "--namespace", "k8s.io"]
        result = subprocess.run([*base, *args], capture_output=True, text=True, check=False)
        if result.returncode:
            raise ProvisionError(f"ctr {' '.join(args)}", result.stderr.strip() or f"exit code {result.returncode}")
        return result.stdout

    def import_samples(self, say: Callable[[str], None]) -> None:
        """Build and import the sample images that are not there yet; returns when the CRI knows them."""
        if all(name in self._managed() for name in NAMES):
            return
        busybox = static_busybox()
        if busybox is None:
            raise ProvisionError("busybox", "no statically linked one is installed", "apt-get install busybox-static")
        say(f"building and importing {' and '.join(NAMES)}")
        archive = self.home / "samples.tar"
        write_archive(archive, busybox)
        self.ctr("images", "import", str(archive))
        deadline = time.monotonic() + IMPORT_S
        while not all(name in self._managed() for name in NAMES):
            if time.monotonic() > deadline:
                raise ProvisionError("sample images", "imported, but the CRI does not list them", f"read {self.log}")
            time.sleep(detached.POLL_S)

    def _managed(self) -> str:
        return self.ctr("images", "ls", "-q", _MANAGED)
