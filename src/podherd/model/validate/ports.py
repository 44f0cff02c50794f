"""Container ports, and host ports over the whole pod."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, duplicate, invalid, unsupported_value
from podherd.model.validate.names import ip_address, port_name, port_number

PROTOCOLS = ("TCP", "UDP", "SCTP")
Lists = Sequence[tuple[str, Sequence[Mapping[str, Any]]]]


def port_problems(lists: Lists, host_network: bool) -> Iterator[Problem]:
    """What is wrong with the ports; host ports of regular containers must not meet, nor those of one init container."""
    for field, containers in lists:
        taken: set[tuple[str, str, int]] = set()
        for index, container in enumerate(containers):
            names: set[str] = set()
            if field != "containers":
                taken = set()
            for number, port in enumerate(container.get("ports", ())):
                path = f"spec.{field}[{index}].ports[{number}]"
                yield from _one(path, port, names, host_network)
                yield from _host_port(path, port, taken)


def _one(path: str, port: Mapping[str, Any], names: set[str], host_network: bool) -> Iterator[Problem]:
    name, inside, host = port.get("name"), port["containerPort"], port.get("hostPort")
    if name:
        if why := port_name(name):
            yield invalid(f"{path}.name", name, why)
        elif name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    if why := port_number(inside):
        yield invalid(f"{path}.containerPort", inside, why)
    if host and (why := port_number(host)):
        yield invalid(f"{path}.hostPort", host, why)
    elif host and host_network and host != inside:
        yield invalid(f"{path}.hostPort", host, "must match `containerPort` when `hostNetwork` is true")
    if (address := port.get("hostIP")) and (why := ip_address(address)):
        yield invalid(f"{path}.hostIP", address, why)
    yield from unsupported_value(f"{path}.protocol", port["protocol"], PROTOCOLS)


def _host_port(path: str, port: Mapping[str, Any], taken: set[tuple[str, str, int]]) -> Iterator[Problem]:
    if host := port.get("hostPort"):
        claim = port["protocol"], port.get("hostIP", ""), host
        if claim in taken:
            yield duplicate(f"{path}.hostPort", f"{claim[0]}/{claim[1]}/{host}")
        taken.add(claim)
