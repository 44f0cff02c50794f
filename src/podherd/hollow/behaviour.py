"""What a pod or container is scripted to do: the actions, by the names that annotations and script files use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from podherd.errors import ConfigError
from podherd.hollow.refusal import CODES


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The settled script of one pod or container. A field `x_y_s` is the action `x-y`, in seconds."""

    exit_after_s: float | None = None
    """Exit by itself this long after the start; None: only with `exits`, `exit_code` or `oom`, then at once."""
    exit_code: int | None = None
    """Code of that exit; None: 0, or 137 with `oom`."""
    exits: int | None = None
    """Exit by itself only while the attempt is below this number, then stay; None: every time."""
    oom: bool = False
    """The exit is an OOM kill: code 137, reason OOMKilled."""
    start_delay_s: float = 0.0
    start_error: str = ""
    create_delay_s: float = 0.0
    create_error: str = ""
    sandbox_delay_s: float = 0.0
    sandbox_error: str = ""
    sandbox_stop_delay_s: float = 0.0
    pull_delay_s: float = 0.0
    pull_error: str = ""
    error_code: str = "UNKNOWN"
    """The gRPC code of every `*_error` above."""
    inspect_hang_s: float = 0.0
    """PodSandboxStatus and ContainerStatus answer only after this time."""
    ignore_term: bool = False
    """`stop: ignore-term`: only the kill at the end of the grace ends it, code 137."""
    term_exit_code: int = 143
    """`stop: exit:N`: the code after SIGTERM."""
    stop_delay_s: float = 0.0
    """Time between SIGTERM and the exit."""
    ip: str = ""
    """The pod's address instead of one from the pretend range."""
    log_lines: int = 0
    """Write so many numbered lines to the log at the start."""
    log: str = ""
    """Write this text to the log at the start."""
    last_words: str = ""
    """Write this text to the file mounted at the terminationMessagePath, at the start."""
    exec_exit_code: int = 0
    exec_stdout: str = ""
    exec_stderr: str = ""
    exec_delay_s: float = 0.0
    exec_error: str = ""

    def exit_delay_s(self, attempt: int) -> float | None:
        """How long after its start a container of this attempt (restart count) exits by itself; None: it stays."""
        if self.exits is not None and attempt >= self.exits:
            return None
        if self.exit_after_s is not None:
            return self.exit_after_s
        return 0.0 if self.exits is not None or self.exit_code is not None or self.oom else None

    def own_exit(self) -> tuple[int, str]:
        """Code and reason of that exit; an empty reason follows from the code."""
        if self.oom:
            return 137 if self.exit_code is None else self.exit_code, "OOMKilled"
        return self.exit_code or 0, ""


UNSCRIPTED = Behaviour()
"""Starts at once, stays until it is stopped, exits 143 on SIGTERM."""


def _seconds(value: str) -> float:
    seconds = float(value.removesuffix("s"))
    if not 0 <= seconds < 1e9:
        raise ValueError("not a time of 0 s or more")
    return seconds


def _count(value: str) -> int:
    count = int(value)
    if count < 0:
        raise ValueError("not a count of 0 or more")
    return count


def _code(value: str) -> int:
    code = int(value)
    if not 0 <= code <= 255:
        raise ValueError("not an exit code of 0 to 255")
    return code


def _flag(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError("neither true nor false")
    return value.lower() == "true"


def _grpc_code(value: str) -> str:
    if value not in CODES:
        raise ValueError(f"not one of {', '.join(CODES)}")
    return value


def _address(value: str) -> str:
    return str(ip_address(value))


def _stop(value: str) -> dict[str, Any]:
    if value == "ignore-term":
        return {"ignore_term": True}
    word, _, code = value.partition(":")
    if word != "exit":
        raise ValueError("neither ignore-term nor exit:CODE")
    return {"term_exit_code": _code(code)}


_PARSERS: dict[str, Callable[[str], Any]] = {
    "exit_code": _code, "exits": _count, "oom": _flag, "error_code": _grpc_code, "ip": _address,
    "log_lines": _count, "exec_exit_code": _code,
}  # fmt: skip
_FIELDS = {
    field.name.removesuffix("_s").replace("_", "-"): field.name
    for field in fields(Behaviour)
    if field.name not in ("ignore_term", "term_exit_code")
}
ACTIONS = (*_FIELDS, "stop")
"""Every action's name."""


def parse_action(source: str, action: str, value: str) -> dict[str, Any]:
    """The fields of Behaviour that one action sets. Raises ConfigError naming `source` and the action."""
    try:
        if action == "stop":
            return _stop(value)
        name = _FIELDS[action]
        parse = _PARSERS.get(name) or (_seconds if name.endswith("_s") else str)
        return {name: parse(value)}
    except KeyError:
        near = get_close_matches(action, ACTIONS, 1)
        mend = f"did you mean {near[0]}?" if near else f"the actions are {', '.join(ACTIONS)}"
        raise ConfigError(source, f"unknown action {action!r}", mend) from None
    except ValueError as error:
        raise ConfigError(source, f"{action}: {value!r} is {_because(error)}") from error


def _because(error: ValueError) -> str:
    reason = str(error)
    return reason if reason.startswith(("not ", "neither ")) else "not a value of this action"


@lru_cache(maxsize=4096)
def _behaviour(source: str, actions: tuple[tuple[str, str], ...]) -> Behaviour:
    settled: dict[str, Any] = {}
    for action, value in actions:
        settled.update(parse_action(source, action, value))
    return replace(UNSCRIPTED, **settled)


def behaviour_of(source: str, actions: Mapping[str, str]) -> Behaviour:
    """The behaviour these actions ask for; equal actions of one source are parsed once. Raises ConfigError."""
    return _behaviour(source, tuple(actions.items())) if actions else UNSCRIPTED
