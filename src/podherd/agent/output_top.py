"""What `podherd top` prints: CPU in millicores and working sets in Mi, as `kubectl top` does. Pure."""

from typing import Any

from podherd.agent import table
from podherd.errors import PodherdError

Object = dict[str, Any]
UNKNOWN = "-"
"""For what is not known yet: a container that started between two samples has no rate."""


def pods(answer: Object, order: str, containers: bool, all_namespaces: bool) -> str:
    """A line a pod, or a container; the NAMESPACE column is left out when one namespace was asked for."""
    headers = ["NAMESPACE"] * all_namespaces + ["POD"] * containers + ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    rows = _containers(answer["items"]) if containers else answer["items"]
    lines = []
    for row in ordered(rows, order):
        names = [row["namespace"]] * all_namespaces + [row.get("pod", "")] * containers + [row["name"]]
        lines.append([*names, cores(row["cpuCores"]), memory(row["memoryBytes"])])
    return table.columns(headers, lines)


def only(answer: Object, words: list[str]) -> Object:
    """The answer with those pods alone that are meant by these words, all for none. Raises PodherdError."""
    if not words:
        return answer
    node_end = f"-{answer['nodeName'].lower()}"
    chosen = []
    for word in words:
        namespace, _, name = word.rpartition("/")
        held = [item for item in answer["items"] if namespace in ("", item["namespace"])]
        found = [item for item in held if item["name"] == name] or [
            item for item in held if item["name"] == name + node_end
        ]
        if not found:
            raise PodherdError(f"pod {word}", "no container of it runs here", "`podherd get pods` lists the pods")
        chosen += found
    return {**answer, "items": chosen}


def _containers(items: list[Object]) -> list[Object]:
    return [
        {**container, "namespace": item["namespace"], "pod": item["name"]}
        for item in items
        for container in item["containers"]
    ]


def ordered(rows: list[Object], order: str) -> list[Object]:
    """The greatest first by `cpu` or `memory`, unknown figures last; with no order as they are, by name."""
    key = {"cpu": "cpuCores", "memory": "memoryBytes"}.get(order)
    return sorted(rows, key=lambda row: -1 if row[key] is None else row[key], reverse=True) if key else rows


def node(answer: Object) -> str:
    """The line of the node, with its shares of CPU and memory."""
    use = answer["node"]
    headers = ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"]
    return table.columns(headers, [[
        answer["nodeName"],
        cores(use["cpuCores"]), share(use["cpuCores"], use["cpus"]),
        memory(use["memoryBytes"]), share(use["memoryBytes"], use["memoryTotalBytes"]),
    ]])  # fmt: skip


def cores(value: float | None) -> str:
    """Cores as millicores, `125m`, rounded up: what works a little shows."""
    return UNKNOWN if value is None else f"{-int(-value * 1000 // 1)}m"


def memory(value: int | None) -> str:
    """Bytes in whole Mi."""
    return UNKNOWN if value is None else f"{value >> 20}Mi"


def share(value: float | None, whole: float) -> str:
    """A percentage without fraction."""
    return UNKNOWN if value is None or not whole else f"{100 * value / whole:.0f}%"
