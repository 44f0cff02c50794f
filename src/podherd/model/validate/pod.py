"""The pod spec's own fields; containers, volumes and contexts have files of their own."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required, unsupported_value
from podherd.model.validate.containers import container_problems
from podherd.model.validate.metadata import labels_problems
from podherd.model.validate.names import dns_label, dns_subdomain, ip_address
from podherd.model.validate.pod_resources import pod_resource_problems
from podherd.model.validate.security import pod_security_problems
from podherd.model.validate.volumes import volume_problems

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MAX_INT32 = 2**31 - 1
_NAMES = (("hostname", dns_label), ("subdomain", dns_label), ("nodeName", dns_subdomain),
          ("runtimeClassName", dns_subdomain), ("serviceAccountName", dns_subdomain),
          ("priorityClassName", dns_subdomain))  # fmt: skip


def spec_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `spec`."""
    if "volumes" in spec:
        yield from volume_problems(spec["volumes"])
    yield from container_problems(spec)
    yield from unsupported_value("spec.restartPolicy", spec["restartPolicy"], RESTART_POLICIES)
    yield from _times(spec)
    yield from _dns(spec)
    for field, check in _NAMES:
        if (value := spec.get(field)) and (why := check(value)):
            yield invalid(f"spec.{field}", value, why)
    if "nodeSelector" in spec:
        yield from labels_problems("spec.nodeSelector", spec["nodeSelector"])
    if spec["securityContext"]:
        yield from pod_security_problems(spec["securityContext"])
    yield from _namespaces(spec)
    if "hostnameOverride" in spec:
        yield from _hostname_override(spec)
    if "resources" in spec:
        yield from pod_resource_problems(spec)
    yield from _lists(spec)


def _times(spec: Mapping[str, Any]) -> Iterator[Problem]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 0 < deadline <= _MAX_INT32:
        yield invalid("spec.activeDeadlineSeconds", deadline, f"must be between 1 and {_MAX_INT32}, inclusive")


def _dns(spec: Mapping[str, Any]) -> Iterator[Problem]:
    yield from unsupported_value("spec.dnsPolicy", spec["dnsPolicy"], DNS_POLICIES)
    config = spec.get("dnsConfig", {})
    servers = config.get("nameservers", ())
    if spec["dnsPolicy"] == "None" and not servers:
        reason = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield Problem("spec.dnsConfig.nameservers", f"Required value: {reason}")
    if len(servers) > 3:
        yield invalid("spec.dnsConfig.nameservers", list(servers), "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        if why := ip_address(server):
            yield invalid(f"spec.dnsConfig.nameservers[{index}]", server, why)
    searches = config.get("searches", ())
    if len(searches) > 32:
        yield Problem("spec.dnsConfig.searches", "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        reason = "must not have more than 2048 characters (including spaces) in the search list"
        yield Problem("spec.dnsConfig.searches", reason)
    for index, search in enumerate(searches):
        if search != "." and (why := dns_subdomain(search.removesuffix(".").replace("_", "-"))):
            yield invalid(f"spec.dnsConfig.searches[{index}]", search, why)
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield required(f"spec.dnsConfig.options[{index}].name")


def _hostname_override(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """KEP-4762: it takes the place of every other name."""
    path, name = "spec.hostnameOverride", spec["hostnameOverride"]
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield Problem(path, f"Forbidden: may not be specified when {field} is true")
    if len(name) > 64:
        yield Problem(path, "Too long: may not be more than 64 bytes")
    if why := dns_subdomain(name):
        yield invalid(path, name, why)


def _namespaces(spec: Mapping[str, Any]) -> Iterator[Problem]:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        reason = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid("spec.shareProcessNamespace", True, reason)
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field):
                yield Problem(f"spec.{field}", "Forbidden: when `hostUsers` is false")
    if (system := spec.get("os")) is not None:
        yield from unsupported_value("spec.os.name", system["name"], ("linux", "windows"))


def _lists(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for index, alias in enumerate(spec.get("hostAliases", ())):
        if why := ip_address(alias["ip"]):
            yield invalid(f"spec.hostAliases[{index}].ip", alias["ip"], why)
        for place, name in enumerate(alias.get("hostnames", ())):
            if why := dns_subdomain(name):
                yield invalid(f"spec.hostAliases[{index}].hostnames[{place}]", name, why)
    for index, toleration in enumerate(spec.get("tolerations", ())):
        yield from _toleration(f"spec.tolerations[{index}]", toleration)


def _toleration(path: str, toleration: Mapping[str, Any]) -> Iterator[Problem]:
    operator = toleration.get("operator") or "Equal"
    yield from unsupported_value(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    if not toleration.get("key") and operator != "Exists":
        yield invalid(f"{path}.operator", operator, "operator must be Exists when `key` is empty")
    if operator == "Exists" and toleration.get("value"):
        yield invalid(f"{path}.value", toleration["value"], "value must be empty when `operator` is 'Exists'")
    if effect := toleration.get("effect"):
        yield from unsupported_value(f"{path}.effect", effect, _EFFECTS)
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        reason = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", toleration.get("effect", ""), reason)
