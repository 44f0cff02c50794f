"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

RootDir: TypeAlias = Annotated[
    Path,
    typer.Option("--root-dir", envvar="PODHERD_ROOT", help="Root directory of the agent, where its admin socket is."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")]
DEFAULT_ROOT = Path("/var/lib/podherd")
