"""Step 5: what the pod refers to is known before anything of it starts (kubelet behaviour, sections 2.4 and 3.12).

Services apart: they are waited for before the first container, as the kubelet reads them there.
"""

from podherd.cri.convert.services import service_variables
from podherd.errors import ContainerConfigError
from podherd.machines.objects.found import Lookup, nowhere
from podherd.machines.objects.references import has_links, services
from podherd.steps.context import Context
from podherd.wire.objects import Ref

DEADLINE_S = 10.0
UNREAD = "services have not yet been read at least once, cannot construct envvars"


class Objects:
    """Waits, and never fails: what is not known by the deadline fails whatever needs it, one volume, one container."""

    name = "objects"

    async def do(self, context: Context) -> None:
        """Only for pods of an API server; static ones may not refer to objects."""
        objects = context.tools.objects
        if objects is not None and context.starts and context.pod.source == "api":
            await objects.known(context.pod, DEADLINE_S, lambda ref: not _is_services(ref))


async def services_known(context: Context) -> None:
    """Wait for what the containers alone need, which was told of while the sandbox was made; never fails either."""
    objects = context.tools.objects
    if objects is not None and context.pod.source == "api":
        await objects.known(context.pod, DEADLINE_S, _is_services)


def _is_services(ref: Ref) -> bool:
    return ref.kind == "Services"


def lookup(context: Context) -> Lookup:
    """Where this sync's volumes and variables find their objects."""
    return context.tools.objects.get if context.tools.objects is not None else nowhere


def variables_of_services(context: Context) -> list[tuple[str, str]]:
    """What containers of this pod are told of services. Raises ContainerConfigError where they are not known."""
    pod = context.pod
    if context.tools.objects is None or pod.source != "api":
        return []
    refs = services(pod)
    found = {ref.namespace: context.tools.objects.get(ref).body for ref in refs}
    if None in found.values():
        raise ContainerConfigError("services", UNREAD, words=UNREAD)
    return service_variables(pod.namespace, has_links(pod), found)
