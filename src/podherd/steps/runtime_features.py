"""What the runtime can do with mounts, asked when a container needs it: few do, and a runtime may be upgraded."""

import re
from typing import NamedTuple

from podherd.cri.client import Cri

_VERSION = re.compile(r"v?(\d+)\.(\d+)")


class _Since(NamedTuple):
    """Versions that first mount images, and parts of images; older ones leave the field unread, without an error."""

    images: tuple[int, int]
    parts: tuple[int, int]


_SINCE = {"containerd": _Since((2, 1), (2, 2)), "cri-o": _Since((1, 31), (1, 33))}


async def lacks_images(cri: Cri, part: bool) -> tuple[str, str]:
    """Why the runtime cannot mount an image, or a part of one, and what could; two empty texts when it can.

    A runtime that is not known here is taken at its word: it gets the mount. Raises CriError.
    """
    told = await cri.version()
    found = _VERSION.match(told.runtime_version)
    if (since := _SINCE.get(told.runtime_name.lower())) is None or found is None:
        return "", ""
    wanted = since.parts if part else since.images
    if (int(found[1]), int(found[2])) >= wanted:
        return "", ""
    what = "a part of an image" if part else "an image"
    reason = f"{told.runtime_name} {told.runtime_version} cannot mount {what} and would leave it out"
    return reason, f"use {told.runtime_name} {wanted[0]}.{wanted[1]} or later"


async def recursive_read_only(cri: Cri) -> tuple[str, ...]:
    """The runtime handlers whose mounts can be read-only with all that is mounted below. Raises CriError."""
    handlers = (await cri.status()).runtime_handlers
    return tuple(one.name for one in handlers if one.features.recursive_read_only_mounts)
