"""What is wrong with a pod, and how it becomes the one error that a person sees."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from podherd.errors import ManifestError
from podherd.model.nearest import nearest

SHOWN = 100
"""Problems that one error names: `podherd doctor` is the only place to see them, and shows what stands here."""


class Problem(NamedTuple):
    """One thing that is wrong: where (a field path), what, and what to do (may be empty)."""

    path: str
    reason: str
    mend: str = ""
    meant: str = ""
    """For a field that is unknown: the path of the one that is most likely meant."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def error_of(thing: str, problems: Sequence[Problem]) -> ManifestError:
    """The error for a manifest with these problems; of several, each has its mend beside it."""
    if len(problems) == 1:
        return ManifestError(thing, str(problems[0]), problems[0].mend)
    reasons = [f"{problem} ({problem.mend})" if problem.mend else str(problem) for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        reasons.append(f"and {len(problems) - SHOWN} more")
    return ManifestError(thing, "; ".join(reasons))


def required(path: str) -> Problem:
    """A field that must be there."""
    return Problem(path, "Required value")


def invalid(path: str, value: Any, why: str) -> Problem:
    """A value that breaks a rule."""
    return Problem(path, f"Invalid value: {_shown(value)}: {why}")


def duplicate(path: str, value: Any) -> Problem:
    """A value that must be unique and is not."""
    return Problem(path, f"Duplicate value: {_shown(value)}")


def unsupported_value(path: str, value: str, supported: Sequence[str]) -> Iterator[Problem]:
    """Nothing when `value` is one of the `supported`."""
    if value not in supported:
        close = nearest(value, supported)
        mend = f"did you mean `{close}`?" if close else ""
        listed = ", ".join(f'"{name}"' for name in supported)
        yield Problem(path, f"Unsupported value: {_shown(value)}; supported: {listed}", mend)


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 120 else text[:116] + '..."'
