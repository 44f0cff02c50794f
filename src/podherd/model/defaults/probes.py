"""Defaults of probes and of the handlers that probes and lifecycle hooks share."""

from typing import Any

_PROBE = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def set_probe_defaults(probe: dict[str, Any]) -> None:
    """Fill one probe, in place; a zero counts as not given, as in the API."""
    for field, value in _PROBE:
        if not probe.get(field):
            probe[field] = value
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")
    set_handler_defaults(probe)


def set_handler_defaults(handler: dict[str, Any]) -> None:
    """Fill the HTTP part of a handler, in place."""
    if get := handler.get("httpGet"):
        get["path"] = get.get("path") or "/"
        get["scheme"] = get.get("scheme") or "HTTP"
