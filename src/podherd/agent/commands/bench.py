"""`podherd bench` and `podherd hollow`: other rooms' programs, with the words that follow passed on."""

from importlib import import_module

import typer

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

bench = typer.Typer(help="Measure the agent.", no_args_is_help=True)


@bench.callback()
def _bench() -> None:
    """Measure the agent."""


@bench.command(context_settings=PASS_ON)
def start(context: typer.Context) -> None:
    """Start many pods from one directory and measure it: `podherd bench start --help`."""
    _run("podherd.benchmarks.node.start", context)


@bench.command(context_settings=PASS_ON)
def ready(context: typer.Context) -> None:
    """Time one pod at a time to Ready on nodes of a cluster, side by side: `podherd bench ready --help`."""
    _run("podherd.benchmarks.node.ready", context)


def hollow(context: typer.Context) -> None:
    """Serve a pretend container runtime (podherd hollow --help)."""
    _run("podherd.hollow.command", context)


def _run(module: str, context: typer.Context) -> None:
    code = import_module(module).main(context.args)
    raise typer.Exit(int(code or 0))
