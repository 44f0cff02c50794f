"""What the API server checks when a pod is created and a schema cannot say; runs on a defaulted, schema-valid object.

One generator of problems for each part of a pod. The texts keep the API's words (Required, Invalid, Duplicate,
Unsupported value) so that a reader of Kubernetes' errors knows them.
"""

from collections.abc import Iterator
from typing import Any

from podherd.model.problem import Problem
from podherd.model.validate.metadata import metadata_problems
from podherd.model.validate.pod import spec_problems
from podherd.model.validate.references import forbidden_reference


def problems(pod: dict[str, Any]) -> Iterator[Problem]:
    """Everything that is wrong with this pod, in the order of its fields."""
    yield from metadata_problems(pod["metadata"])
    yield from spec_problems(pod["spec"])


__all__ = ["forbidden_reference", "problems"]
