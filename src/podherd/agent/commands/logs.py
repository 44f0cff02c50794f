"""`podherd logs P`."""

from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir

CHUNK_BYTES = 64 * 1024


def logs(
    pod: Annotated[
        str, typer.Argument(help="NAME, NAMESPACE/NAME, or a static pod's name without the node's.", metavar="POD")
    ],
    container: Annotated[str, typer.Option("--container", "-c", help="Which container; default: the first.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the container stops.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", min=-1, help="Only the last N lines; -1: all.")] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="The attempt before this one.")] = False,
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Print a container's log, joined over its rotated files."""
    import sys

    from podherd.agent.admin import Admin

    lines = None if tail is None or tail < 0 else str(tail)
    with Admin(root_dir).stream(
        "log", pod=pod, namespace=namespace, container=container, tail=lines, follow=follow, previous=previous
    ) as response:
        if note := response.headers.get("X-Podherd-Note"):
            typer.echo(note, err=True)
        while data := response.read1(CHUNK_BYTES):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
