"""API objects as volumes and variables find them."""

from base64 import b64encode
from typing import Any

from podherd.machines.objects.address import not_found
from podherd.machines.objects.found import Found, Lookup
from podherd.wire.objects import Ref


def packed(values: dict[str, bytes]) -> dict[str, str]:
    """Values as the API has them: base64."""
    return {key: b64encode(value).decode() for key, value in values.items()}


def config_map(name: str, data: dict[str, str], namespace: str = "d", **more: Any) -> tuple[Ref, Found]:
    """A ConfigMap that is there."""
    return Ref("ConfigMap", namespace, name), Found({"metadata": {"name": name}, "data": data, **more})


def secret(name: str, data: dict[str, bytes], namespace: str = "d", **more: Any) -> tuple[Ref, Found]:
    """A Secret that is there."""
    return Ref("Secret", namespace, name), Found({"metadata": {"name": name}, "data": packed(data), **more})


def look_in(*known: tuple[Ref, Found]) -> Lookup:
    """Finds these; all else is not there."""
    table = dict(known)
    return lambda ref: table.get(ref) or Found(problem=not_found(ref), missing=True)
