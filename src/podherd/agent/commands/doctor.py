"""`podherd doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, RootDir


def doctor(
    runtime: Annotated[str, typer.Option("--runtime", help="CRI socket; default: the one that is found.")] = "",
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file to look at.")] = None,
    root_dir: RootDir = DEFAULT_ROOT,
) -> None:
    """Say what this host lacks and the command that mends it."""
    import os

    from podherd.agent import doctor as door
    from podherd.agent import doctor_agent, doctor_host, doctor_runtime
    from podherd.agent.config_values import endpoint
    from podherd.agent.runtime_choice import find

    socket = endpoint(runtime) or doctor_agent.endpoint(root_dir) or find(root_dir)
    host = door.Host(root_dir, socket, config, user_id=os.geteuid())
    findings = door.examine(host, (*doctor_host.CHECKS, *doctor_runtime.CHECKS, *doctor_agent.CHECKS))
    typer.echo(door.report(findings), nl=False)
    raise typer.Exit(door.exit_code(findings))
