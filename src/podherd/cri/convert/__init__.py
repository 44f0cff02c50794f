"""Pods to CRI messages and CRI statuses to `wire.Observed`; pure (kubelet behaviour, sections 3.9 to 3.12).

What a pod asks for and this node cannot give is a ContainerConfigError: the kubelet's CreateContainerConfigError.
"""

from podherd.cri.convert.container import container_config
from podherd.cri.convert.host import Host
from podherd.cri.convert.mounts import mount
from podherd.cri.convert.observed import observed
from podherd.cri.convert.sandbox import sandbox_config
from podherd.cri.convert.warnings import Caution, cautions

__all__ = ["Caution", "Host", "cautions", "container_config", "mount", "observed", "sandbox_config"]
