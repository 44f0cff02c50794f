"""`podherd delete pod P`: says who alone can."""

from typing import Any

from podherd.agent.commands.options import DEFAULT_ROOT, NameOfKind, Namespace, PodKind, RootDir, named
from podherd.errors import PodherdError


class NotHereError(PodherdError):
    """The pod is its source's to end."""


def delete(
    kind: PodKind,
    pod: NameOfKind = "",
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Say where a static pod comes from.

    It ends when it is taken out there, and cannot be deleted from here.
    """
    from podherd.agent.admin import Admin

    raise whose(Admin(root_dir).get("pod", pod=named(kind, pod), namespace=namespace))


def whose(answer: dict[str, Any]) -> NotHereError:
    """Where the pod of an answer of `/v1/pod` comes from, and how it is ended there."""
    row = answer["row"]
    thing, source = f"pod {row['namespace']}/{row['name']}", row["source"]
    if row["deleting"]:
        return NotHereError(thing, "is being stopped already", "podherd get pods")
    origin = origin_of(answer.get("cause") or "", source)
    if source == "file":
        named = origin or "a file of the manifest directory"
        mend = f"take it out of {origin}, or remove the file" if origin else "`podherd describe pod` may tell the file"
        return NotHereError(thing, f"is a static pod and comes from {named}", f"{mend}: the agent then stops it")
    if source == "http":
        named = origin or "the manifest URL"
        return NotHereError(thing, f"is a static pod and comes from {named}", "take it out there: the agent follows")
    if source == "api":
        return NotHereError(thing, "comes from the API server", "kubectl delete pod")
    mend = "the agent stops it by itself once it has read all of its sources; `podherd doctor` says what keeps it"
    return NotHereError(thing, "is in the runtime, and no source is known to want it", mend)


def origin_of(cause: str, source: str) -> str:
    """The file or URL in a pod's cause, which is `<source> <origin> <what happened>`; empty when it names none."""
    first, _, rest = cause.partition(" ")
    return rest.rpartition(" ")[0] if first == source else ""
