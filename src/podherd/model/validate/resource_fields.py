"""References to a container's requests and limits, as environment variables and downward API files may use them."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required
from podherd.model.quantity import QuantityError, milli_of

RESOURCES = (
    "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.ephemeral-storage",
)  # fmt: skip
HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def resource_field_problems(path: str, reference: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a v1.ResourceFieldSelector."""
    resource = reference.get("resource")
    if not resource:
        yield required(f"{path}.resource")
        return
    if resource not in RESOURCES and not resource.startswith(HUGE_PAGES):
        listed = ", ".join((*RESOURCES, *(f"{prefix}<SIZE>" for prefix in HUGE_PAGES)))
        yield Problem(f"{path}.resource", f'Unsupported value: "{resource}"; supported: {listed}')
    elif divisor := reference.get("divisor"):
        allowed = _CPU_DIVISORS if resource.endswith(".cpu") else _BYTE_DIVISORS
        if not _is_one_of(str(divisor), allowed):
            yield invalid(f"{path}.divisor", str(divisor), f"only divisor's values {', '.join(allowed)} are supported")


def _is_one_of(divisor: str, allowed: tuple[str, ...]) -> bool:
    """However it is spelled; zero stands for 1."""
    try:
        return milli_of(divisor) in (0, *map(milli_of, allowed))
    except QuantityError:
        return False
