"""One part of a path made of what a manifest or a runtime says: it must not lead anywhere else."""

from podherd.errors import PodherdError


def path_part(what: str, value: str) -> str:
    """The value itself. Raises PodherdError for one that is empty, `.`, `..`, or holds a slash or NUL.

    Pods that only the runtime knows are named by whoever made them, so nothing has checked their words before.
    """
    if value in ("", ".", "..") or "/" in value or "\0" in value:
        raise PodherdError(f"{what} {value!r}", "cannot be part of a path", "remove the pod with crictl")
    return value
