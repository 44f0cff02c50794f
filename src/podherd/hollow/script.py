"""The script: rules from a YAML file (or the control API) and marks from annotations, settled into a Behaviour.

    rules:                                  # later rules win, annotations win over rules
    - match: {namespace: default, pod: "web-*", container: app, image: "*busybox*"}
      actions: {exit-after: 2.5, exit-code: 1}
    images: [registry.k8s.io/pause:3.10]    # there before any pull
    faults:                                 # see faults.py
    - {method: RunPodSandbox, pod: "web-*", code: UNAVAILABLE, times: 3}

A mark is an annotation `hollow.podherd.io/ACTION` of a pod or container. On a pod, `ACTION.CONTAINER` (the form that
an API server lets pass) or `ACTION/CONTAINER` speaks of one container only.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from podherd.errors import ConfigError
from podherd.hollow.behaviour import UNSCRIPTED, Behaviour, behaviour_of, parse_action
from podherd.hollow.faults import Fault, parse_fault

PREFIX = "hollow.podherd.io/"
_SUBJECT = ("namespace", "pod", "container", "image")
Marks = Mapping[str, str]
"""The hollow annotations of one object, without the prefix."""
NO_MARKS: Marks = {}


class Subject(NamedTuple):
    """What a rule or fault is matched against; empty where the call has none."""

    namespace: str = ""
    pod: str = ""
    container: str = ""
    image: str = ""


NOBODY = Subject()


@dataclass(frozen=True, slots=True)
class Rule:
    """Compiled globs by field of Subject, and what a match does."""

    match: tuple[tuple[int, re.Pattern[str]], ...]
    actions: dict[str, str]

    def fits(self, subject: Subject) -> bool:
        """Whether every glob matches; a glob on `container` or `image` never matches a call without one."""
        return all(glob.match(subject[index]) for index, glob in self.match)


@dataclass(frozen=True, slots=True)
class Script:
    """All rules of one file."""

    rules: tuple[Rule, ...] = ()
    images: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = field(default=())

    def behaviour(self, subject: Subject, *marks: Marks) -> Behaviour:
        """What the subject does; `marks` in rising rank: the pod's, then the container's. Raises ConfigError."""
        if not self.rules and not any(marks):
            return UNSCRIPTED
        actions: dict[str, str] = {}
        for rule in self.rules:
            if rule.fits(subject):
                actions.update(rule.actions)
        for some in marks:
            actions.update(_marked(subject.container, some))
        return behaviour_of(f"annotations and script of {subject.container or 'the pod'}", actions)


def marks_of(annotations: Mapping[str, str]) -> Marks:
    """The annotations that speak to hollow."""
    return {key[len(PREFIX) :]: value for key, value in annotations.items() if key.startswith(PREFIX)} or NO_MARKS


def _marked(container: str, marks: Marks) -> dict[str, str]:
    general: dict[str, str] = {}
    own: dict[str, str] = {}
    for key, value in marks.items():
        action, separator, name = key.replace("/", ".", 1).partition(".")
        if not separator:
            general[action] = value
        elif name == container:
            own[action] = value
    return general | own


def load(path: Path) -> Script:
    """The script in a YAML file. Raises ConfigError naming file, place and reason."""
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(str(path), f"is not YAML: {' '.join(str(error).split())}") from error
    return parse(str(path), {} if data is None else data)


def parse(source: str, data: Any) -> Script:
    """The script in decoded YAML or JSON. Raises ConfigError."""
    _known(source, data, ("rules", "images", "faults"))
    return Script(
        rules=tuple(_rule(f"{source}: rules[{i}]", rule) for i, rule in _listed(source, data, "rules")),
        images=tuple(str(image) for _, image in _listed(source, data, "images")),
        faults=tuple(parse_fault(f"{source}: faults[{i}]", fault) for i, fault in _listed(source, data, "faults")),
    )


def _rule(source: str, rule: Any) -> Rule:
    _known(source, rule, ("match", "actions"))
    match, actions = rule.get("match") or {}, rule.get("actions") or {}
    _known(f"{source}.match", match, _SUBJECT)
    if not isinstance(actions, dict) or not actions:
        raise ConfigError(f"{source}.actions", "is not a mapping of actions", "write actions: {exit-after: 2}")
    texts = {str(action): str(value) for action, value in actions.items()}
    for action, value in texts.items():
        parse_action(f"{source}.actions", action, value)
    globs = tuple((_SUBJECT.index(key), re.compile(translate(str(glob)))) for key, glob in match.items())
    return Rule(globs, texts)


def _known(source: str, data: Any, keys: Iterable[str]) -> None:
    if not isinstance(data, dict):
        raise ConfigError(source, f"is {type(data).__name__}, not a mapping", f"its keys are {', '.join(keys)}")
    for key in data:
        if key not in keys:
            raise ConfigError(source, f"unknown field {key!r}", f"its keys are {', '.join(keys)}")


def _listed(source: str, data: dict[str, Any], key: str) -> Iterable[tuple[int, Any]]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ConfigError(f"{source}: {key}", f"is {type(value).__name__}, not a list")
    return enumerate(value)
