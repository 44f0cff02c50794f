"""Whether a node is one that a pod may run on: node selector, required affinity, name, taints.

The meaning is that of Kubernetes' component-helpers (nodeaffinity, corev1), which the kubelet asks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from podherd.model.pod import Body
from podherd.wire.node import Taint

NAME_FIELD = "metadata.name"
"""The only field of a node that `matchFields` may name."""


def matches_node(spec: Body, name: str, labels: Mapping[str, str]) -> bool:
    """Both the node selector and, where there is one, the required node affinity."""
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term(term, name, labels) for term in required.get("nodeSelectorTerms") or ())


def _term(term: Body, name: str, labels: Mapping[str, str]) -> bool:
    """All of its requirements; a term without any matches nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_expression(each, labels) for each in expressions) and all(_field(each, name) for each in fields)


def _expression(each: Body, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(each.get("key", "")), list(each.get("values") or ())
    match each.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            numbers = _number(value), _number(values[0] if len(values) == 1 else None)
            if numbers[0] is None or numbers[1] is None:
                return False
            return numbers[0] > numbers[1] if operator == "Gt" else numbers[0] < numbers[1]
    return False


def _number(text: Any) -> int | None:
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def _field(each: Body, name: str) -> bool:
    values = list(each.get("values") or ())
    if each.get("key") != NAME_FIELD or len(values) != 1:
        return False
    return (values[0] == name) == (each.get("operator") == "In") and each.get("operator") in ("In", "NotIn")


def tolerates(tolerations: Iterable[Body], taint: Taint) -> bool:
    """Whether one of the tolerations is for this taint."""
    return any(_is_for(each, taint) for each in tolerations)


def _is_for(toleration: Body, taint: Taint) -> bool:
    if (effect := toleration.get("effect")) and effect != taint.effect:
        return False
    if (key := toleration.get("key")) and key != taint.key:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and bool(key) and (toleration.get("value") or "") == taint.value
