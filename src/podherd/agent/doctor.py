"""`podherd doctor`: what this host lacks, and the command that mends it. Checks look; they change nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Level(StrEnum):
    """How much a finding matters: BAD keeps pods from running, WARN takes something away."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. mend: the command or setting that helps, empty when all is well."""

    what: str
    level: Level
    detail: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What is known of the runtime, as far as it decides what the host must have."""

    pretended: bool = False
    """The hollow runtime: no container, so neither capabilities nor a network matter."""
    network_ready: bool = False
    restricts_oom: bool = False
    """It keeps oom_score_adj no lower than its own (containerd: restrict_oom_score_adj)."""


@dataclass(frozen=True, slots=True)
class Host:
    """What the checks look at. root: where the file system begins, another one in tests."""

    root_dir: Path
    endpoint: str
    """CRI socket, `unix:///…`; empty when none was found."""
    config: Path | None = None
    root: Path = Path("/")
    user_id: int = 0
    runtime: Runtime = Runtime()

    def path(self, absolute: str) -> Path:
        """A path of the host."""
        return self.root / absolute.lstrip("/")

    def text(self, absolute: str) -> str:
        """A small file's text without spaces around it, empty when it cannot be read."""
        try:
            return self.path(absolute).read_text().strip()
        except OSError:
            return ""


Check = Callable[[Host], Iterator[Finding]]


def ok(what: str, detail: str) -> Finding:
    """All is well."""
    return Finding(what, Level.OK, detail)


def warn(what: str, detail: str, mend: str) -> Finding:
    """Something will be missing."""
    return Finding(what, Level.WARN, detail, mend)


def bad(what: str, detail: str, mend: str) -> Finding:
    """No pod can run like this."""
    return Finding(what, Level.BAD, detail, mend)


def examine(host: Host, checks: Iterable[Check]) -> list[Finding]:
    """Every finding of every check, in order; a check that breaks is a finding itself."""
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += check(host)
        except Exception as error:
            mend = "run `podherd doctor` again as root; if it stays, report this line as a bug"
            findings.append(warn(check.__name__, f"the check failed: {error!r}", mend))
    return findings


def report(findings: Iterable[Finding]) -> str:
    """The report as text: a line a finding, its mend below it."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.level:<5} {finding.what:<22} {finding.detail}")
        if finding.mend:
            lines.append(f"{'':<28} -> {finding.mend}")
    return "".join(f"{line}\n" for line in lines)


def exit_code(findings: Iterable[Finding]) -> int:
    """1 when anything is bad."""
    return int(any(finding.level is Level.BAD for finding in findings))
