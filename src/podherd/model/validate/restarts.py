"""A container's own restart policy and rules (KEP-5307), and what a resize does to it (KEP-1287)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, duplicate, invalid, unsupported_value

POLICIES = ("Always", "Never", "OnFailure")
ACTIONS = ("Restart", "RestartAllContainers")
OPERATORS = ("In", "NotIn")
MAX_RULES = 20
MAX_EXIT_CODES = 255
_RESIZABLE = ("cpu", "memory")
_ON_RESIZE = ("NotRequired", "RestartContainer")


def restart_problems(path: str, container: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `restartPolicy` and `restartPolicyRules` of a container of any kind."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    if policy is not None:
        yield from unsupported_value(f"{path}.restartPolicy", policy, POLICIES)
    elif rules:
        reason = "Required value: must specify restartPolicy when restart rules are used"
        yield Problem(f"{path}.restartPolicy", reason)
    if len(rules) > MAX_RULES:
        yield _too_many(f"{path}.restartPolicyRules", len(rules), MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _rule(f"{path}.restartPolicyRules[{index}]", rule)


def _rule(path: str, rule: Mapping[str, Any]) -> Iterator[Problem]:
    yield from unsupported_value(f"{path}.action", rule["action"], ACTIONS)
    if (codes := rule.get("exitCodes")) is None:
        yield Problem(f"{path}.exitCodes", "Required value: must be specified")
        return
    yield from unsupported_value(f"{path}.exitCodes.operator", codes["operator"], OPERATORS)
    if (count := len(codes.get("values", ()))) > MAX_EXIT_CODES:
        yield _too_many(f"{path}.exitCodes.values", count, MAX_EXIT_CODES)


def _too_many(path: str, count: int, most: int) -> Problem:
    return Problem(path, f"Too many: {count}: must have at most {most} items")


def resize_problems(
    path: str, policies: Sequence[Mapping[str, Any]], pod_policy: str, plain_init: bool
) -> Iterator[Problem]:
    """What is wrong with `resizePolicy`; plain_init: an init container that is no sidecar."""
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        here, resource, deed = f"{path}.resizePolicy[{index}]", policy["resourceName"], policy["restartPolicy"]
        if resource in seen:
            yield duplicate(here, resource)
        seen.add(resource)
        yield from unsupported_value(f"{here}.resourceName", resource, _RESIZABLE)
        yield from unsupported_value(f"{here}.restartPolicy", deed, _ON_RESIZE)
        if deed == "RestartContainer" and pod_policy == "Never":
            yield invalid(here, deed, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
        elif deed == "RestartContainer" and plain_init:
            reason = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{here}.restartPolicy", deed, reason)
