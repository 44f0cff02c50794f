"""The Pod schema of Kubernetes v1.37, checked in a few microseconds a pod, and its errors in words a person can act on.

The schema is the one that `kubernetes-validate` ships (strict form: unknown fields are errors). That package's own
`validate()` builds a validator for each call and takes 16 ms a pod, too slow for thousands of manifests; so its file is
compiled once here, by jsonschema-rs, with only the definitions that a Pod reaches. The package is never imported.
"""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

import jsonschema_rs
import orjson

from podherd.errors import ConfigError
from podherd.model.nearest import nearest
from podherd.model.paths import Path, dotted
from podherd.model.problem import Problem

VERSION = "v1.37.0"
POD = "io.k8s.api.core.v1.Pod"
_CORE = "io.k8s.api.core.v1."
_DROPPED = frozenset({"description", "format", "default"})
_RANGE = {"int32": 2**31, "int64": 2**63}
_HOMES = (
    (f"{_CORE}PodSpec", "spec"),
    (f"{_CORE}Container", "spec.containers[]"),
    (f"{_CORE}SecurityContext", "spec.containers[].securityContext"),
    (f"{_CORE}ResourceRequirements", "spec.containers[].resources"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "metadata"),
)
"""Where a misplaced field most likely belongs."""


def problems(pod: dict[str, Any]) -> list[Problem]:
    """What the schema has against this pod, in document order; empty when it is valid."""
    validator = _validator()
    if validator.is_valid(pod):
        return []
    return [problem for error in validator.iter_errors(pod) for problem in _problems_of(error)]


def drop_unknown(pod: dict[str, Any]) -> bool:
    """Take all unknown fields out of the pod; whether the schema has nothing else against it."""
    for error in list(_validator().iter_errors(pod)):
        kind = error.kind
        if not isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
            return False
        holder: Any = pod
        for part in error.instance_path:
            holder = holder[part]
        for name in kind.unexpected:
            holder.pop(name, None)
    return True


def prepare() -> None:
    """Load and compile the schema now (about 40 ms), so that the first pod need not wait for it."""
    _validator()


@cache
def _definitions() -> dict[str, Any]:
    """The definitions that a Pod reaches, without prose and without nulls (the decoder drops those)."""
    found = find_spec("kubernetes_validate")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("kubernetes-validate", "is not installed", "pip install 'kubernetes-validate>=1.37'")
    folder = FilePath(found.submodule_search_locations[0], "kubernetes-json-schema", f"{VERSION}-local-strict")
    try:
        every = orjson.loads((folder / "_definitions.json").read_bytes())["$defs"]
    except (OSError, ValueError, KeyError) as error:
        mend = "reinstall kubernetes-validate in the version range of podherd"
        raise ConfigError(str(folder), f"the schema of {VERSION} cannot be read: {error}", mend) from error
    every[f"{_CORE}PodStatus"] = {"type": "object"}
    reached: dict[str, Any] = {}
    waiting = [POD]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = _slim(every[name])
            waiting.extend(_references(reached[name]))
    return reached


def _slim(schema: Any) -> Any:
    """The schema without prose; int32 and int64 as ranges; no null among the types."""
    if isinstance(schema, list):
        return [_slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "oneOf" in schema:
        return {"type": sorted({kind for one in schema["oneOf"] for kind in one["type"]} - {"null"})}
    slim = {k: _slim(v) for k, v in schema.items() if not (k in _DROPPED and isinstance(v, str)) and k[:2] != "x-"}
    if isinstance(slim.get("type"), list):
        slim["type"] = next(kind for kind in slim["type"] if kind != "null")
    if (limit := _RANGE.get(str(schema.get("format")))) is not None:
        slim |= {"minimum": -limit, "maximum": limit - 1}
    return slim


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    root = {"$ref": f"#/$defs/{POD}", "$defs": _definitions()}
    return jsonschema_rs.Draft202012Validator(root, validate_formats=False, offline=True)


def _problems_of(error: jsonschema_rs.ValidationError) -> Iterator[Problem]:
    path, kind = error.instance_path, error.kind
    match kind:
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties():
            for name in kind.unexpected:
                close = nearest(name, _fields_at(path))
                meant = dotted([*path, close]) if close else ""
                yield Problem(dotted([*path, name]), "unknown field", _mend_of(path, name), meant)
        case jsonschema_rs.ValidationErrorKind.Required():
            yield Problem(dotted([*path, kind.property]), "Required value")
        case jsonschema_rs.ValidationErrorKind.Type():
            yield _wrong_type(path, kind.types, error.instance)
        case _:
            yield Problem(dotted(path), error.message)


def _wrong_type(path: Path, wanted: list[str], value: Any) -> Problem:
    names = {"str": "a string", "int": "a number", "float": "a number", "bool": "true or false", "NoneType": "nothing",
             "dict": "a mapping", "list": "a list"}  # fmt: skip
    words = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false",
             "object": "a mapping", "array": "a list"}  # fmt: skip
    scalar = isinstance(value, str | int | float)
    shown = f" {orjson.dumps(value).decode()}" if scalar and len(str(value)) < 60 else ""
    mend = ""
    if "string" in wanted and scalar:
        mend = f'write it in quotes: "{orjson.dumps(value).decode() if not isinstance(value, str) else value}"'
    reason = f"must be {' or '.join(words[w] for w in wanted)}, not {names[type(value).__name__]}{shown}"
    return Problem(dotted(path), reason, mend)


def _mend_of(path: Path, name: str) -> str:
    known = _fields_at(path)
    if close := nearest(name, known):
        return f"did you mean `{close}`?"
    for definition, home in _HOMES:
        if name in _definitions()[definition]["properties"]:
            return f"`{name}` is a field of {home}"
    return f"known fields: {', '.join(known)}" if 0 < len(known) <= 10 else "remove it"


def _fields_at(path: Path) -> list[str]:
    """The field names that the schema knows at this place."""
    schema: dict[str, Any] = _definitions()[POD]
    for part in path:
        schema = schema["items"] if isinstance(part, int) else schema.get("properties", {}).get(part, {})
        if reference := schema.get("$ref"):
            schema = _definitions()[reference.rpartition("/")[2]]
    return sorted(schema.get("properties", ()))
