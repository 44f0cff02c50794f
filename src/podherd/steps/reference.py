"""Is this the name of an image? The OCI/Docker reference grammar, as a pure check (kubelet behaviour, 3.6)."""

import re
from functools import lru_cache

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])"
_WORD = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_NAME = rf"(?:{_HOST}(?::[0-9]+)?/)?{_WORD}(?:/{_WORD})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"({_NAME})(?::{_TAG})?(?:@{_DIGEST})?\Z")
_BARE_ID = re.compile(r"[a-f0-9]{64}\Z")
_NAME_MAX = 255


@lru_cache(maxsize=4096)
def problem(image: str) -> str:
    """Why `image` cannot be parsed, in the kubelet's words; empty when it can.

    The default host and the default tag are the runtime's to add; this only says whether it could.
    """
    if _BARE_ID.match(image):
        return f'couldn\'t parse image name "{image}": cannot specify 64-byte hexadecimal strings'
    match = _REFERENCE.match(image)
    if match is None:
        words = "repository name must be lowercase" if _REFERENCE.match(image.lower()) else "invalid reference format"
        return f'couldn\'t parse image name "{image}": {words}'
    if len(match[1]) > _NAME_MAX:
        return f'couldn\'t parse image name "{image}": repository name must not be more than {_NAME_MAX} characters'
    return ""
