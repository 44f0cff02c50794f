"""`podherd attach POD`."""

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, ContainerName, Namespace, PodName, RootDir, Stdin, Tty


def attach(
    pod: PodName,
    container: ContainerName = "",
    stdin: Stdin = False,
    tty: Tty = False,
    namespace: Namespace = "",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Join the output and stdin of a container's own process.

    Ends with the container, then with exit code 0: `podherd get pods` and `describe` tell the container's own.
    """
    from podherd.agent import remote_streams, terminal
    from podherd.agent.admin import Admin

    socket = Admin(root_dir).upgrade(
        "attach", pod=pod, namespace=namespace, container=container, stdin=stdin, stdout=True, stderr=True, tty=tty
    )
    if note := socket.headers.get("x-podherd-note"):
        typer.echo(note, err=True)
    has_tty = socket.headers.get("x-podherd-tty") == "1"
    if tty and not has_tty:
        typer.echo("the container has no terminal", err=True)
    if has_tty and stdin and terminal.is_terminal():
        typer.echo("If you see no prompt, press Enter.", err=True)
    ours = has_tty and stdin and terminal.is_terminal()
    raise typer.Exit(remote_streams.run(socket, stdin, ours, pod))
