"""This checkout keeps every rule."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from . import code_rules, doc_rules
from .tree import ROOT

RULES = (
    code_rules.long_files,
    code_rules.long_functions,
    code_rules.banned_names,
    code_rules.unfinished,
    code_rules.own_paths,
    code_rules.undocumented,
    doc_rules.broken_links,
    doc_rules.unknown_names,
    doc_rules.unknown_make_targets,
    doc_rules.undescribed_dependencies,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_checkout_keeps(rule: Callable[[Path], Iterator[str]]) -> None:
    assert list(rule(ROOT)) == []


def test_documents_name_only_commands_that_there_are() -> None:
    from podherd.agent.cli import app

    commands = frozenset(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert "run" in commands
    assert list(doc_rules.unknown_commands(ROOT, commands)) == []


def test_imports_keep_the_contracts() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
