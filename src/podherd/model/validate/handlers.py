"""Probes and lifecycle hooks."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required, unsupported_value
from podherd.model.validate.names import header_name, port_name, port_number

_PROBE_KINDS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_KINDS = ("exec", "httpGet", "tcpSocket", "sleep")
_NO_TCP_HOOK = "Forbidden: TCPSocket is NOT supported as a LifecycleHandler"
_SIGNALS = frozenset({
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO",
    "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGSEGV", "SIGSTKFLT", "SIGSTOP",
    "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM",
    "SIGWINCH", "SIGXCPU", "SIGXFSZ", "SIGRTMIN", "SIGRTMAX",
    *(f"SIGRTMINPLUS{number}" for number in range(1, 16)),
    *(f"SIGRTMAXMINUS{number}" for number in range(1, 15)),
})  # fmt: skip
_NOT_NEGATIVE = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def probe_problems(path: str, probe: Mapping[str, Any], name: str) -> Iterator[Problem]:
    """What is wrong with one probe; `name` is its field, such as `livenessProbe`."""
    yield from _handler(path, probe, _PROBE_KINDS)
    for field in _NOT_NEGATIVE:
        if (number := probe.get(field, 0)) < 0:
            yield invalid(f"{path}.{field}", number, "must be greater than or equal to 0")
    if name != "readinessProbe" and probe["successThreshold"] != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
    if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
        if name == "readinessProbe":
            yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
        elif grace <= 0:
            yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def lifecycle_problems(path: str, lifecycle: Mapping[str, Any], grace_s: int) -> Iterator[Problem]:
    """What is wrong with `postStart`, `preStop` and `stopSignal`; grace_s: the pod's.

    A tcpSocket hook, which fails whenever a kubelet runs it, is refused before anything starts.
    """
    if (signal := lifecycle.get("stopSignal")) is not None and signal not in _SIGNALS:
        yield invalid(f"{path}.stopSignal", signal, "must be a signal of Linux, such as SIGTERM")
    for name in ("postStart", "preStop"):
        if (hook := lifecycle.get(name)) is not None:
            yield from _handler(f"{path}.{name}", hook, _HOOK_KINDS)
            if "tcpSocket" in hook:
                yield Problem(f"{path}.{name}.tcpSocket", _NO_TCP_HOOK, "use exec, httpGet or sleep")
            if (sleep := hook.get("sleep")) is not None and not 0 <= sleep["seconds"] <= grace_s:
                reason = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
                yield invalid(f"{path}.{name}.sleep", sleep["seconds"], reason)


def _handler(path: str, handler: Mapping[str, Any], kinds: tuple[str, ...]) -> Iterator[Problem]:
    given = [kind for kind in kinds if kind in handler]
    if not given:
        yield Problem(path, "Required value: must specify a handler type")
    for extra in given[1:]:
        yield Problem(f"{path}.{extra}", "Forbidden: may not specify more than 1 handler type")
    if (command := handler.get("exec")) is not None and not command.get("command"):
        yield required(f"{path}.exec.command")
    if (get := handler.get("httpGet")) is not None:
        yield from _http(f"{path}.httpGet", get)
    if (socket := handler.get("tcpSocket")) is not None:
        yield from _port(f"{path}.tcpSocket.port", socket["port"])
    if (grpc := handler.get("grpc")) is not None:
        yield from _port(f"{path}.grpc.port", grpc["port"])


def _http(path: str, get: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _port(f"{path}.port", get["port"])
    yield from unsupported_value(f"{path}.scheme", get["scheme"], ("HTTP", "HTTPS"))
    for index, header in enumerate(get.get("httpHeaders", ())):
        if why := header_name(header["name"]):
            yield invalid(f"{path}.httpHeaders[{index}].name", header["name"], why)


def _port(path: str, port: int | float | str) -> Iterator[Problem]:
    """A whole number too large for the API arrives as a float."""
    if why := port_name(port) if isinstance(port, str) else port_number(port):
        yield invalid(path, port, why)
