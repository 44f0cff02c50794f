"""Image references: the full form of a short one, and whether two mean the same (kubelet behaviour, section 3.6)."""

DEFAULT_REGISTRY = "docker.io"
DEFAULT_TAG = "latest"


def full_reference(image: str) -> str:
    """`nginx` -> `docker.io/library/nginx:latest`; a digest needs no tag."""
    first, slash, rest = image.partition("/")
    if not slash:
        image = f"{DEFAULT_REGISTRY}/library/{image}"
    elif not ("." in first or ":" in first or first == "localhost"):
        image = f"{DEFAULT_REGISTRY}/{image}"
    elif first == "index.docker.io":
        image = f"{DEFAULT_REGISTRY}/{rest}"
    if "@" in image or ":" in image.rpartition("/")[2]:
        return image
    return f"{image}:{DEFAULT_TAG}"


def is_id(image: str) -> bool:
    """Whether this is a bare image id (`sha256:…`), which names no repository."""
    return image.startswith("sha256:") or ("/" not in image and len(image) == 64 and _is_hex(image))


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)


def same_image(wanted: str, running: str) -> bool:
    """Whether a container that runs `running` may stay when the spec says `wanted`.

    What cannot be told apart is the same: an id against a name, nothing at all, a digest against a tag.
    """
    if not running or is_id(running) != is_id(wanted):
        return True
    if is_id(wanted):
        return wanted.removeprefix("sha256:") == running.removeprefix("sha256:")
    one, other = full_reference(wanted), full_reference(running)
    if ("@" in one) != ("@" in other):
        return _repository(one) == _repository(other)
    return one == other


def _repository(image: str) -> str:
    path, slash, last = image.partition("@")[0].rpartition("/")
    return path + slash + last.partition(":")[0]
