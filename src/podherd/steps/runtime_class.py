"""The runtime's handler that a pod's RuntimeClass names (kubelet behaviour, section 3.11)."""

from podherd.errors import PodherdError
from podherd.machines.objects.references import runtime_class
from podherd.steps.context import Context
from podherd.steps.objects import lookup


class RuntimeClassError(PodherdError):
    """The class is not known; `reason` is the kubelet's sentence."""

    def __str__(self) -> str:
        """The kubelet's sentence alone, as events and statuses have it."""
        return self.reason


def handler_of(context: Context) -> str:
    """Empty for the runtime's default. Raises RuntimeClassError.

    Where there is no API server to ask, the class's name is taken for the handler's.
    """
    name: str = context.pod.body["spec"].get("runtimeClassName") or ""
    if not name or context.tools.objects is None or context.pod.source != "api":
        return name
    found = lookup(context)(runtime_class(name))
    if found.body is None:
        why = found.problem if found.missing else f"failed to lookup RuntimeClass {name}: {found.problem}"
        raise RuntimeClassError(f"RuntimeClass {name}", why)
    return str(found.mapping.get("handler") or "")
