"""Version, Status and RuntimeConfig of runtime.v1.RuntimeService."""

from cri_api.v1 import api_pb2 as api

from podherd import __version__
from podherd.hollow.door import Call
from podherd.hollow.pace import DONE
from podherd.hollow.sandboxes import HANDLERS


class NodeCalls:
    """`cgroup_driver` is cgroupfs or systemd."""

    def __init__(self, cgroup_driver: str = "cgroupfs") -> None:
        driver = api.SYSTEMD if cgroup_driver == "systemd" else api.CGROUPFS
        linux = api.LinuxRuntimeConfiguration(cgroup_driver=driver)
        self._config = api.RuntimeConfigResponse(linux=linux).SerializeToString()
        self._version = api.VersionResponse(
            version="0.1.0", runtime_name="hollow", runtime_version=__version__, runtime_api_version="v1"
        ).SerializeToString()
        self._ready = {"RuntimeReady": (True, "", ""), "NetworkReady": (True, "", "")}
        self._status = self._encoded()

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        return {
            "Version": lambda _request: self._version,
            "Status": lambda _request: self._status,
            "RuntimeConfig": lambda _request: self._config,
            "UpdateRuntimeConfig": lambda _request: DONE,
        }

    def set_ready(self, condition: str, ready: bool, reason: str, message: str) -> None:
        """Say from now on that RuntimeReady or NetworkReady is so."""
        self._ready[condition] = (ready, reason, message)
        self._status = self._encoded()

    def _encoded(self) -> bytes:
        features = api.RuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
        conditions = [
            api.RuntimeCondition(type=name, status=ready, reason=reason, message=message)
            for name, (ready, reason, message) in self._ready.items()
        ]
        return api.StatusResponse(
            status=api.RuntimeStatus(conditions=conditions),
            runtime_handlers=[api.RuntimeHandler(name=name, features=features) for name in HANDLERS],
            features=api.RuntimeFeatures(supplemental_groups_policy=True),
        ).SerializeToString()
