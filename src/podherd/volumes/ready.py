"""What a volume needs to be made ready, and what becomes of it."""

from dataclasses import dataclass
from typing import NamedTuple

from podherd.cri.convert.contexts import pod_context
from podherd.cri.convert.host import Host
from podherd.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Site:
    """The pod whose volume it is, the pod's directory on the host, and facts of the host."""

    pod: Pod
    pod_dir: str
    host: Host

    @property
    def group(self) -> int | None:
        """The pod's fsGroup, which owns every volume that is the pod's own; None for none."""
        group: int | None = pod_context(self.pod).get("fsGroup")
        return group


class Ready(NamedTuple):
    """A volume that containers can mount.

    path: on the host; empty for an image, which the runtime mounts. read_only: for every container, whatever it asks.
    image, pull_policy: of an image volume, else empty.
    """

    path: str
    read_only: bool = False
    image: str = ""
    pull_policy: str = ""
