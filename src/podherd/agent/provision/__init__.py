"""What a bare Debian machine needs to run real containers, without touching what is there already."""

from podherd.agent.provision.config import PAUSE
from podherd.agent.provision.containerd import Containerd
from podherd.agent.provision.ensure import Endpoint, ensure_runtime
from podherd.agent.provision.errors import ProvisionError
from podherd.agent.provision.images import BUSYBOX
from podherd.agent.provision.sockets import find_socket

__all__ = ["BUSYBOX", "PAUSE", "Containerd", "Endpoint", "ProvisionError", "ensure_runtime", "find_socket"]
