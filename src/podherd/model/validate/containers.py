"""Containers: names, images, and what each of their parts may say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, duplicate, invalid, required, unsupported_value
from podherd.model.validate.env import env_problems
from podherd.model.validate.handlers import lifecycle_problems, probe_problems
from podherd.model.validate.mounts import mount_problems
from podherd.model.validate.names import dns_label
from podherd.model.validate.ports import port_problems
from podherd.model.validate.resources import resource_problems
from podherd.model.validate.restarts import resize_problems, restart_problems
from podherd.model.validate.security import security_problems

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SIDECARS_ONLY = ("lifecycle", *_PROBES)


def container_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the containers of a pod spec, of every kind."""
    seen: set[str] = set()
    if not spec.get("containers"):
        yield required("spec.containers")
    if spec.get("ephemeralContainers"):
        yield Problem("spec.ephemeralContainers", "Forbidden: cannot be set on create")
    lists = (("initContainers", spec.get("initContainers", ())), ("containers", spec.get("containers", ())))
    for field, containers in lists:
        for index, container in enumerate(containers):
            path = f"spec.{field}[{index}]"
            yield from _name_problems(path, container, seen)
            plain_init = field == "initContainers" and container.get("restartPolicy") != "Always"
            yield from _one(path, container, spec)
            yield from _handlers(path, container, spec["terminationGracePeriodSeconds"], plain_init)
            yield from restart_problems(path, container)
            if "resizePolicy" in container:
                yield from resize_problems(path, container["resizePolicy"], spec["restartPolicy"], plain_init)
    yield from port_problems(lists, bool(spec.get("hostNetwork")))


def _name_problems(path: str, container: Mapping[str, Any], seen: set[str]) -> Iterator[Problem]:
    name = container["name"]
    if not name:
        yield required(f"{path}.name")
    elif why := dns_label(name):
        yield invalid(f"{path}.name", name, why)
    elif name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)


def _one(path: str, container: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    image = container.get("image")
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    yield from unsupported_value(f"{path}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES)
    policies = ("File", "FallbackToLogsOnError")
    yield from unsupported_value(f"{path}.terminationMessagePolicy", container["terminationMessagePolicy"], policies)
    if "env" in container or "envFrom" in container:
        yield from env_problems(path, container, spec)
    if "volumeMounts" in container:
        volumes = {volume["name"] for volume in spec.get("volumes", ())}
        yield from mount_problems(path, container["volumeMounts"], volumes, container.get("securityContext", {}))
    if "resources" in container:
        yield from resource_problems(f"{path}.resources", container["resources"])
    if "securityContext" in container:
        host_users = spec.get("hostUsers", True)
        yield from security_problems(f"{path}.securityContext", container["securityContext"], host_users)


def _handlers(path: str, container: Mapping[str, Any], grace_s: int, plain_init: bool) -> Iterator[Problem]:
    if plain_init:
        for name in _SIDECARS_ONLY:
            if name in container:
                reason = "Forbidden: may not be set for init containers without restartPolicy=Always"
                yield Problem(f"{path}.{name}", reason)
        return
    for name in _PROBES:
        if name in container:
            yield from probe_problems(f"{path}.{name}", container[name], name)
    if "lifecycle" in container:
        yield from lifecycle_problems(f"{path}.lifecycle", container["lifecycle"], grace_s)


def every_container(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each container of every kind with its path."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        containers: Sequence[Mapping[str, Any]] = spec.get(field, ())
        for index, container in enumerate(containers):
            yield f"spec.{field}[{index}]", container
