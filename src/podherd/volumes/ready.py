"""What a volume needs to be made ready, and what becomes of it."""

from dataclasses import dataclass
from typing import NamedTuple

from podherd.cri.convert.contexts import pod_context
from podherd.cri.convert.host import Host
from podherd.machines.objects.found import Lookup, nowhere
from podherd.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Site:
    """The pod whose volume it is, the pod's directory on the host, facts of the host, and where API objects are."""

    pod: Pod
    pod_dir: str
    host: Host
    look: Lookup = nowhere

    @property
    def group(self) -> int | None:
        """The pod's fsGroup, which owns every volume that is the pod's own; None for none."""
        group: int | None = pod_context(self.pod).get("fsGroup")
        return group

    @property
    def group_policy(self) -> str:
        """When a persistent volume is given to that group: `Always` or `OnRootMismatch` (fsGroupChangePolicy)."""
        return pod_context(self.pod).get("fsGroupChangePolicy") or "Always"


class Ready(NamedTuple):
    """A volume that containers can mount.

    path: on the host; empty for an image, which the runtime mounts. read_only: for every container, whatever it asks.
    image, pull_policy: of an image volume, else empty.
    """

    path: str
    read_only: bool = False
    image: str = ""
    pull_policy: str = ""
