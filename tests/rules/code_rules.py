"""Rules about code, each a function of a tree's root to what breaks it: `file:line: what`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .tree import code, files

FUNCTION_LINES = 60
FILE_LINES = 600
BANNED_NAMES = frozenset({"util", "utils", "helper", "helpers", "common", "base", "manager", "managers", "misc"})
# The words are put together here, so that this file does not break its own rule.
UNFINISHED = re.compile(
    "|".join(
        (
            r"\b(?:" + "TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b",
            "NotImplemented" + "Error",
            r"\b(?:pytest|mark|unittest)\.(?:sk" + "ip|xf" + "ail)",
        )
    )
)
OWN_MACHINE = re.compile(r"(?<![\w.])(?:/wo" + r"rk/|/ro" + r"ot/|/ho" + r"me/\w)")
_CYTHON_FUNCTION = re.compile(r"^(\s*)(?:cpdef|cdef|def|async def)\b[^=]*\(.*$")


def long_files(root: Path) -> Iterator[str]:
    """Files of more than FILE_LINES lines."""
    for path in code(root):
        if (lines := path.read_text().count("\n")) > FILE_LINES:
            yield f"{path.relative_to(root)}: {lines} lines"


def long_functions(root: Path) -> Iterator[str]:
    """Functions of more than FUNCTION_LINES lines, docstring and decorators included."""
    for path in code(root):
        spans = _python_spans if path.suffix in (".py", ".pyi") else _cython_spans
        for line, length in spans(path.read_text()):
            if length > FUNCTION_LINES:
                yield f"{path.relative_to(root)}:{line}: a function of {length} lines"


def _python_spans(text: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, (node.end_lineno or first) - first + 1


def _cython_spans(text: str) -> Iterator[tuple[int, int]]:
    """By indentation: up to the last line that is deeper than the function's own."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if not (found := _CYTHON_FUNCTION.match(line)):
            continue
        end, closed = start, False
        for number in range(start + 1, len(lines)):
            body = lines[number].strip()
            if body and not lines[number].startswith(found[1] + " "):
                closed = not body.startswith(")")
                if closed:
                    break
            if body:
                end = number
        yield start + 1, end - start + 1


def banned_names(root: Path) -> Iterator[str]:
    """Files that are named for what they are not."""
    for path in code(root):
        if BANNED_NAMES & set(path.stem.lower().split("_")):
            yield f"{path.relative_to(root)}: name it for what is in it"


def unfinished(root: Path) -> Iterator[str]:
    """Words of unfinished work, and tests that are left out."""
    for path in files(root, ".py", ".pyx", ".pxd", ".pyi", ".md", ".toml", ".yaml", ".service"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if UNFINISHED.search(line):
                yield f"{path.relative_to(root)}:{number}: {line.strip()}"


def own_paths(root: Path) -> Iterator[str]:
    """Paths of somebody's own machine."""
    for path in files(root, ".py", ".pyx", ".pxd", ".pyi", ".md", ".toml", ".yaml", ".service"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if OWN_MACHINE.search(line):
                yield f"{path.relative_to(root)}:{number}: {line.strip()}"


def undocumented(root: Path) -> Iterator[str]:
    """Modules, public classes and public functions without a docstring, tests apart."""
    for path in files(root, ".py"):
        relative = path.relative_to(root)
        if relative.parts[0] == "tests":
            continue
        tree = ast.parse(path.read_text())
        for node in (tree, *_public(tree)):
            if ast.get_docstring(node) is None:
                name = getattr(node, "name", "the module")
                yield f"{relative}:{getattr(node, 'lineno', 1)}: {name} has no docstring"


def _public(
    scope: ast.Module | ast.ClassDef,
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)
