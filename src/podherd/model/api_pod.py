"""A v1.Pod of the API server as the body that the agent's actors work with (kubelet behaviour, sections 1.3 and 1.5).

The API server has defaulted and checked it, so it is not validated as a manifest is; but whatever it holds, it becomes
a pod that can be read, or one that is refused with a reason. Only what has no usable name is no pod at all.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from podherd.errors import ManifestError, PodherdError
from podherd.model import defaults, keys, schema
from podherd.model.pod import Body
from podherd.model.qos import qos_class
from podherd.model.resources import amounts_of, sum_of
from podherd.model.status import TERMINAL
from podherd.model.unsupported import findings
from podherd.model.validate.names import dns_label, dns_subdomain, pod_uid
from podherd.model.view import pod_of

UNREADABLE = "UnexpectedAdmissionError"
UNSUPPORTED = "PodFeatureUnsupported"
"""The kubelet's reasons (section 2.6)."""
JUDGED = "spec.os.name"
"""Of an API pod admission judges it, with a reason of its own."""
OWN_CONDITIONS = frozenset({
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", "PodResizePending",
    "PodResizeInProgress", "AllContainersRestarting",
})  # fmt: skip
"""Conditions that this agent writes: seeing them again is no change (section 6.3)."""
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_LONGEST = 1000
"""Characters of a message: a hostile field may be of any length."""


class Identity(NamedTuple):
    """Who an API object is. mirror_of: as in ApiPod; `-` for a mirror pod whose annotation is empty."""

    uid: str
    namespace: str
    name: str
    resource_version: str
    deleting: bool
    mirror_of: str


class Converted(NamedTuple):
    """body: can be read by `pod_of` always. refused: a reason why the pod cannot run here, or empty."""

    body: dict[str, Any]
    refused: str
    message: str


def identity_of(item: Body) -> Identity:
    """Raises ManifestError for an object whose uid or name is none that the API gives: they name files here."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping):
        raise ManifestError("pod of the API server", "has no metadata")
    uid, namespace, name = (metadata.get(field) for field in ("uid", "namespace", "name"))
    for field, value, check in (
        ("uid", uid, pod_uid),
        ("namespace", namespace, dns_label),
        ("name", name, dns_subdomain),
    ):
        if not isinstance(value, str) or check(value):
            raise ManifestError(f"pod {namespace}/{name} of the API server"[:200], f"metadata.{field}: {value!r:.100}")
    annotations = metadata.get("annotations")
    mirror_of = ""
    if isinstance(annotations, Mapping) and keys.CONFIG_MIRROR in annotations:
        mirror_of = str(annotations[keys.CONFIG_MIRROR] or "-")
    deleting = metadata.get("deletionTimestamp") is not None
    return Identity(str(uid), str(namespace), str(name), str(metadata.get("resourceVersion", "")), deleting, mirror_of)


def content_of(item: Body) -> str:
    """32 hex digits that differ whenever the pod that should run does; an echo of our own status changes nothing.

    Section 1.5: spec, labels, annotations, deletion; beside them the generation, conditions of others, a final phase.
    """
    metadata, status = item["metadata"], _mapping(item.get("status"))
    phase = status.get("phase")
    final = [status.get(field) for field in ("phase", "reason", "message")] if _in(phase, TERMINAL) else None
    others = [each for each in _conditions(status) if each["type"] not in OWN_CONDITIONS]
    fields = ("labels", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
    parts = [item.get("spec"), [metadata.get(field) for field in fields], final, others]
    try:
        data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        data = f"cannot be written: {metadata.get('resourceVersion')}".encode(errors="replace")
    return blake2b(data, digest_size=16).hexdigest()


def converted(item: Body, seen: str) -> Converted:
    """The body for shards. seen: RFC 3339, when this agent saw the pod first."""
    try:
        body = _tidy(item, seen)
        why = _trouble(body)
    except (PodherdError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        return Converted(_bare(item, seen), UNREADABLE, _short(f"the pod cannot be read: {error}"))
    if why:
        return Converted(_bare(item, seen), UNREADABLE, _short(why))
    refused = [problem for problem in findings(body)[0] if problem.path != JUDGED]
    if refused:
        return Converted(body, UNSUPPORTED, _short("; ".join(map(str, refused))))
    return Converted(body, "", "")


def _tidy(item: Body, seen: str) -> dict[str, Any]:
    """A copy of our own: without nulls, managedFields and fields that this version does not know; defaulted, marked."""
    data = orjson.dumps({**item, "apiVersion": "v1", "kind": "Pod", "status": status_of(item)})
    body: dict[str, Any] = orjson.loads(data)
    if b"null" in data:
        body = _without_null(body)
    metadata = body["metadata"]
    metadata.pop("managedFields", None)
    if (problems := schema.problems(body)) and not schema.drop_unknown(body):
        raise ManifestError("pod", str(problems[0]))
    defaults.set_defaults(body)
    annotations = metadata.setdefault("annotations", {})
    annotations[keys.CONFIG_SOURCE] = keys.SOURCE_API
    annotations[keys.CONFIG_SEEN] = seen
    return body


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    return [_without_null(each) for each in value if each is not None] if isinstance(value, list) else value


def _trouble(body: dict[str, Any]) -> str:
    """What would harm this host or cannot be counted; names of containers and volumes become names of files here."""
    spec, known = body["spec"], set[tuple[bool, str]]()
    pod_of(body)
    if not spec["containers"]:
        return "spec.containers: Required value"
    for path, name in _names(spec):
        if why := dns_label(name):
            return f"{path}: Invalid value: {name!r:.100}: {why}"
        which = path.startswith("spec.volumes"), name
        if which in known:
            return f"{path}: Duplicate value: {name!r}"
        known.add(which)
    qos_class(body)
    sum_of(spec, "requests"), sum_of(spec, "limits")
    for kind in ("requests", "limits"):
        amounts_of(spec.get("resources"), kind)
    amounts_of({"overhead": spec.get("overhead")}, "overhead")
    return ""


def _names(spec: Body) -> Iterator[tuple[str, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers", "volumes"):
        for index, each in enumerate(spec.get(field) or ()):
            yield f"spec.{field}[{index}].name", each["name"]


def _bare(item: Body, seen: str) -> dict[str, Any]:
    """Enough of a pod to be refused: it runs nothing."""
    given = item["metadata"]
    kept = {name: given[name] for name in ("uid", "namespace", "name")}
    for field, is_one in (("deletionTimestamp", _is_text), ("creationTimestamp", _is_text), ("generation", _is_count),
                          ("deletionGracePeriodSeconds", _is_count)):  # fmt: skip
        if is_one(value := given.get(field)):
            kept[field] = value
    annotations = {keys.CONFIG_SOURCE: keys.SOURCE_API, keys.CONFIG_SEEN: seen}
    status = status_of(item)
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "annotations": annotations},
        "spec": {"containers": [], "restartPolicy": "Never"},
        "status": {name: status[name] for name in ("phase", "reason", "message", "startTime") if name in status},
    }
    defaults.set_defaults(body)
    return body


def status_of(item: Body) -> dict[str, Any]:
    """Its v1.PodStatus as far as it has the shape of one: texts, whole conditions, containers with a name."""
    status = {name: value for name, value in _mapping(item.get("status")).items() if value is not None}
    for field in ("phase", "reason", "message", "startTime"):
        if not _is_text(status.get(field, "")):
            del status[field]
    if "conditions" in status:
        status["conditions"] = _conditions(status)
    for field in _STATUS_LISTS:
        if field in status:
            status[field] = [_counted(each) for each in _list(status[field]) if _is_text(_mapping(each).get("name"))]
    return status


def _counted(container: dict[str, Any]) -> dict[str, Any]:
    """A container's status, without a restartCount that is none."""
    if _is_count(container.get("restartCount", 0)):
        return container
    return {name: value for name, value in container.items() if name != "restartCount"}


def _conditions(status: Body) -> list[dict[str, Any]]:
    return [
        each
        for each in _list(status.get("conditions"))
        if _is_text(_mapping(each).get("type")) and _is_text(each.get("status"))
    ]


def _is_text(value: Any) -> bool:
    """Whether it is a string that can be sent on: a lone surrogate cannot."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def _is_count(value: Any) -> bool:
    """Whether it is a whole number that the API could hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _in(value: Any, words: frozenset[str]) -> bool:
    return isinstance(value, str) and value in words


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
