"""`podherd top [pods|node] [POD]...`."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, Namespace, RootDir, one_of, or_pod, pods_named

_what = or_pod(one_of("pods", "node", hidden=("pod", "po", "nodes", "no")))
_SORT, _FORM = one_of("", "cpu", "memory"), one_of("table", "json")
REFRESH_S = 2.0


def top(
    what: Annotated[str, typer.Argument(help="pods or node", metavar="pods|node", callback=_what)] = "pods",
    names: Annotated[list[str] | None, typer.Argument(help="Only these pods.", metavar="[POD]...")] = None,
    namespace: Namespace = "",
    sort: Annotated[
        str, typer.Option("--sort", help="cpu or memory; default: by name.", metavar="cpu|memory", callback=_SORT)
    ] = "",
    containers: Annotated[bool, typer.Option("--containers", help="A line for each container.")] = False,
    once: Annotated[bool, typer.Option("--once", help="One table, also on a terminal.")] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", help="table, json", metavar="table|json", callback=_FORM)
    ] = "table",
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Show what pods or the node use: CPU, memory; live."""
    import sys

    from podherd.agent import output as forms
    from podherd.agent import output_top
    from podherd.agent.admin import Admin

    is_node = what.startswith("no")
    wanted = pods_named(what, names)

    def look() -> dict[str, Any]:
        answer: dict[str, Any] = Admin(root_dir).get("top", namespace=namespace)
        return answer if is_node else output_top.only(answer, wanted)

    def table(answer: dict[str, Any]) -> str:
        if is_node:
            return output_top.node(answer)
        return output_top.pods(answer, sort, containers, not namespace)

    if output == "json":
        typer.echo(forms.document(look(), forms.Form.JSON), nl=False)
    elif once or not sys.stdout.isatty():
        typer.echo(table(look()), nl=False)
    else:
        _live(lambda: table(look()))


def _live(draw: Callable[[], str]) -> None:
    """The table anew every REFRESH_S until Ctrl-C; an agent that is away is waited for, with words."""
    import time

    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from podherd.errors import PodherdError

    console = Console()
    try:
        shown = draw()  # the first error is the command's
        with Live(Text(shown), console=console, auto_refresh=False, screen=False, vertical_overflow="ellipsis") as live:
            while True:
                time.sleep(REFRESH_S)
                try:
                    shown = draw()
                    live.update(Text(shown), refresh=True)
                except PodherdError as error:
                    live.update(Text(f"{shown}\n{error.thing}: {error.reason}"), refresh=True)
    except KeyboardInterrupt:
        return
