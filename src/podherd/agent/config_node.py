"""Words about the node - its labels, taints, addresses, what is kept back of it - to plain values.

Each raises ValueError with what would have been right (kubelet behaviour, sections 7, 8.1 and 16).
"""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from podherd.agent.config_values import duration_s, text
from podherd.model.node_labels import DEFAULT_LABELS

Pairs = tuple[tuple[str, str], ...]
Taint = tuple[str, str, str]

_WORD = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\Z")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_HUGEPAGES = "hugepages-"
_PROTECTED = ("kubernetes.io", "k8s.io")
_OPEN = ("kubelet.kubernetes.io", "node.kubernetes.io")

DEFAULT_EVICTION_HARD = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
_SIGNALS = (*DEFAULT_EVICTION_HARD, "containerfs.available", "containerfs.inodesFree", "pid.available")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%\Z")


def node_labels(word: str) -> Pairs:
    """`--node-labels`: `key=value,…`, only such as NodeRestriction lets a node give itself."""
    pairs = [part.partition("=") for part in word.split(",") if part]
    for key, equals, value in pairs:
        if not equals:
            raise ValueError(f"{key!r} is not key=value")
        _check_key(key)
        _check_label_value(value)
        if not _may_label(key):
            raise ValueError(
                f"{key!r} is in a namespace of Kubernetes and none of {', '.join(f'{prefix}/*' for prefix in _OPEN)}, "
                f"{', '.join(sorted(DEFAULT_LABELS))}"
            )
    return tuple({key: value for key, _, value in pairs}.items())


def _may_label(key: str) -> bool:
    prefix = key.rpartition("/")[0]
    return not _below(prefix, _PROTECTED) or key in DEFAULT_LABELS or _below(prefix, _OPEN)


def _below(prefix: str, domains: tuple[str, ...]) -> bool:
    return any(prefix == domain or prefix.endswith(f".{domain}") for domain in domains)


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    domain = not slash or (len(prefix) <= 253 and _DOMAIN.match(prefix))
    if not (domain and len(name) <= 63 and _WORD.match(name)):
        raise ValueError(f"{key!r} is not a key such as example.com/name: a name of 63 letters, digits and -_. at most")


def _check_label_value(value: str) -> None:
    if value and not (len(value) <= 63 and _WORD.match(value)):
        raise ValueError(f"{value!r} is not a value: 63 letters, digits and -_. at most")


def taint_words(word: str) -> tuple[Taint, ...]:
    """`--register-with-taints`: `key=value:effect` or `key:effect`, separated by commas."""
    return _unique(_taint(part) for part in word.split(",") if part)


def _taint(word: str) -> Taint:
    left, colon, effect = word.rpartition(":")
    key, _, value = left.partition("=")
    if not colon:
        raise ValueError(f"{word!r} is not key=value:effect")
    return _checked_taint(key, value, effect)


def taints(value: Any) -> tuple[Taint, ...]:
    """`registerWithTaints`: a list of mappings of key, value and effect."""
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(f"{value!r} is not a list of taints")
    for one in value:
        if unknown := one.keys() - {"key", "value", "effect", "timeAdded"}:
            raise ValueError(f"{sorted(unknown)[0]!r} is not a field of a taint")
    return _unique(_checked_taint(*(text(one.get(name, "")) for name in ("key", "value", "effect"))) for one in value)


def _checked_taint(key: str, value: str, effect: str) -> Taint:
    _check_key(key)
    _check_label_value(value)
    if effect not in _EFFECTS:
        raise ValueError(f"{effect!r} is no effect of a taint: {', '.join(_EFFECTS)}")
    return key, value, effect


def _unique(found: Any) -> tuple[Taint, ...]:
    every = tuple(found)
    if len({(key, effect) for key, _, effect in every}) < len(every):
        raise ValueError("two taints have the same key and effect")
    return every


def node_ips(word: str) -> tuple[str, ...]:
    """`--node-ip`: one address, or one of each family; empty or `0.0.0.0`: what is found on this machine."""
    if word in ("", "0.0.0.0"):
        return ()
    try:
        found = [ip_address(part.strip()) for part in word.split(",")]
    except ValueError:
        raise ValueError(f"{word!r} is not an IP address, or two with a comma between") from None
    if len(found) > 2 or len({ip.version for ip in found}) < len(found):
        raise ValueError(f"{word!r} is more than one address of each family")
    for ip in found:
        if ip.is_multicast or ip.is_link_local or ip.is_unspecified:
            raise ValueError(f"{ip} is no address at which a node is reached")
    return tuple(map(str, found))


def reserved(value: Any) -> Pairs:
    """`kubeReserved`, `systemReserved`: a mapping of resources to quantities."""
    pairs = _texts(value)
    for name, quantity in pairs:
        if name not in _RESERVABLE and not name.startswith(_HUGEPAGES):
            raise ValueError(f"{name!r} cannot be reserved: {', '.join(_RESERVABLE)} can")
        _check_quantity(quantity)
    return pairs


def eviction(value: Any) -> Pairs:
    """`evictionHard`: a mapping of signals to quantities or percentages."""
    pairs = _texts(value)
    for name, threshold in pairs:
        if name not in _SIGNALS:
            raise ValueError(f"{name!r} is no signal: {', '.join(_SIGNALS)}")
        percent = _PERCENT.match(threshold)
        if (percent and float(percent[1]) > 100) or (threshold.endswith("%") and not percent):
            raise ValueError(f"{threshold!r} is not a percentage from 0% to 100%")
        if not percent:
            _check_quantity(threshold)
    return pairs


def with_defaults(given: Pairs, merge: bool) -> Pairs:
    """The thresholds that are given, in place of the defaults; those not given stand only when they are merged."""
    stand = DEFAULT_EVICTION_HARD if merge else dict.fromkeys(DEFAULT_EVICTION_HARD, "0%")
    return tuple((stand | dict(given)).items())


def by_priority(value: Any) -> tuple[tuple[int, float], ...]:
    """`shutdownGracePeriodByPodPriority`: a list of priority and shutdownGracePeriodSeconds, by priority."""
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(f"{value!r} is not a list of priority and shutdownGracePeriodSeconds")
    found = [(one.get("priority", 0), one.get("shutdownGracePeriodSeconds", 0)) for one in value]
    if not all(type(number) is int for pair in found for number in pair) or any(grace_s < 0 for _, grace_s in found):
        raise ValueError("priority and shutdownGracePeriodSeconds are whole numbers, the second 0 or more")
    return tuple(sorted((priority, float(grace_s)) for priority, grace_s in found))


def lease_s(value: Any) -> int:
    """`nodeLeaseDurationSeconds`: 0 is the default."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number of seconds above 0")
    return value or 40


def grace_s(value: Any) -> float:
    """A period of a shutdown: none, or a second at least."""
    found = duration_s(value)
    if 0 < found < 1:
        raise ValueError(f"{value!r} is neither 0 nor at least 1s")
    return found


def _texts(value: Any) -> Pairs:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping")
    return tuple((text(name), text(one)) for name, one in value.items())


def _check_quantity(word: str) -> None:
    from podherd.model.quantity import QuantityError, bytes_of

    try:
        bytes_of(word)
    except QuantityError as error:
        raise ValueError(f"{word!r} {error.reason}") from error
