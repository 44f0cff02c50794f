"""In-place resize: which resources of a pod's spec are granted, and which stand as they were (KEP-1287).

What is granted is kept nowhere but in the body that the shard was sent; after a restart the API server's
`status.containerStatuses[].allocatedResources` tell it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.pod import Body
from podherd.model.resources import amounts_of

DEFERRED = "Deferred"
INFEASIBLE = "Infeasible"
_RESIZABLE = frozenset({"cpu", "memory"})
_LISTS = ("initContainers", "containers")
_STATUS_LISTS = ("initContainerStatuses", "containerStatuses")
_POD = ""
"""Stands for the pod's own resources among names of containers."""
Resources = Mapping[str, Any]
"""A v1.ResourceRequirements."""


def standing(new: Body, old: Body | None) -> Body:
    """The pod with the resources that it was granted before; `new` itself where it asks for no others.

    old: the body that was sent last, None when there is none. Raises QuantityError.
    """
    wanted = dict(_of_spec(new["spec"]))
    before = dict(_of_spec(old["spec"])) if old is not None else dict(_of_status(new, wanted))
    kept = {name: had for name, had in before.items() if name in wanted and _differ(wanted[name], had)}
    if not kept:
        return new
    spec = dict(new["spec"])
    for field in _LISTS:
        if field in spec:
            spec[field] = [
                {**each, "resources": kept[each["name"]]} if each["name"] in kept else each for each in spec[field]
            ]
    if _POD in kept:
        spec["resources"] = kept[_POD]
    return {**new, "spec": spec}


def _of_spec(spec: Body) -> Iterator[tuple[str, Resources]]:
    for field in _LISTS:
        yield from ((each["name"], each.get("resources") or {}) for each in spec.get(field) or ())
    if spec.get("resources"):
        yield _POD, spec["resources"]


def _of_status(body: Body, wanted: Mapping[str, Resources]) -> Iterator[tuple[str, Resources]]:
    """A container that never ran has no allocated resources there: it gets what it asks for."""
    status = body.get("status") or {}
    for each in (one for field in _STATUS_LISTS for one in status.get(field) or ()):
        allocated, asked = each.get("allocatedResources"), wanted.get(each["name"])
        if not allocated or asked is None or not _differ({"requests": allocated}, {"requests": asked.get("requests")}):
            continue
        limits = (each.get("resources") or {}).get("limits") or asked.get("limits")
        requests = {**(asked.get("requests") or {}), **allocated}
        yield each["name"], {"requests": requests, **({"limits": limits} if limits else {})}


def _differ(one: Resources, other: Resources) -> bool:
    return any(_amounts(one, kind) != _amounts(other, kind) for kind in ("requests", "limits"))


def _amounts(resources: Resources, kind: str) -> dict[str, int]:
    return {name: amount for name, amount in amounts_of(resources, kind).items() if name in _RESIZABLE}
