"""Where CSI volumes stand below the root directory, as the kubelet has them (kubelet behaviour, section 13.7)."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from podherd.machines.objects.references import CSI_PLUGIN, attached_as
from podherd.volumes.csi.volume import CsiVolume

IN_POD = "kubernetes.io~csi"
DATA = "vol_data.json"


@dataclass(frozen=True, slots=True)
class Held:
    """A volume as its vol_data.json tells of it: enough to give it back. directory: that of the file.

    published: all that was to be done for the pod was done.
    """

    directory: str
    driver: str
    handle: str
    ephemeral: bool
    published: bool

    @property
    def attached_as(self) -> str:
        """Its name in the node's status."""
        return attached_as(self.driver, self.handle)

    @property
    def target(self) -> str:
        """Where it is published."""
        return f"{self.directory}/mount"


def pod_place(pod_dir: str, volume: CsiVolume) -> str:
    """`<pod>/volumes/kubernetes.io~csi/<name>`."""
    return f"{pod_dir}/volumes/{IN_POD}/{volume.name}"


def global_place(root: str, driver: str, handle: str) -> str:
    """`<root>/plugins/kubernetes.io/csi/<driver>/<hash>`; it is staged at `globalmount` there."""
    return f"{root}/plugins/{CSI_PLUGIN}/{driver}/{sha256(handle.encode()).hexdigest()}"


def save(directory: str, data: Mapping[str, str]) -> None:
    """Write the directory's vol_data.json, whole or not at all. Raises OSError."""
    os.makedirs(directory, 0o750, exist_ok=True)
    new = f"{directory}/.{DATA}"
    with open(new, "w") as file:
        json.dump(data, file)
    os.rename(new, f"{directory}/{DATA}")


def held(directory: str) -> Held | None:
    """What the directory's vol_data.json says; None where there is none that can be read."""
    try:
        with open(f"{directory}/{DATA}", "rb") as file:
            data = json.load(file)
        ephemeral = data.get("volumeLifecycleMode") == "Ephemeral"
        return Held(directory, data["driverName"], data["volumeHandle"], ephemeral, "published" in data)
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def directories(pod_dir: str) -> Iterator[str]:
    """Of every CSI volume that the pod may have."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(f"{pod_dir}/volumes/{IN_POD}") as entries:
        yield from sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))


def is_held(root: str, volume: Held) -> bool:
    """Whether another pod directory of the node has the volume too. Blocking; looks through all pods."""
    with suppress(FileNotFoundError), os.scandir(f"{root}/pods") as pods:
        for pod in pods:
            others = (held(each) for each in directories(pod.path) if each != volume.directory)
            if any(each and (each.driver, each.handle) == (volume.driver, volume.handle) for each in others):
                return True
    return False


def forget(directory: str) -> None:
    """Remove a volume's directory, once nothing is published there; what is not empty stays. Raises OSError."""
    for name in (DATA, f".{DATA}"):
        with suppress(FileNotFoundError):
            os.unlink(f"{directory}/{name}")
    with suppress(FileNotFoundError):
        os.rmdir(directory)


def rmdir(path: str) -> None:
    """Remove an empty directory that may be gone already. Raises OSError."""
    with suppress(FileNotFoundError):
        os.rmdir(path)
