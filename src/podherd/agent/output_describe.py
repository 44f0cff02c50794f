"""What `podherd describe pod` prints."""

from typing import Any

from podherd.agent import output_fields, table

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
    return "".join(f"{table.one_line(line).rstrip()}\n" for line in lines)


def field(name: str, value: object, indent: int = 0) -> str:
    """`Name:      value`, the value in a column of its own."""
    return " " * indent + f"{name}:".ljust(WIDTH - indent) + str(value)


def _lines(name: str, values: list[str], indent: int = 0) -> list[str]:
    """A field of several lines, all in the column of values."""
    first, *others = values or ["<none>"]
    return [field(name, first, indent), *(" " * WIDTH + value for value in others)]


def _mapping(name: str, mapping: Object | None) -> list[str]:
    return _lines(name, [f"{key}={value}" for key, value in sorted((mapping or {}).items())])


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
        *(_lines("Message", status["message"].splitlines()) if status.get("message") else []),
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
    if rules := container.get("restartPolicyRules"):
        lines += _lines("Restart Rules", [_rule(rule) for rule in rules], 4)
    ports = container.get("ports") or ()
    lines.append(field("Ports", ", ".join(_port(port, "containerPort") for port in ports) or "<none>", 4))
    if host := [_port(port, "hostPort") for port in ports if port.get("hostPort")]:
        lines.append(field("Host Ports", ", ".join(host), 4))
    for name, key in (("Command", "command"), ("Args", "args")):
        if words := container.get(key):
            lines += [f"    {name}:", *(f"      {line}" for word in words for line in str(word).splitlines() or [""])]
    lines += _state("State", status.get("state") or {})
    if status.get("lastState"):
        lines += _state("Last State", status["lastState"])
    lines.append(field("Ready", bool(status.get("ready")), 4))
    lines.append(field("Restart Count", status.get("restartCount", 0), 4))
    lines += [field(key.capitalize(), _quantities(found), 4) for key, found in _resources(container)]
    return [*lines, *output_fields.environment(container), *output_fields.mounts(container)]


def _port(port: Object, key: str) -> str:
    return f"{port[key]}/{port.get('protocol', 'TCP')}"


def _rule(rule: Object) -> str:
    """`Restart on exit code In 42, 43`."""
    codes = rule.get("exitCodes") or {}
    on = f" on exit code {codes.get('operator', '')} {', '.join(map(str, codes.get('values') or ()))}" if codes else ""
    return f"{rule.get('action', '')}{on}"


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
    for title, key in keys:
        if detail.get(key) not in (None, ""):
            lines += _lines(title, str(detail[key]).splitlines(), 6)
    return lines


def _conditions(status: Object) -> list[str]:
    found = status.get("conditions") or []
    rows = [("  Type", "Status", "Reason")]
    rows += [(f"  {item['type']}", item["status"], item.get("reason", "")) for item in found]
    return ["Conditions:", *table.columns(rows[0], rows[1:]).splitlines()] if found else []


def _volumes(spec: Object) -> list[str]:
    volumes = spec.get("volumes") or []
    lines = [line for volume in volumes for line in _lines(volume["name"], output_fields.volume(volume), 2)]
    return ["Volumes:", *lines] if lines else []


def _events(events: list[Object], now: float) -> list[str]:
    if not events:
        return [field("Events", "<none>")]
    rows = [(f"  {event['type']}", event["reason"], _event_age(event, now), event["fieldPath"], event["message"])
            for event in events]  # fmt: skip
    return ["Events:", *table.columns(("  Type", "Reason", "Age", "From", "Message"), rows).splitlines()]


def _event_age(event: Object, now: float) -> str:
    last = table.age(now - event["lastAt"])
    return last if event["count"] == 1 else f"{last} (x{event['count']} over {table.age(now - event['firstAt'])})"
