"""Faults: a call that a test wants late, hanging, refused, or done and then refused (a lost reply)."""

import re
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from podherd.errors import ConfigError
from podherd.hollow.refusal import CODES

_GLOBS = ("namespace", "pod", "container", "image")
_FIELDS = ("method", *_GLOBS, "code", "message", "delay", "hang", "times", "when")
FOREVER_S = 1e9


@dataclass(slots=True, eq=False)
class Fault:
    """One rule over calls. The first live fault that fits a call takes it."""

    method: str
    """A CRI method's name or a glob over names."""
    globs: tuple[re.Pattern[str], ...]
    """For namespace, pod, container, image, in this order."""
    code: str = ""
    """Refuse with this gRPC code; empty: only wait."""
    message: str = "scripted fault"
    delay_s: float = 0.0
    """Wait before the outcome; a hang is FOREVER_S, ended by clearing the fault."""
    times: int | None = None
    """How many calls it still takes; None: all."""
    after: bool = False
    """`when: after`: the call is done first, then delayed or refused."""
    fault_id: int = 0
    hits: int = 0


def parse_fault(source: str, data: Any) -> Fault:
    """A fault from decoded YAML or JSON. Raises ConfigError naming the field."""
    if not isinstance(data, dict):
        raise ConfigError(source, f"is {type(data).__name__}, not a mapping", f"its fields are {', '.join(_FIELDS)}")
    for key in data:
        if key not in _FIELDS:
            raise ConfigError(source, f"unknown field {key!r}", f"the fields are {', '.join(_FIELDS)}")
    code, when = str(data.get("code", "")), data.get("when", "before")
    if code and code not in CODES:
        raise ConfigError(source, f"code {code!r} is no gRPC code", f"the codes are {', '.join(CODES)}")
    if when not in ("before", "after"):
        raise ConfigError(source, f"when: {when!r} is neither before nor after")
    try:
        delay_s = FOREVER_S if data.get("hang") else float(data.get("delay", 0))
        times = None if data.get("times") is None else int(data["times"])
    except (TypeError, ValueError) as error:
        raise ConfigError(source, f"delay or times: {error}") from error
    if not code and not delay_s:
        raise ConfigError(source, "does nothing", "give it code, delay or hang")
    return Fault(
        method=translate(str(data.get("method", "*"))),
        globs=tuple(re.compile(translate(str(data.get(key, "*")))) for key in _GLOBS),
        code=code,
        message=str(data.get("message", "scripted fault")),
        delay_s=delay_s,
        times=times,
        after=when == "after",
    )


class Faults:
    """The live faults, by id."""

    def __init__(self) -> None:
        self._live: dict[int, Fault] = {}
        self._last_id = 0

    @property
    def armed(self) -> bool:
        """Whether any call can be taken: the hot path asks this only."""
        return bool(self._live)

    def add(self, fault: Fault) -> int:
        """Arm a fault; its id."""
        self._last_id += 1
        fault.fault_id = self._last_id
        self._live[fault.fault_id] = fault
        return fault.fault_id

    def clear(self, fault_id: int | None = None) -> None:
        """Disarm one fault, or all; harmless for one that is not live."""
        if fault_id is None:
            self._live.clear()
        else:
            self._live.pop(fault_id, None)

    def take(self, method: str, subject: tuple[str, str, str, str]) -> Fault | None:
        """The fault of this call, counted; None: the call goes on as usual."""
        for fault in self._live.values():
            if not re.match(fault.method, method):
                continue
            if not all(glob.match(value) for glob, value in zip(fault.globs, subject, strict=True)):
                continue
            return self._hit(fault)
        return None

    def _hit(self, fault: Fault) -> Fault:
        fault.hits += 1
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                del self._live[fault.fault_id]
        return fault
