"""Security contexts of pods and containers."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required, unsupported_value
from podherd.model.validate.names import sysctl_name

_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_MAX_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def security_problems(path: str, context: Mapping[str, Any], host_users: bool = True) -> Iterator[Problem]:
    """What is wrong with the security context of one container; host_users: of a pod without its own users."""
    yield from id_problems(path, context)
    for field in ("seccompProfile", "appArmorProfile"):
        if profile := context.get(field):
            yield from _profile(f"{path}.{field}", profile)
    if (proc := context.get("procMount")) is not None:
        yield from unsupported_value(f"{path}.procMount", proc, ("Default", "Unmasked"))
        if proc == "Unmasked" and host_users:
            yield invalid(f"{path}.procMount", proc, "`hostUsers` must be false to use `Unmasked`")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _no_escalation(path, context)


def _no_escalation(path: str, context: Mapping[str, Any]) -> Iterator[Problem]:
    if context.get("privileged"):
        yield invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    added = context.get("capabilities", {}).get("add", ())
    if "CAP_SYS_ADMIN" in added or "SYS_ADMIN" in added:
        yield invalid(path, "", "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")


def id_problems(path: str, context: Mapping[str, Any]) -> Iterator[Problem]:
    """User and group ids must fit the kernel's range that Kubernetes allows."""
    for field in _IDS:
        if (number := context.get(field)) is not None and not 0 <= number <= _MAX_ID:
            yield invalid(f"{path}.{field}", number, f"must be between 0 and {_MAX_ID}, inclusive")
    for index, number in enumerate(context.get("supplementalGroups", ())):
        if not 0 <= number <= _MAX_ID:
            yield invalid(f"{path}.supplementalGroups[{index}]", number, f"must be between 0 and {_MAX_ID}, inclusive")


def pod_security_problems(context: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the security context of the pod."""
    path = "spec.securityContext"
    yield from id_problems(path, context)
    for field in ("seccompProfile", "appArmorProfile"):
        if profile := context.get(field):
            yield from _profile(f"{path}.{field}", profile)
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls", ())):
        if not sysctl["name"]:
            yield required(f"{path}.sysctls[{index}].name")
        elif why := sysctl_name(sysctl["name"]):
            yield invalid(f"{path}.sysctls[{index}].name", sysctl["name"], why)
        elif sysctl["name"] in seen:
            yield invalid(f"{path}.sysctls[{index}].name", sysctl["name"], "is there twice")
        seen.add(sysctl["name"])
    if (policy := context.get("fsGroupChangePolicy")) is not None:
        yield from unsupported_value(f"{path}.fsGroupChangePolicy", policy, ("OnRootMismatch", "Always"))
    if (policy := context.get("supplementalGroupsPolicy")) is not None:
        yield from unsupported_value(f"{path}.supplementalGroupsPolicy", policy, ("Merge", "Strict"))


def _profile(path: str, profile: Mapping[str, Any]) -> Iterator[Problem]:
    yield from unsupported_value(f"{path}.type", profile["type"], _PROFILES)
    local = profile.get("localhostProfile")
    if profile["type"] == "Localhost" and not local:
        yield Problem(f"{path}.localhostProfile", "Required value: must be set when type is Localhost")
    elif profile["type"] != "Localhost" and local:
        yield invalid(f"{path}.localhostProfile", local, "can only be set when type is Localhost")
    elif local and (local.startswith("/") or ".." in local.split("/")):
        yield invalid(f"{path}.localhostProfile", local, "must be a relative path without '..'")
