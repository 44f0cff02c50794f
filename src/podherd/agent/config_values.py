"""Words of flags and configuration files to plain values. Each raises ValueError with what would have been right."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from podherd.model.go_duration import seconds_of

Convert = Callable[[Any], Any]

HOLLOW = "hollow"
NO_LIMIT = 1_000_000
"""More than there can ever be of a thing that is counted on one node."""


def duration_s(value: Any) -> float:
    """Go's form of a duration, `1m30s`, in seconds; 0 or more."""
    if value == 0 and value is not False:
        return 0.0
    return seconds_of(value.strip().removeprefix("+") if isinstance(value, str) else value)


def period_s(default_s: float) -> Convert:
    """A duration of which zero means the default, as in the kubelet's configuration."""
    return lambda value: duration_s(value) or default_s


def period_us(value: Any) -> int:
    """A duration in whole microseconds, 1 ms to 1 s (the kernel's range of a CFS period)."""
    period = round(duration_s(value) * 1_000_000)
    if not 1_000 <= period <= 1_000_000:
        raise ValueError(f"{value!r} is not a duration from 1ms to 1s")
    return period


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def path(value: Any) -> Any:
    """An absolute path without a slash at its end; empty is None."""
    from pathlib import Path

    word = text(value)
    if not word:
        return None
    if not word.startswith("/"):
        raise ValueError(f"{value!r} is not an absolute path")
    return Path(word)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


def whole(least: int, most: int = 2**31 - 1) -> Convert:
    """An integer in a range."""

    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return value

    return convert


def one_of(*words: str) -> Convert:
    """One of a few words."""

    def convert(value: Any) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return text(value)

    return convert


def sysctls(value: Any) -> tuple[str, ...]:
    """Names of kernel parameters, or prefixes that end in `*`, each of a namespace that pods have of their own."""
    from podherd.model.sysctls import namespace_of

    names = texts(value)
    for name in names:
        if "*" in name[:-1] or not namespace_of(name):
            raise ValueError(f"{name!r} is not known to be namespaced (such as net.ipv4.tcp_mem, kernel.msg* or net.*)")
    return names


def ids_per_pod(value: Any) -> int:
    """`userNamespaces`: a mapping that holds `idsPerPod`, a multiple of 65536."""
    unit, largest = 65536, 1 << 26
    ids = value.get("idsPerPod", unit) if isinstance(value, Mapping) and not value.keys() - {"idsPerPod"} else None
    if not isinstance(ids, int) or isinstance(ids, bool) or not unit <= ids <= largest or ids % unit:
        raise ValueError(f"{value!r} is not idsPerPod: a multiple of {unit}, {largest} at most")
    return ids


def texts(value: Any) -> tuple[str, ...]:
    """A list of strings."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return tuple(text(item) for item in value)


def image_patterns(value: Any) -> tuple[str, ...]:
    """`preloadedImagesVerificationAllowlist`: names of images without tags, or prefixes that end in `/*`."""
    from podherd.model.pull_record import is_pattern

    patterns = texts(value)
    for pattern in patterns:
        if not is_pattern(pattern):
            raise ValueError(f"{pattern!r} is neither an image without tag and digest nor a prefix that ends in /*")
    return patterns


def headers(value: Any) -> tuple[tuple[str, str], ...]:
    """`staticPodURLHeader`: a mapping of names to lists of values."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping of header names to lists of values")
    return tuple((text(name), item) for name, items in value.items() for item in texts(items))


def header(word: str) -> tuple[str, str]:
    """`--manifest-url-header`: `Name: value`, or the kubelet's `Name:value`."""
    name, colon, value = word.partition(":")
    if not colon or not name.strip():
        raise ValueError(f"{word!r} is not NAME:VALUE")
    return name.strip(), value.strip()


def endpoint(value: Any) -> str:
    """A CRI socket as `unix:///path` (a bare path is one too), `hollow`, or empty for one that is to be found."""
    word = text(value)
    if word.startswith("/"):
        return f"unix://{word}"
    if word in ("", HOLLOW) or word.startswith("unix:///"):
        return word
    raise ValueError(f"{value!r} is neither unix:///path/to/cri.sock nor {HOLLOW}")


def url(value: Any) -> str:
    """An http or https URL."""
    word = text(value)
    if word and not re.match(r"https?://[^/\s]+", word):
        raise ValueError(f"{value!r} is not an http:// or https:// URL")
    return word
