"""`podherd replay JOURNAL`."""

from pathlib import Path
from typing import Annotated, Any

import typer

BAD = 2
"""Exit code for a journal that cannot be read."""


def replay(
    journal: Annotated[
        Path, typer.Argument(help="ROOT/journal, an actor's directory in it, or one file.", metavar="JOURNAL")
    ],
) -> None:
    """Run what a machine heard through it again: it must decide the same."""
    from podherd.agent.cli import say
    from podherd.journal import replay as room
    from podherd.journal.entries import JournalError

    same = True
    try:
        for files in room.journals(journal):
            outcome = room.replay(files)
            same = same and outcome.differs is None
            for note in outcome.notes:
                typer.echo(f"{outcome.actor}: {note}", err=True)
            typer.echo(_words(outcome))
    except JournalError as error:
        say(error)
        raise typer.Exit(BAD) from error
    raise typer.Exit(0 if same else 1)


def _words(outcome: Any) -> str:
    count = f"{outcome.actor}: {_count(outcome.turns, 'turn')}, {_count(outcome.instructions, 'instruction')}"
    if (differs := outcome.differs) is None:
        return f"{count}: the same"
    from podherd.journal.story.clock import local

    found = differs.difference
    return "\n".join(
        (
            f"{count}: they differ",
            f"  turn      {differs.turn} at {local(differs.at)}, in {differs.file}",
            f"  heard     {', '.join(differs.heard)}",
            f"  first at  instruction {found.place}{', ' + found.where if found.where else ''}",
            f"  expected  {found.expected}",
            f"  got       {found.got}",
        )
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
