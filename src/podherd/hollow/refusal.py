"""How a hollow call fails: the gRPC code and text that containerd 2 answers with for the same mistake."""

from podherd.errors import PodherdError

CODES = (
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
"""The names a script or a fault may use, as gRPC spells them."""


class RefusedError(PodherdError):
    """A call is answered with an error: `code` is one of CODES, `text` goes to the client word for word."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__("hollow", f"{text} [{code}]")


def container_missing(container_id: str) -> RefusedError:
    """No container has this id (most calls; the text is containerd's)."""
    return RefusedError("NOT_FOUND", f'an error occurred when try to find container "{container_id}": not found')
