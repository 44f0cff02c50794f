"""The images of the pretend node. Any reference pulls, unless the script says otherwise."""

import re
from dataclasses import dataclass
from hashlib import sha256

from cri_api.v1 import api_pb2 as api

from podherd.hollow.encode import block
from podherd.hollow.refusal import RefusedError

_REFERENCE = re.compile(
    r"(?P<name>[a-z0-9]+(?:[._-]+[a-z0-9]+|:[0-9]+(?=/)|/[a-z0-9]+)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?\Z"
)
_SIZE_BYTES = 4_000_000


def normalised(reference: str) -> str:
    """The full reference as containerd stores it: docker.io/library/ and :latest added, a tag beside a digest dropped.

    Raises RefusedError for what is no reference.
    """
    parts = _REFERENCE.match(reference)
    if parts is None:
        raise RefusedError("UNKNOWN", f'failed to parse image reference "{reference}": invalid reference format')
    name, tag, digest = parts["name"], parts["tag"], parts["digest"]
    domain, slash, _rest = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in domain and ":" not in domain and domain != "localhost":
        name = f"docker.io/{name}"
    return f"{name}@{digest}" if digest else f"{name}:{tag or 'latest'}"


@dataclass(frozen=True, slots=True)
class Image:
    """One image: what a container's status says of it, and its encoded runtime.v1.Image."""

    image_id: str
    tag: str
    """Its full reference with a tag; empty when it was pulled by digest."""
    digest: str
    """Its full reference with a digest."""
    body: bytes


def _made(full: str, pinned: bool) -> Image:
    name, at, given = full.partition("@")
    image_id = "sha256:" + sha256(full.encode()).hexdigest()
    repository = name if at else full.rpartition(":")[0]
    digest = f"{repository}@{given or 'sha256:' + sha256(image_id.encode()).hexdigest()}"
    message = api.Image(
        id=image_id, repo_tags=[] if at else [full], repo_digests=[digest], size=_SIZE_BYTES, pinned=pinned
    )
    return Image(image_id, "" if at else full, digest, message.SerializeToString())


class Images:
    """The store, found by id (with or without `sha256:`, shortened too), by any form of a tag or by digest."""

    def __init__(self, preloaded: tuple[str, ...] = ()) -> None:
        self._by_id: dict[str, Image] = {}
        self._by_reference: dict[str, Image] = {}
        self._known: dict[str, Image] = {}
        self._listed: bytes | None = None
        for reference in preloaded:
            self.add(reference, pinned="/pause" in reference)

    def add(self, reference: str, pinned: bool = False) -> Image:
        """Pull: the image of this reference, made when it was not there. Raises RefusedError."""
        if (image := self._known.get(reference)) is None:
            full = normalised(reference)
            if (image := self._by_reference.get(full)) is None:
                image = _made(full, pinned)
                self._by_id[image.image_id] = image
                self._by_reference[full] = self._by_reference[image.digest] = image
                self._listed = None
            self._known[reference] = image
        return image

    def find(self, reference: str) -> Image | None:
        """The image of an id or reference; None when it is not there."""
        if (image := self._known.get(reference) or self._by_id.get(reference)) is not None:
            return image
        image = self._by_short_id(reference)
        if image is None and _REFERENCE.match(reference):
            image = self._by_reference.get(normalised(reference))
        if image is not None:
            self._known[reference] = image
        return image

    def _by_short_id(self, reference: str) -> Image | None:
        digits = reference.removeprefix("sha256:")
        if not re.fullmatch("[0-9a-f]{4,64}", digits):
            return None
        found = [image for key, image in self._by_id.items() if key.startswith(digits, 7)]
        return found[0] if len(found) == 1 else None

    def remove(self, reference: str) -> None:
        """Forget an image and all its names; harmless when it is not there (containers keep running)."""
        image = self.find(reference)
        if image is None:
            return
        del self._by_id[image.image_id]
        for names in (self._by_reference, self._known):
            for name in [name for name, held in names.items() if held is image]:
                del names[name]
        self._listed = None

    def clear(self) -> None:
        """Forget all."""
        for table in (self._by_id, self._by_reference, self._known):
            table.clear()
        self._listed = None

    def listed(self) -> bytes:
        """The whole ListImagesResponse."""
        if self._listed is None:
            self._listed = b"".join(block(b"\x0a", image.body) for image in self._by_id.values())
        return self._listed

    def __len__(self) -> int:
        return len(self._by_id)
