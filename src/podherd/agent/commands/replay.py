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
    """Check that a journal's machines decide the same again."""
    from podherd.agent.cli import say
    from podherd.agent.table import one_line
    from podherd.journal import replay as room
    from podherd.journal.entries import JournalError

    code = 0
    try:
        found = room.journals(journal)
    except JournalError as error:
        say(error)
        raise typer.Exit(BAD) from error
    for files in found:  # what one actor's files spoil hides nothing of the others
        outcome = room.Outcome("")
        try:
            room.replay(files, outcome)
            code = max(code, int(outcome.differs is not None))
            bad = None
        except JournalError as error:
            code, bad = BAD, JournalError(*map(one_line, (error.thing, error.reason, error.mend)))
        for note in outcome.notes:
            typer.echo(one_line(f"{outcome.actor}: {note}"), err=True)
        if bad is None:
            typer.echo("\n".join(map(one_line, _words(outcome))))
        else:
            say(bad)
    raise typer.Exit(code)


def _words(outcome: Any) -> list[str]:
    count = f"{outcome.actor}: {_count(outcome.turns, 'turn')}, {_count(outcome.instructions, 'instruction')}"
    if (differs := outcome.differs) is None:
        return [f"{count}: the same"]
    from podherd.journal.story.clock import local

    found = differs.difference
    return [
        f"{count}: they differ",
        f"  turn      {differs.turn} at {local(differs.at)}, in {differs.file}",
        f"  heard     {', '.join(differs.heard)}",
        f"  first at  instruction {found.place}{', ' + found.where if found.where else ''}",
        f"  expected  {found.expected}",
        f"  got       {found.got}",
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
