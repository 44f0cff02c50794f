"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def one_of(*words: str, hidden: tuple[str, ...] = ()) -> Callable[[str], str]:
    """A check of a word that may be one of these, or a short form that the error need not name."""

    def check(word: str) -> str:
        if word not in words and word not in hidden:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(words)}")
        return word

    return check


KINDS = ("pod", "pods", "po")


def without_kind(word: str) -> str:
    """`pod/NAME` is kubectl's way to write NAME."""
    kind, _, name = word.partition("/")
    return name if name and kind in KINDS else word


def or_pod(check: Callable[[str], str]) -> Callable[[str], str]:
    """A check that lets `pod/NAME` pass beside what `check` lets pass."""
    return lambda word: word if without_kind(word) != word else check(word)


def pods_named(what: str, names: list[str] | None) -> list[str]:
    """The pods of `pods NAME…` or `pod/NAME…`; what: what stands first."""
    first = [what] if without_kind(what) != what else []
    return [without_kind(word) for word in (*first, *(names or ()))]


def named(kind: str, pod: str) -> str:
    """The pod of `pod NAME` or `pod/NAME`; kind: what stands first. Raises BadParameter."""
    first, _, name = kind.partition("/")
    if first not in KINDS:
        raise typer.BadParameter(f"{first!r} is none of pod", param_hint="'pod'")
    if bool(name) == bool(pod):
        raise typer.BadParameter("name one pod: pod NAME or pod/NAME", param_hint="'POD'")
    return name or pod


RootDir: TypeAlias = Annotated[
    Path,
    typer.Option("--root-dir", envvar="PODHERD_ROOT", help="Root directory of the agent, where its admin socket is."),
]
GivenRoot: TypeAlias = Annotated[
    Path | None,
    typer.Option("--root-dir", envvar="PODHERD_ROOT", help="Root directory of the agent; default /var/lib/podherd."),
]
Namespace: TypeAlias = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")]
_POD = "NAME, NAMESPACE/NAME, or a static pod's name without the node's."
PodKind: TypeAlias = Annotated[str, typer.Argument(help="pod, or pod/NAME", metavar="pod")]
NameOfKind: TypeAlias = Annotated[str, typer.Argument(help=_POD, metavar="POD", callback=without_kind)]
PodName: TypeAlias = Annotated[str, typer.Argument(help=_POD, metavar="POD", callback=without_kind)]
ContainerName: TypeAlias = Annotated[
    str, typer.Option("--container", "-c", help="Which container; default: the annotated one, else the first.")
]
Stdin: TypeAlias = Annotated[bool, typer.Option("--stdin", "-i", help="Pass this stdin on.")]
Tty: TypeAlias = Annotated[bool, typer.Option("--tty", "-t", help="On a terminal, with -i.")]
DEFAULT_ROOT = Path("/var/lib/podherd")
