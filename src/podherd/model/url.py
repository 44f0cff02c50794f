"""A URL as it may be shown: where it leads, without what opens the door there."""

from urllib.parse import urlsplit


def without_secrets(url: str) -> str:
    """The URL without name, password and fragment; a query, which may hold a token, is `?…`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "…"
    query = "…" if parts.query else ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="").geturl()
