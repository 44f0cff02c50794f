"""Fields of a spec as `podherd describe` words them: environment, mounts, volumes. Pure."""

from typing import Any

Object = dict[str, Any]


def environment(container: Object) -> list[str]:
    """Where each variable comes from, a line each; nothing for a container without any."""
    found = [f"{one['name']}: {_value(one)}" for one in container.get("env") or ()]
    for source in container.get("envFrom") or ():
        kind = next((key for key in source if key != "prefix"), "")
        found.append(f"{source.get('prefix', '')}*: all of {kind} {(source.get(kind) or {}).get('name', '')}")
    return ["    Environment:", *(f"      {line}" for line in found)] if found else []


def _value(variable: Object) -> str:
    if source := variable.get("valueFrom"):
        kind = next(iter(source))
        return f"({_reference(kind, source[kind] or {})})"
    return " ".join(str(variable.get("value", "")).splitlines())


def _reference(kind: str, found: Object) -> str:
    """`fieldRef metadata.name`, `fileKeyRef data/app.env PORT`: where a value is read."""
    match kind:
        case "fieldRef":
            words = [found.get("fieldPath", "")]
        case "resourceFieldRef":
            words = [found.get("containerName", ""), found.get("resource", "")]
        case "fileKeyRef":
            words = [f"{found.get('volumeName', '')}/{found.get('path', '')}", found.get("key", "")]
        case _:
            words = [found.get("name", ""), found.get("key", "")]
    return " ".join([kind, *(word for word in words if word)])


def mounts(container: Object) -> list[str]:
    """A line each: `Mounts: /data from data (ro, subPath logs)`."""
    return [
        f"    Mounts: {one['mountPath']} from {one['name']}{_how(one)}" for one in container.get("volumeMounts") or ()
    ]


def _how(mount: Object) -> str:
    words = ["ro"] if mount.get("readOnly") else []
    words += [f"{key} {mount[key]}" for key in ("subPath", "subPathExpr") if mount.get(key)]
    words += [str(mount["mountPropagation"])] if mount.get("mountPropagation", "None") != "None" else []
    return f" ({', '.join(words)})" if words else ""


def volume(spec: Object) -> list[str]:
    """What a volume is and what it points to, the files of one that is written below it."""
    kind = next((key for key in spec if key != "name"), "emptyDir")
    found = spec.get(kind) or {}
    match kind:
        case "hostPath":
            return [_words(kind, found.get("path", ""), f"type {found['type']}" if found.get("type") else "")]
        case "emptyDir":
            limit = f"limit {found['sizeLimit']}" if found.get("sizeLimit") else ""
            return [_words(kind, found.get("medium", ""), limit)]
        case "image":
            return [_words(kind, found.get("reference", ""), found.get("pullPolicy", ""))]
        case "downwardAPI":
            return [kind, *_files(found)]
        case "projected":
            return [kind, *(line for source in found.get("sources") or () for line in _source(source))]
    return [kind]


def _source(source: Object) -> list[str]:
    kind = next(iter(source), "")
    found = source.get(kind) or {}
    return _files(found) if kind == "downwardAPI" else [_words(kind, found.get("name", ""))]


def _files(found: Object) -> list[str]:
    """`labels: fieldRef metadata.labels` for each file."""
    lines = []
    for item in found.get("items") or ():
        kind = "fieldRef" if item.get("fieldRef") else "resourceFieldRef"
        lines.append(f"{item.get('path', '')}: {_reference(kind, item.get(kind) or {})}")
    return lines


def _words(*words: object) -> str:
    return " ".join(str(word) for word in words if word)
