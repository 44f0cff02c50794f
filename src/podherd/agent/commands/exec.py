"""`podherd exec POD -- COMMAND`."""

from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, ContainerName, Namespace, PodName, RootDir, Stdin, Tty


def exec_(
    pod: PodName,
    command: Annotated[list[str], typer.Argument(help="After `--`, with its own options.", metavar="COMMAND")],
    container: ContainerName = "",
    stdin: Stdin = False,
    tty: Tty = False,
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Run a command in a container; its exit code is this one's.

    127: it is not there; 126: it cannot be run; 1: it was not run for another reason.
    """
    from podherd.agent import remote_streams, terminal
    from podherd.agent.admin import Admin
    from podherd.agent.cli import say

    if tty and not (stdin and terminal.is_terminal()):
        why = "stdin is not a terminal" if stdin else "it needs --stdin (-i)"
        typer.echo(f"no terminal for the command: {why}", err=True)
        tty = False
    socket = Admin(root_dir).upgrade(
        "exec", pod=pod, namespace=namespace, container=container, command=command,
        stdin=stdin, stdout=True, stderr=not tty, tty=tty,
    )  # fmt: skip
    if note := socket.headers.get("x-podherd-note"):
        typer.echo(note, err=True)
    try:
        code = remote_streams.run(socket, stdin, tty, f"{pod}: {command[0]}")
    except remote_streams.NotStartedError as error:
        say(error)
        code = error.code
    raise typer.Exit(code)
