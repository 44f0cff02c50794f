"""Texts that quote a spec may be of any length: as much of one as a status, an event or a journal should hold."""

LONGEST = 12 << 10
"""Characters. The API server takes 1.5 MiB of a pod, its spec included."""


def clipped(text: str) -> str:
    """The text, without the middle of one that is longer: what went wrong stands at an end."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[-half:]}"
