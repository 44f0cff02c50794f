"""What a user should hear about a pod that runs all the same."""

from typing import NamedTuple

from podherd.cri.convert.dns import resolver_of
from podherd.cri.convert.host import Host
from podherd.model.pod import Pod
from podherd.model.quantity import is_fractional
from podherd.model.settings import Settings

_BYTES = ("memory", "ephemeral-storage")


class Caution(NamedTuple):
    """A Warning event about the pod: the kubelet's reason, and the message."""

    reason: str
    message: str


def cautions(pod: Pod, settings: Settings, host: Host) -> list[Caution]:
    """DNS lines left out or without a cluster DNS, and parts of a byte (case SPEC-3). Empty for nearly every pod."""
    found = [Caution(reason, message) for reason, message in resolver_of(pod, settings, host).cautions]
    for container in pod.every_container:
        for kind, amounts in (container.body.get("resources") or {}).items():
            for name in _BYTES:
                if isinstance(amounts, dict) and is_fractional(amounts.get(name, 0)):
                    field = f"containers[{container.name}].resources.{kind}[{name}]"
                    text = f"fractional byte value {amounts[name]!r} in {field} is rounded up"
                    found.append(Caution("FractionalBytes", text))
    return found
