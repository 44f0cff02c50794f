"""Each rule finds the fault that it is there for, and nothing in a clean tree."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from . import code_rules, doc_rules
from .tree import ROOT

LONG = "    x = 1\n" * code_rules.FUNCTION_LINES
WORD = "TO" + "DO"
SKIP = "pytest.mark.sk" + "ip"
HOME = "/ho" + "me/somebody"

CLEAN = {
    "pyproject.toml": '[build-system]\nrequires = []\n[project]\ndependencies = ["known>=1,<2"]\n',
    "Makefile": "test:\n\techo\n",
    "docs/dependencies.md": "| name | why |\n| --- | --- |\n| `known` | because |\n",
    "docs/page.md": "See [deps](dependencies.md#x), [out](https://example.test), `make test`, `podherd run`,"
                    " podherd.room.door.open_it, podherd.io/label, podherd.sock.\n",
    "src/podherd/__init__.py": '"""Package."""\n',
    "src/podherd/room/__init__.py": '"""Room."""\n',
    "src/podherd/room/door.py": '"""Door."""\n\n\ndef open_it() -> None:\n    """Open."""\n',
    "src/podherd/room/fast.pyx": "cdef int quick(int a):\n    return a\n",
    "tests/test_x.py": "def test_x():\n    assert True\n",
}  # fmt: skip

FAULTS: list[tuple[Callable[[Path], Iterator[str]], str, str, str]] = [
    (code_rules.long_files, "src/podherd/room/big.py", '"""Big."""\n' + "x = 1\n" * code_rules.FILE_LINES, "big.py"),
    (code_rules.long_functions, "src/podherd/room/f.py", f'"""F."""\ndef f():\n{LONG}', "f.py:2: a function of 61"),
    (code_rules.long_functions, "src/podherd/room/f.py", f'"""F."""\nclass A:\n  async def f(self):\n{LONG}', "f.py:3"),
    (code_rules.long_functions, "src/podherd/room/g.pyx", f"cdef int f(int a,\n           int b):\n{LONG}", "g.pyx:1"),
    (code_rules.banned_names, "src/podherd/room/utils.py", '"""U."""\n', "utils.py"),
    (code_rules.banned_names, "src/podherd/room/cri_helpers.py", '"""U."""\n', "cri_helpers.py"),
    (code_rules.unfinished, "src/podherd/room/u.py", f'"""U."""\n# {WORD}: later\n', "u.py:2"),
    (code_rules.unfinished, "tests/test_y.py", f"@{SKIP}\ndef test_y(): assert True\n", "test_y.py:1"),
    (code_rules.own_paths, "docs/own.md", f"Look into {HOME}/x\n", "own.md:1"),
    (code_rules.undocumented, "src/podherd/room/n.py", "x = 1\n", "the module"),
    (
        code_rules.undocumented,
        "src/podherd/room/n.py",
        '"""N."""\nclass A:\n    """A."""\n    def b(self): ...\n',
        "n.py:4: b",
    ),
    (doc_rules.broken_links, "docs/links.md", "[gone](nowhere.md)\n", "links.md:1: nowhere.md"),
    (doc_rules.unknown_names, "docs/names.md", "podherd.room.window\n", "names.md:1: podherd.room.window"),
    (
        doc_rules.unknown_names,
        "src/podherd/room/w.py",
        '"""See `podherd.room.door.shut`."""\n',
        "podherd.room.door.shut",
    ),
    (doc_rules.unknown_make_targets, "docs/make.md", "`make coffee`\n", "make coffee"),
    (doc_rules.undescribed_dependencies, "docs/dependencies.md", "", "known: no row"),
    (
        doc_rules.undescribed_dependencies,
        "docs/dependencies.md",
        "| `known` |\n| `more` |\n",
        "more: described, and no",
    ),
]


def grow(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(("rule", "file", "text", "found"), FAULTS)
def test_a_fault_is_found(
    tmp_path: Path, rule: Callable[[Path], Iterator[str]], file: str, text: str, found: str
) -> None:
    grow(tmp_path, CLEAN)
    assert list(rule(tmp_path)) == []
    grow(tmp_path, {file: text})
    broken = list(rule(tmp_path))
    assert len(broken) == 1
    assert found in broken[0]


def test_an_unknown_command_is_found(tmp_path: Path) -> None:
    grow(tmp_path, CLEAN)
    assert list(doc_rules.unknown_commands(tmp_path, frozenset({"run"}))) == []
    assert list(doc_rules.unknown_commands(tmp_path, frozenset({"stop"}))) == ["docs/page.md: podherd run"]


IMPORTS = {
    "Rooms import downwards only": ("wire/bad.py", "import podherd.steps"),
    "The hollow runtime knows nothing": ("hollow/bad.py", "import podherd.server"),
    "The agent is no part of its benchmarks": ("agent/bad.py", "import podherd.benchmarks"),
    "Machines are pure": ("machines/bad.py", "import time"),
    "Ray at the edge": ("actors/bad.py", "import ray"),
    "gRPC only where CRI or CSI is spoken": ("server/bad.py", "import grpc"),
}


def test_every_import_contract_bites(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "src" / "podherd", tmp_path / "podherd", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for file, line in IMPORTS.values():
        (tmp_path / "podherd" / file).write_text(f'"""Bad."""\n\n{line}\n')
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    for name in IMPORTS:
        assert [line for line in done.stdout.splitlines() if line.startswith(name) and "BROKEN" in line], done.stdout
