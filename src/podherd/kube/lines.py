"""A stream of bytes to lines, in time that grows with the bytes alone, however long a line is."""


class Lines:
    """Feed it pieces as they come."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that this piece completes, without their newlines; empty ones are left out."""
        first, *rest = piece.split(b"\n")
        self._pieces.append(first)
        if not rest:
            return []
        done = [b"".join(self._pieces), *rest[:-1]]
        self._pieces = [rest[-1]]
        return [line for line in done if line.strip()]
