"""`podherd logs P`."""

from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, ContainerName, Namespace, PodName, RootDir

CHUNK_BYTES = 64 * 1024


def logs(
    pod: PodName,
    container: ContainerName = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the container stops.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", min=-1, help="Only the last N lines; -1: all.")] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="The attempt before this one.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Begin each line with its time.")] = False,
    since: Annotated[str, typer.Option("--since", help="Only lines of the last 5s, 2m, 3h.", metavar="SPAN")] = "",
    since_time: Annotated[str, typer.Option("--since-time", help="Only lines from 2026-01-02T03:04:05Z on.")] = "",
    limit_bytes: Annotated[int | None, typer.Option("--limit-bytes", min=1, help="At most so many bytes.")] = None,
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Print a container's log, joined over its rotated files."""
    import sys

    from podherd.agent.admin import Admin

    with Admin(root_dir).stream(
        "log", pod=pod, namespace=namespace, container=container, follow=follow, previous=previous,
        tail=None if tail is None or tail < 0 else str(tail), timestamps=timestamps,
        sinceSeconds=_seconds(since), sinceTime=since_time, limitBytes=limit_bytes,
    ) as response:  # fmt: skip
        if note := response.headers.get("X-Podherd-Note"):
            typer.echo(note, err=True)
        while data := response.read1(CHUNK_BYTES):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _seconds(span: str) -> str | None:
    """Whole seconds, rounded up as kubectl does, as text: `0` is a time too. Raises ConfigError."""
    if not span:
        return None
    from math import ceil

    from podherd.agent.config_values import duration_s
    from podherd.errors import ConfigError

    try:
        return str(ceil(duration_s(span)))
    except ValueError as error:
        raise ConfigError("--since", str(error), "for example --since 5m") from error
