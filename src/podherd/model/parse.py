"""Manifests to pods: bytes -> checked, defaulted v1.Pod (kubelet behaviour, sections 1.1, 1.2 and 1.4).

The order is the kubelet's: decode, default, validate as the API server would, refuse what a static pod may not refer
to; then what this version does not do yet (`unsupported`). Whatever the bytes are, the only error is ManifestError.
"""

from typing import Any, NamedTuple

from podherd.errors import ManifestError
from podherd.model import defaults, schema, validate
from podherd.model.document import decode
from podherd.model.nearest import nearest
from podherd.model.problem import Problem, error_of
from podherd.model.unsupported import findings
from podherd.model.view import pod_of

__all__ = ["Manifest", "manifest_of", "manifests_of", "pod_of"]


class Manifest(NamedTuple):
    """A pod that may run, defaulted, without identity yet; `warnings` are what will not be as it says."""

    pod: dict[str, Any]
    warnings: tuple[str, ...]


def manifest_of(data: bytes, thing: str) -> Manifest:
    """The one Pod of a file. Raises ManifestError naming `thing`, the field, the reason and the mend."""
    document = decode(data, thing)
    _check_kind(document, thing, ("Pod",))
    return _checked(document, thing)


def manifests_of(data: bytes, thing: str) -> list[Manifest]:
    """The Pod or the PodList behind a URL; one bad item refuses the whole list, as the kubelet does."""
    document = decode(data, thing)
    _check_kind(document, thing, ("Pod", "PodList"))
    if document["kind"] == "Pod":
        return [_checked(document, thing)]
    items = document.get("items", [])
    if not isinstance(items, list):
        raise ManifestError(thing, "items: must be a list")
    return [_item(item, f"{thing} items[{index}]") for index, item in enumerate(items)]


def _item(item: Any, thing: str) -> Manifest:
    if isinstance(item, dict):
        item = {"apiVersion": "v1", "kind": "Pod", **item}
    _check_kind(item, thing, ("Pod",))
    return _checked(item, thing)


def _check_kind(document: Any, thing: str, kinds: tuple[str, ...]) -> None:
    """Refuse what is no object of these kinds of API v1."""
    if not isinstance(document, dict):
        raise ManifestError(
            thing, "is not a mapping of fields", f"write a {kinds[0]}: apiVersion, kind, metadata, spec"
        )
    kind = document.get("kind")
    if isinstance(kind, str) and kind not in ("Pod", "PodList") and not nearest(kind, kinds):
        reason = f"only v1 Pods can be static pods (kind: {kind:.60})"
        raise ManifestError(thing, f"kind: {reason}", "write a Pod; other kinds need a Kubernetes API server")
    for field, wanted in (("apiVersion", ("v1",)), ("kind", kinds)):
        value = document.get(field)
        if value in wanted and isinstance(value, str):
            continue
        close = nearest(field, document)
        mend = f"rename `{close}` to `{field}`" if value is None and close else f"write {field}: {wanted[0]}"
        shown = "Required value" if value is None else f"must be {' or '.join(wanted)}, not {value!r:.60}"
        raise ManifestError(thing, f"{field}: {shown}", mend)


def _checked(pod: dict[str, Any], thing: str) -> Manifest:
    """Schema, defaults, validation, references, features; in place."""
    pod.pop("status", None)
    missing = [Problem(field, "Required value") for field in ("metadata", "spec") if field not in pod]
    unknown = schema.problems(pod)
    if missing or (unknown and not schema.drop_unknown(pod)):
        raise error_of(thing, unknown or missing)
    wrong, warnings = _judged(pod)
    meant = {problem.meant for problem in unknown if problem.meant}
    if found := [*unknown, *(problem for problem in wrong if problem.path not in meant)]:
        raise error_of(thing, found)
    return Manifest(pod, tuple(warnings))


def _judged(pod: dict[str, Any]) -> tuple[list[Problem], list[str]]:
    """What is wrong with a pod that the schema has nothing against, and its warnings; sets its defaults."""
    defaults.set_defaults(pod)
    if invalid := list(validate.problems(pod)):
        return invalid, []
    reference, mend = validate.forbidden_reference(pod["spec"])
    if reference:
        return [Problem("", reference, mend)], []
    return findings(pod)
