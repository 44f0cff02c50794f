"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

RootDir: TypeAlias = Annotated[
    Path,
    typer.Option("--root-dir", envvar="PODHERD_ROOT", help="Root directory of the agent, where its admin socket is."),
]
GivenRoot: TypeAlias = Annotated[
    Path | None,
    typer.Option("--root-dir", envvar="PODHERD_ROOT", help="Root directory of the agent; default /var/lib/podherd."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")]
PodName: TypeAlias = Annotated[
    str, typer.Argument(help="NAME, NAMESPACE/NAME, or a static pod's name without the node's.", metavar="POD")
]
ContainerName: TypeAlias = Annotated[
    str, typer.Option("--container", "-c", help="Which container; default: the annotated one, else the first.")
]
Stdin: TypeAlias = Annotated[bool, typer.Option("--stdin", "-i", help="Pass this stdin on.")]
Tty: TypeAlias = Annotated[bool, typer.Option("--tty", "-t", help="On a terminal, with -i.")]
DEFAULT_ROOT = Path("/var/lib/podherd")


def one_of(*words: str, hidden: tuple[str, ...] = ()) -> Callable[[str], str]:
    """A check of a word that may be one of these, or a short form that the error need not name."""

    def check(word: str) -> str:
        if word not in words and word not in hidden:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(words)}")
        return word

    return check
