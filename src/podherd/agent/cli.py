"""The `podherd` program: its commands, and how an error becomes words and an exit code (0 done, 1 failed, 2 usage)."""

import errno
import os
import sys
from typing import Annotated

import typer

from podherd import __version__
from podherd.agent.commands import bench
from podherd.agent.commands.attach import attach
from podherd.agent.commands.completion import completion, pod_names
from podherd.agent.commands.delete import delete
from podherd.agent.commands.describe import describe
from podherd.agent.commands.doctor import doctor
from podherd.agent.commands.exec import exec_
from podherd.agent.commands.get import get
from podherd.agent.commands.logs import logs
from podherd.agent.commands.replay import replay
from podherd.agent.commands.run import run
from podherd.agent.commands.run_options import spelled
from podherd.agent.commands.story import story
from podherd.agent.commands.top import top
from podherd.errors import ConfigError, PodherdError

FAILED, USAGE = 1, 2
OUTPUT_LOST = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG)

app = typer.Typer(
    name="podherd",
    help="A Kubernetes node agent: the kubelet's job, as a herd of Ray actors.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(get)
app.command()(describe)
app.command()(logs)
app.command("exec")(exec_)
app.command()(attach)
app.command()(delete)
app.command()(top)
app.command()(completion)
app.command(hidden=True)(pod_names)
app.command()(story)
app.command()(replay)
app.command()(doctor)
app.add_typer(bench.bench, name="bench")
app.command(context_settings=bench.PASS_ON)(bench.hollow)


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _podherd(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A Kubernetes node agent: the kubelet's job, as a herd of Ray actors."""


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"podherd {__version__}")


def main() -> None:
    """The console script."""
    sys.exit(call(sys.argv[1:]))


def call(words: list[str]) -> int:
    """Run one command line; its exit code. Errors go to stderr, each with what to do next."""
    try:
        code = _run(words)
        sys.stdout.flush()  # here, where it can still be told that the output is lost
    except OSError as error:
        if error.filename is not None or error.errno not in OUTPUT_LOST:
            raise
        return _lost(error)
    return code


def _run(words: list[str]) -> int:
    try:
        app(args=spelled(words), standalone_mode=True)
    except PodherdError as error:
        say(error)
        return USAGE if isinstance(error, ConfigError) else FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _lost(error: OSError) -> int:
    """The output cannot be written. A reader that has seen enough is told nothing."""
    if error.errno != errno.EPIPE:
        say(PodherdError("output", f"cannot be written: {error.strerror}"))
    # What is left in the buffer would fail once more at the interpreter's exit.
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    return FAILED


def say(error: PodherdError) -> None:
    """An error as a user reads it: what and why, then the next step on its own line."""
    typer.echo(f"podherd: {error.thing}: {error.reason}", err=True)
    if error.mend:
        typer.echo(f"  next: {error.mend}", err=True)


if __name__ == "__main__":
    main()
