"""`podherd story P`."""

from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir, one_of

UID_SHORT = 8
"""So much of a uid tells the editions of a pod apart."""


def story(
    pod: Annotated[
        str, typer.Argument(help="NAME, NAMESPACE/NAME, or a static pod's name without the node's.", metavar="POD")
    ],
    namespace: Namespace = "",
    since: Annotated[str, typer.Option("--since", help="Only what is younger: 10m, 1h30m.", metavar="DURATION")] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="text or json", metavar="FORM", callback=one_of("text", "json"))
    ] = "text",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Tell why a pod is as it is: what was wanted, planned, done and seen, with times. Needs no running agent."""
    import json
    import time

    from podherd.journal.story.story import story as told

    first_at = time.time() - _seconds(since) if since else 0.0
    (own_namespace, name), lines, notes = told(root_dir, pod, namespace)
    lines = [line for line in lines if line.at >= first_at]
    for note in notes:
        typer.echo(note, err=True)
    if output == "json":
        typer.echo(json.dumps(_document(own_namespace, name, lines), indent=4))
    elif lines:
        typer.echo(_text(lines))
    else:
        typer.echo(f"Nothing about {own_namespace}/{name} in the last {since}.", err=True)


def _seconds(since: str) -> float:
    from podherd.agent.config_values import duration_s

    try:
        return duration_s(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from error


def _text(lines: list[Any]) -> str:
    from podherd.journal.story.clock import is_one_day, local

    dated = not is_one_day([line.at for line in lines])
    uids = {line.uid for line in lines if line.uid}
    width = UID_SHORT + 2 if len(uids) > 1 else 0  # an edited static pod is another pod under the same name
    return "\n".join(
        f"{local(line.at, dated)}  {line.kind:<8}{line.uid[: min(width, UID_SHORT)]:<{width}}{_one_line(line.text)}"
        for line in lines
    )


def _one_line(text: str) -> str:
    """Whatever a runtime or a program said, it cannot begin a line or move the cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def _document(namespace: str, name: str, lines: list[Any]) -> dict[str, Any]:
    from podherd.model.status import rfc3339_micro

    items = [
        {
            "time": rfc3339_micro(each.at),
            "kind": str(each.kind),
            "text": each.text,
            "actor": each.actor,
            "uid": each.uid,
        }
        for each in lines
    ]
    return {"namespace": namespace, "name": name, "lines": items}
