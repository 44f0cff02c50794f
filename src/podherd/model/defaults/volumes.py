"""Defaults of volumes, by kind; a volume without a source is an emptyDir."""

from collections.abc import Callable
from typing import Any

from podherd.model.defaults.images import default_pull_policy

_FILE_MODE = 0o644
_TOKEN_LIFE_S = 3600
Source = dict[str, Any]


def set_volume_defaults(volume: Source) -> None:
    """Fill one volume, in place."""
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}
    for kind, fill in _FILLS.items():
        if kind in volume:
            fill(volume[kind])


def _empty_dir(source: Source) -> None:
    if "sizeLimit" in source:
        source["sizeLimit"] = str(source["sizeLimit"])


def _host_path(source: Source) -> None:
    source.setdefault("type", "")


def _files(source: Source) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _downward(source: Source) -> None:
    _files(source)
    _downward_items(source)


def _downward_items(source: Source) -> None:
    for item in source.get("items", ()):
        if field := item.get("fieldRef"):
            field.setdefault("apiVersion", "v1")


def _projected(source: Source) -> None:
    _files(source)
    for part in source.get("sources", ()):
        _downward_items(part.get("downwardAPI", {}))
        if token := part.get("serviceAccountToken"):
            token.setdefault("expirationSeconds", _TOKEN_LIFE_S)


def _image(source: Source) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = default_pull_policy(source.get("reference", ""))


def _iscsi(source: Source) -> None:
    source["iscsiInterface"] = source.get("iscsiInterface") or "default"


_FILLS: dict[str, Callable[[Source], None]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "configMap": _files,
    "secret": _files,
    "downwardAPI": _downward,
    "projected": _projected,
    "image": _image,
    "iscsi": _iscsi,
}
