"""Flags and a KubeletConfiguration file to Settings. Flags win; an unknown field is an error that names the nearest.

A zero duration means the default, as in the kubelet. Nothing here looks at the host but
for the file, and for a kubeconfig.
"""

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podherd.agent.config_check import check
from podherd.agent.config_fields import ACTED, CRASH_LOOP, KNOWN, OWN, TOGETHER
from podherd.agent.config_node import eviction, with_defaults
from podherd.agent.config_values import NO_LIMIT, Convert, flag, period_s, whole
from podherd.errors import ConfigError, ManifestError
from podherd.model.document import decode
from podherd.model.nearest import nearest
from podherd.model.settings import Settings
from podherd.model.sockets import SOCKET_PATH_BYTES

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
ROOT_DIR = Path("/var/lib/podherd")
CRASH_LOOP_RANGE_S = (1.0, 300.0)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a start was told. settings.runtime_endpoint: `unix:///…`, `hollow`, or empty for one that is to be found."""

    settings: Settings
    not_acted: tuple[str, ...]
    """Fields of the file that are known and not acted on yet."""


def load(file: Path | None, flags: Mapping[str, Any]) -> Loaded:
    """Settings from the file, then the flags (by the names of Settings; None: not given). Raises ConfigError."""
    values, not_acted = read(file) if file else ({}, ())
    values |= {name: value for name, value in flags.items() if value is not None}
    values["node_name"] = (values.get("node_name") or socket.gethostname()).strip().lower()
    values.setdefault("root_dir", ROOT_DIR)
    values.setdefault("runtime_endpoint", "")
    settings = Settings(**values)
    if len(str(settings.admin_socket).encode()) > SOCKET_PATH_BYTES:
        reason = f"the path of the admin socket in it is longer than {SOCKET_PATH_BYTES} bytes"
        raise ConfigError(f"root dir {settings.root_dir}", reason, "choose a shorter --root-dir")
    check(settings)
    return Loaded(settings, not_acted)


def read(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The file's settings by their names, and its fields that are not acted on. Raises ConfigError."""
    thing = f"config {file}"
    try:
        body = decode(file.read_bytes(), thing, KIND)
    except OSError as error:
        raise ConfigError(thing, f"cannot be read: {error.strerror}", "check --config") from error
    except ManifestError as error:
        raise ConfigError(thing, error.reason, error.mend or "correct it at that place") from error
    if not isinstance(body, dict) or (body.get("apiVersion"), body.get("kind")) != (API_VERSION, KIND):
        mend = f"begin it with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        raise ConfigError(thing, f"is not a {KIND} of {API_VERSION}", mend)
    own = body.pop("podherd", {})
    fields = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    _refuse_unknown(thing, "", fields, (*ACTED, *TOGETHER, *KNOWN, "podherd"))
    values = _convert(thing, "", fields, ACTED) | _own(thing, own) | _pulls(thing, fields) | _crash_loop(thing, fields)
    values |= _eviction(thing, fields) | _node_status(thing, fields)
    return values, tuple(sorted(KNOWN & fields.keys()))


def _own(thing: str, block: Any) -> dict[str, Any]:
    if not isinstance(block, dict):
        raise ConfigError(thing, "podherd: is not a mapping", f"it holds {', '.join(OWN)}")
    _refuse_unknown(thing, "podherd.", block, OWN)
    return _convert(thing, "podherd.", block, OWN)


def _refuse_unknown(thing: str, prefix: str, fields: Mapping[str, Any], known: Iterable[str]) -> None:
    names = tuple(known)
    for name in fields:
        if name not in names:
            near = nearest(name, names)
            mend = f"did you mean {prefix}{near}?" if near else "remove it, or check its place in the file"
            raise ConfigError(thing, f"{prefix}{name}: unknown field", mend)


def _convert(
    thing: str, prefix: str, fields: Mapping[str, Any], table: Mapping[str, tuple[str, Convert]]
) -> dict[str, Any]:
    found = {}
    for name, (setting, convert) in table.items():
        if name in fields:
            found[setting] = _value(thing, prefix + name, fields[name], convert)
    return {setting: value for setting, value in found.items() if value is not None}


def _value(thing: str, field: str, value: Any, convert: Convert) -> Any:
    try:
        return convert(value)
    except ValueError as error:
        raise ConfigError(thing, f"{field}: {error}", "correct the field") from error


def _pulls(thing: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Serial pulls unless `serializeImagePulls: false`; then as many at once as `maxParallelImagePulls` says."""
    serial = _value(thing, "serializeImagePulls", fields.get("serializeImagePulls", True), flag)
    most = _value(
        thing, "maxParallelImagePulls", fields.get("maxParallelImagePulls", 1 if serial else NO_LIMIT), whole(1)
    )
    if serial and most > 1:
        raise ConfigError(thing, "maxParallelImagePulls: is more than 1", "set serializeImagePulls: false beside it")
    return {"max_parallel_pulls": most}


def _crash_loop(thing: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    block = fields.get("crashLoopBackOff", {})
    if not isinstance(block, dict):
        raise ConfigError(thing, "crashLoopBackOff: is not a mapping", f"it holds {', '.join(CRASH_LOOP)}")
    _refuse_unknown(thing, "crashLoopBackOff.", block, CRASH_LOOP)
    if not block:
        return {}
    (name, value), (least, most) = next(iter(block.items())), CRASH_LOOP_RANGE_S
    period_s = _value(thing, f"crashLoopBackOff.{name}", value, CRASH_LOOP[name])
    if not least <= period_s <= most:
        raise ConfigError(thing, f"crashLoopBackOff.{name}: {value!r} is not from 1s to 300s", "correct the field")
    return {"crash_loop_max_s": period_s}


def _eviction(thing: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Thresholds that are given replace all defaults, unless `mergeDefaultEvictionSettings`."""
    merge = _value(thing, "mergeDefaultEvictionSettings", fields.get("mergeDefaultEvictionSettings", False), flag)
    if fields.get("evictionHard") is None:
        return {}
    given = _value(thing, "evictionHard", fields["evictionHard"], eviction)
    return {"eviction_hard": with_defaults(given, merge)}


def _node_status(thing: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """How often the node's status is reported, changed or not: as often as it is looked at, if only that is set."""
    names = ("nodeStatusUpdateFrequency", "nodeStatusReportFrequency")
    update_s, report_s = (_value(thing, name, fields.get(name, 0), period_s(0)) for name in names)
    given = {"node_status_update_s": update_s, "node_status_report_s": report_s or update_s}
    return {name: value for name, value in given.items() if value}
