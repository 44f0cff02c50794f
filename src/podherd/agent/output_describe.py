"""What `podherd describe pod` prints."""

from typing import Any

from podherd.agent import table

Object = dict[str, Any]
WIDTH = 20


def pod(answer: Object, now: float) -> str:
    """The pod, its containers with their states, its conditions and its events, as text."""
    body, row = answer["pod"], answer["row"]
    spec, status = body.get("spec") or {}, body["status"]
    lines = [
        *_head(body, row, answer.get("cause") or ""),
        *_containers("Init Containers", spec, status, "initContainers", "initContainerStatuses"),
    ]
    lines += _containers("Containers", spec, status, "containers", "containerStatuses")
    lines += _containers("Ephemeral Containers", spec, status, "ephemeralContainers", "ephemeralContainerStatuses")
    lines += _conditions(status) + _volumes(spec) + _events(answer["events"], now)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def field(name: str, value: object, indent: int = 0) -> str:
    """`Name:      value`, the value in a column of its own."""
    return " " * indent + f"{name}:".ljust(WIDTH - indent) + str(value)


def _mapping(name: str, mapping: Object | None) -> list[str]:
    pairs = [f"{key}={value}" for key, value in sorted((mapping or {}).items())] or ["<none>"]
    return [field(name, pairs[0]), *(" " * WIDTH + pair for pair in pairs[1:])]


def _head(body: Object, row: Object, cause: str) -> list[str]:
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body["status"]
    return [
        field("Name", metadata["name"]),
        field("Namespace", metadata["namespace"]),
        field("UID", row["uid"]),
        field("Source", row["source"] or "<runtime>"),
        *([field("Cause", cause)] if cause else []),
        field("Node", f"{spec.get('nodeName', '<none>')}/{status.get('hostIP', '<none>')}"),
        field("Start Time", status.get("startTime", "<none>")),
        *_mapping("Labels", metadata.get("labels")),
        *_mapping("Annotations", metadata.get("annotations")),
        field("Status", _phase(row)),
        *([field("Reason", status["reason"])] if status.get("reason") else []),
        *([field("Message", status["message"])] if status.get("message") else []),
        field("IP", status.get("podIP") or "<none>"),
        field("QoS Class", status.get("qosClass", "<none>")),
        field("Restart Policy", spec.get("restartPolicy", "<none>")),
    ]


def _phase(row: Object) -> str:
    """The phase, as kubectl describes it; what the table's STATUS says more stands with each container."""
    return "Terminating" if table.status_word(row) == "Terminating" else str(row["phase"])


def _containers(title: str, spec: Object, status: Object, specs_key: str, statuses_key: str) -> list[str]:
    known = {found["name"]: found for found in status.get(statuses_key) or ()}
    specs = spec.get(specs_key) or [{"name": name} for name in known]
    lines = [f"{title}:"] if specs else []
    for container in specs:
        lines += _container(container, known.get(container["name"], {}))
    return lines


def _container(container: Object, status: Object) -> list[str]:
    lines = [f"  {container['name']}:"]
    lines.append(field("Container ID", status.get("containerID") or "<none>", 4))
    lines.append(field("Image", container.get("image", status.get("image", "<none>")), 4))
    lines.append(field("Image ID", status.get("imageID") or "<none>", 4))
    for name, key in (("Restart Policy", "restartPolicy"), ("Target", "targetContainerName")):
        if word := container.get(key):
            lines.append(field(name, word, 4))
    ports = [f"{port['containerPort']}/{port.get('protocol', 'TCP')}" for port in container.get("ports") or ()]
    lines.append(field("Ports", ", ".join(ports) or "<none>", 4))
    for name, key in (("Command", "command"), ("Args", "args")):
        if words := container.get(key):
            lines += [f"    {name}:", *(f"      {line}" for word in words for line in str(word).splitlines() or [""])]
    lines += _state("State", status.get("state") or {})
    if status.get("lastState"):
        lines += _state("Last State", status["lastState"])
    lines.append(field("Ready", bool(status.get("ready")), 4))
    lines.append(field("Restart Count", status.get("restartCount", 0), 4))
    lines += [field(key.capitalize(), _quantities(found), 4) for key, found in _resources(container)]
    lines += [f"    Mounts: {mount['mountPath']} from {mount['name']}" for mount in container.get("volumeMounts") or ()]
    return lines


def _resources(container: Object) -> list[tuple[str, Object]]:
    resources = container.get("resources") or {}
    return [(key, resources[key]) for key in ("limits", "requests") if resources.get(key)]


def _quantities(found: Object) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(found.items()))


def _state(name: str, state: Object) -> list[str]:
    kind = next(iter(state), "waiting")
    lines = [field(name, kind.capitalize(), 4)]
    detail = state.get(kind) or {}
    keys = (("Reason", "reason"), ("Message", "message"), ("Exit Code", "exitCode"), ("Started", "startedAt"),
            ("Finished", "finishedAt"))  # fmt: skip
    return lines + [field(title, detail[key], 6) for title, key in keys if detail.get(key) not in (None, "")]


def _conditions(status: Object) -> list[str]:
    found = status.get("conditions") or []
    rows = [("  Type", "Status", "Reason")]
    rows += [(f"  {item['type']}", item["status"], item.get("reason", "")) for item in found]
    return ["Conditions:", *table.columns(rows[0], rows[1:]).splitlines()] if found else []


def _volumes(spec: Object) -> list[str]:
    volumes = spec.get("volumes") or []
    kinds = [(volume["name"], next((key for key in volume if key != "name"), "emptyDir")) for volume in volumes]
    return ["Volumes:", *(field(name, kind, 2) for name, kind in kinds)] if kinds else []


def _events(events: list[Object], now: float) -> list[str]:
    if not events:
        return [field("Events", "<none>")]
    rows = [(f"  {event['type']}", event["reason"], _event_age(event, now), event["fieldPath"], event["message"])
            for event in events]  # fmt: skip
    return ["Events:", *table.columns(("  Type", "Reason", "Age", "From", "Message"), rows).splitlines()]


def _event_age(event: Object, now: float) -> str:
    last = table.age(now - event["lastAt"])
    return last if event["count"] == 1 else f"{last} (x{event['count']} over {table.age(now - event['firstAt'])})"
