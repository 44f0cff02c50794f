"""What `podherd get` prints: tables, and API objects as JSON or YAML like kubectl's."""

import json
from enum import StrEnum
from typing import Any

from podherd.agent import table

Object = dict[str, Any]

ROLE = "node-role.kubernetes.io/"


class Form(StrEnum):
    """The values of `-o`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def as_list(items: list[Object]) -> Object:
    """A v1.List."""
    return {"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}}


def document(value: Any, form: Form) -> str:
    """An object as JSON or YAML, keys sorted."""
    if form is Form.JSON:
        return json.dumps(value, indent=4, sort_keys=True) + "\n"
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=False, sort_keys=True, width=1000)
    return text


def pods(rows: list[table.Row], node_name: str, now: float, wide: bool, all_namespaces: bool) -> str:
    """The table of pods; the NAMESPACE column is left out when one namespace was asked for."""
    headers = ["NAMESPACE"] * all_namespaces + ["NAME", "READY", "STATUS", "RESTARTS", "AGE"] + ["IP", "NODE"] * wide
    lines = []
    for line in (table.pod_line(row, now) for row in rows):
        cells = [line.namespace] * all_namespaces + [line.name, line.ready, line.status, line.restarts, line.age]
        lines.append(cells + [line.ip, node_name] * wide)
    return table.columns(headers, lines)


def node(value: Object, now: float, wide: bool) -> str:
    """The table of the one node."""
    metadata, status = value["metadata"], value.get("status") or {}
    info = status.get("nodeInfo") or {}
    labels = metadata.get("labels") or {}
    roles = sorted(label.removeprefix(ROLE) for label in labels if label.startswith(ROLE))
    created = metadata.get("creationTimestamp")
    headers = ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    cells = [
        metadata["name"],
        _node_word(value),
        ",".join(roles) or "<none>",
        table.age(now - table.epoch(created)) if created else "<unknown>",
        info.get("kubeletVersion", "<unknown>"),
    ]
    if wide:
        headers += ["INTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"]
        addresses = {found["type"]: found["address"] for found in status.get("addresses") or ()}
        cells += [addresses.get("InternalIP", "<none>")]
        cells += [info.get(key) or "<unknown>" for key in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    return table.columns(headers, [cells])


def _node_word(value: Object) -> str:
    conditions = {found["type"]: found["status"] for found in (value.get("status") or {}).get("conditions") or ()}
    word = {"True": "Ready", "False": "NotReady"}.get(conditions.get("Ready", ""), "Unknown")
    return word + ",SchedulingDisabled" * bool((value.get("spec") or {}).get("unschedulable"))


def images(items: list[Object], wide: bool) -> str:
    """The table of images: one line a tag, as `crictl images`."""
    headers = ["IMAGE", "TAG", "IMAGE ID", "SIZE"] + ["DIGEST"] * wide
    lines = []
    for image in items:
        digest = next(iter(image.get("repoDigests") or ()), "<none>").rpartition("@")[2]
        short = str(image.get("id", "")).removeprefix("sha256:")
        for tag in image.get("repoTags") or ["<none>:<none>"]:
            name, _, version = tag.rpartition(":")
            size = size_text(int(image.get("size", 0)))
            lines.append([name, version, short if wide else short[:13], size] + [digest] * wide)
    return table.columns(headers, sorted(lines))


def size_text(size_bytes: int) -> str:
    """Bytes in decimal units, `12.3MB`."""
    size, units = float(size_bytes), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.3g}{units[0]}"
