"""What an API server's answer means: the object, or the v1.Status of a refusal as an ApiError."""

from collections.abc import Mapping
from typing import Any

import orjson

from podherd.errors import ApiError

_SHOWN = 200


def object_of(asked: str, data: bytes) -> dict[str, Any]:
    """The JSON object; empty for an empty answer. Raises ApiError for anything else."""
    if not data:
        return {}
    try:
        value = orjson.loads(data)
    except ValueError as error:
        raise ApiError(asked, 0, "", "the answer is not JSON", "see what answers at the server's URL") from error
    if not isinstance(value, dict):
        raise ApiError(asked, 0, "", "the answer is not an object", "see what answers at the server's URL")
    return value


def refusal(asked: str, status: int, headers: Mapping[str, str], data: bytes) -> ApiError:
    """An answer that is no success. asked: method and path."""
    try:
        told = orjson.loads(data)
    except ValueError:
        told = None
    if not isinstance(told, dict) or told.get("kind") != "Status":
        text = data[: _SHOWN * 4].decode(errors="replace").strip()[:_SHOWN]
        told = {"message": text or f"HTTP status {status}"}
    return of_status(asked, told, status, _seconds(headers.get("Retry-After")))


def of_status(asked: str, told: Mapping[str, Any], status: int = 0, retry_after_s: float = 0.0) -> ApiError:
    """A v1.Status. status: of HTTP; else that of the body counts."""
    details = told.get("details") or {}
    code = status or int(told.get("code") or 0)
    wait = retry_after_s or _seconds(details.get("retryAfterSeconds"))
    return ApiError(asked, code, str(told.get("reason") or ""), str(told.get("message") or "no reason given"), "", wait)


def _seconds(value: Any) -> float:
    """Of a Retry-After; a date in it, which no API server sends, is 0."""
    try:
        return max(0.0, float(value or 0))
    except (TypeError, ValueError):
        return 0.0
