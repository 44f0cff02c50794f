"""`podherd story P`."""

from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, PodName, RootDir, one_of

UID_SHORT = 8
"""So much of a uid tells the editions of a pod apart."""


def story(
    pod: PodName,
    namespace: Namespace = "",
    since: Annotated[str, typer.Option("--since", help="Only what is younger: 10m, 1h30m.", metavar="DURATION")] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", help="text or json", metavar="text|json", callback=one_of("text", "json"))
    ] = "text",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Tell why a pod is as it is.

    What was wanted, planned, done and seen, with times. Needs no running agent.
    """
    import time

    from podherd.agent import output as forms
    from podherd.agent.table import one_line
    from podherd.journal.story.story import story as told
    from podherd.journal.story.tale import NoStoryError

    _check(pod, namespace)
    first_at = time.time() - _seconds(since) if since else 0.0
    try:
        (own_namespace, name), lines, notes = told(root_dir, pod, namespace)
    except NoStoryError as error:
        for note in error.notes:
            typer.echo(one_line(note), err=True)
        raise
    lines = [line for line in lines if line.at >= first_at]
    for note in notes:
        typer.echo(one_line(note), err=True)
    if output == "json":
        typer.echo(forms.document(_document(own_namespace, name, lines), forms.Form.JSON), nl=False)
    elif lines:
        typer.echo(_text(lines))
    else:
        typer.echo(f"Nothing about {own_namespace}/{name} in the last {since}.", err=True)


def _check(pod: str, namespace: str) -> None:
    """Raises BadParameter for words that can be no pod's."""
    own_namespace, slash, name = pod.rpartition("/")
    if not name or (slash and not own_namespace):
        raise typer.BadParameter(f"{pod!r} names no pod: NAME or NAMESPACE/NAME", param_hint="'POD'")
    for word, hint in ((pod, "'POD'"), (namespace, "'--namespace'")):
        if any("\ud800" <= char <= "\udfff" for char in word):
            raise typer.BadParameter(f"{word!r} is not UTF-8", param_hint=hint)


def _seconds(since: str) -> float:
    from podherd.agent.config_values import duration_s

    try:
        return duration_s(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from error


def _text(lines: list[Any]) -> str:
    from podherd.agent.table import one_line
    from podherd.journal.story.clock import is_one_day, local

    dated = not is_one_day([line.at for line in lines])
    uids = {line.uid for line in lines if line.uid}
    width = UID_SHORT + 2 if len(uids) > 1 else 0  # an edited static pod is another pod under the same name
    return "\n".join(
        one_line(f"{local(line.at, dated)}  {line.kind:<8}{line.uid[: min(width, UID_SHORT)]:<{width}}{line.text}")
        for line in lines
    )


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
