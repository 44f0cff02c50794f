"""`podherd doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from podherd.agent.commands.options import DEFAULT_ROOT, GivenRoot


def doctor(
    runtime: Annotated[str, typer.Option("--runtime", help="CRI socket; default: the one that is found.")] = "",
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file to look at.")] = None,
    root_dir: GivenRoot = None,
) -> None:
    """Say what this host lacks and the command that mends it."""
    import os

    from podherd.agent import doctor as door
    from podherd.agent import doctor_agent, doctor_host, doctor_runtime
    from podherd.agent.config_values import endpoint
    from podherd.agent.runtime_choice import find
    from podherd.errors import ConfigError

    told = doctor_agent.told(config)
    root = root_dir or told.get("root_dir") or DEFAULT_ROOT
    try:
        socket = endpoint(runtime) or told.get("runtime_endpoint") or doctor_agent.endpoint(root) or find(root)
    except ValueError as error:
        raise ConfigError("--runtime", str(error), "for example unix:///run/containerd/containerd.sock") from error
    host = door.Host(root, socket, config, user_id=os.geteuid(), runtime=doctor_runtime.look(socket))
    findings = door.examine(host, (*doctor_host.CHECKS, *doctor_runtime.CHECKS, *doctor_agent.CHECKS))
    typer.echo(door.report(findings), nl=False)
    raise typer.Exit(door.exit_code(findings))
