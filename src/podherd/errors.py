"""The agent's own errors: each names the thing, the reason and the mend.

A library's exception never crosses a room's border: it is chained as the cause of one of these.
"""


class PodherdError(Exception):
    """Base of every error that a user may see.

    thing: what it is about (a file and field, a pod, a socket). reason: what is wrong with it.
    mend: what the user can do next; empty when nothing can be done but wait.
    """

    def __init__(self, thing: str, reason: str, mend: str = "") -> None:
        self.thing = thing
        self.reason = reason
        self.mend = mend
        super().__init__(f"{thing}: {reason}" + (f" ({mend})" if mend else ""))


class ConfigError(PodherdError):
    """A flag or a field of the configuration cannot be used."""


class ManifestError(PodherdError):
    """A manifest cannot become a pod; `thing` is the file or URL, `reason` starts with the field."""


class RuntimeRefusedError(PodherdError):
    """The runtime behind the socket is not one that podherd can drive."""


class CriError(PodherdError):
    """A CRI call failed; `code` is the gRPC status code's name, such as `NOT_FOUND`."""

    def __init__(self, thing: str, code: str, reason: str, mend: str = "") -> None:
        self.code = code
        super().__init__(thing, reason, mend)

    @property
    def as_go(self) -> str:
        """`rpc error: code = NotFound desc = no such thing`, as the kubelet shows an error that it leaves as it is."""
        code = "Canceled" if self.code == "CANCELLED" else self.code.title().replace("_", "")
        return f"rpc error: code = {code} desc = {self.reason}"


class ApiError(PodherdError):
    """The API server refused a request, or could not be asked.

    status: the HTTP status; 0 when there was no answer. code: the reason of its v1.Status, such as `NotFound`,
    `AlreadyExists`, `Conflict`, `Forbidden`, `Expired`; empty when it gave none. retry_after_s: how long to wait.
    """

    def __init__(
        self, thing: str, status: int, code: str, reason: str, mend: str = "", retry_after_s: float = 0.0
    ) -> None:
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        super().__init__(thing, reason, mend)


class ContainerConfigError(PodherdError):
    """A container's spec cannot be carried out here: the kubelet's CreateContainerConfigError. `thing` is the field.

    words: the kubelet's own sentence where it has one, for events and status that tools match; else all of the error.
    """

    def __init__(self, thing: str, reason: str, mend: str = "", words: str = "") -> None:
        super().__init__(thing, reason, mend)
        self.words = words or str(self)


class TruncatedError(PodherdError):
    """Bytes on the wire end in the middle of a value."""


class WireError(PodherdError):
    """A frame between two actors cannot be read, or may not be sent on that route."""
