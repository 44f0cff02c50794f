"""Rules that keep documentation true: links, dotted names, commands, dependencies."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from .tree import code, pages

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
DOTTED = re.compile(r"(?<![\w./@-])podherd((?:\.[A-Za-z_]\w*)+)(?![\w/-])")
NO_MODULES = frozenset({"io", "local", "sock", "service", "lock", "egg", "yaml", "dev", "slice"})
"""What `podherd.x` may be besides a module: files, label domains."""
PROTOBUF = frozenset({"podherd.hollow.v1.Control"})
"""Names of gRPC services."""
MAKE = re.compile(r"`make ([a-z][a-z-]*)")
COMMAND = re.compile(r"`podherd ([a-z][a-z-]*)")
FIRST_CELL = re.compile(r"^\| *`([^`]+)`", re.MULTILINE)


def broken_links(root: Path) -> Iterator[str]:
    """Relative links of documents that lead nowhere."""
    for page in pages(root):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for target in LINK.findall(line):
                file = unquote(target.partition("#")[0])
                if file and "://" not in file and not file.startswith("mailto:") and not (page.parent / file).exists():
                    yield f"{page.relative_to(root)}:{number}: {target}"


def unknown_names(root: Path) -> Iterator[str]:
    """Dotted names `podherd.a.b` in documents and in code, tests apart, that name nothing."""
    for path in (*pages(root), *(path for path in code(root) if path.relative_to(root).parts[0] != "tests")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for found in DOTTED.findall(line):
                parts = found[1:].split(".")
                if (
                    parts[0] not in NO_MODULES
                    and f"podherd{found}" not in PROTOBUF
                    and not _resolves(root / "src" / "podherd", parts)
                ):
                    yield f"{path.relative_to(root)}:{number}: podherd{found}"


def _resolves(place: Path, parts: list[str]) -> bool:
    """A package, a module, or a name that a module binds (and anything below such a name)."""
    if not parts:
        return True
    if (place / parts[0]).is_dir():
        return _resolves(place / parts[0], parts[1:])
    modules = [place / f"{parts[0]}{suffix}" for suffix in (".pyi", ".py", ".pyx", ".pxd")]
    if found := next((module for module in modules if module.exists()), None):
        return len(parts) == 1 or parts[1] in _bound(found)
    return (place / "__init__.py").exists() and parts[0] in _bound(place / "__init__.py")


def _bound(module: Path) -> set[str]:
    text = module.read_text()
    if module.suffix in (".pyx", ".pxd"):
        return set(re.findall(r"^(?:cpdef|cdef|def|class)\b[^(=:]*?(\w+)\s*[(:=]", text, re.MULTILINE))
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        else:
            names |= {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
    return names


def unknown_make_targets(root: Path) -> Iterator[str]:
    """`make x` in documents without a target x."""
    makefile = root / "Makefile"
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile.read_text(), re.MULTILINE)) if makefile.exists() else set()
    for page in pages(root):
        for target in MAKE.findall(page.read_text()):
            if target not in targets:
                yield f"{page.relative_to(root)}: make {target}"


def unknown_commands(root: Path, commands: frozenset[str]) -> Iterator[str]:
    """`podherd x` in documents without a command x."""
    for page in pages(root):
        for command in COMMAND.findall(page.read_text()):
            if command not in commands:
                yield f"{page.relative_to(root)}: podherd {command}"


def undescribed_dependencies(root: Path) -> Iterator[str]:
    """Dependencies without a row in docs/dependencies.md, and rows without a dependency."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    wanted = list(project["build-system"]["requires"]) + list(project["project"]["dependencies"])
    for extra in project["project"].get("optional-dependencies", {}).values():
        wanted += extra
    declared = {re.split(r"[<>=!~\[; ]", name, maxsplit=1)[0].lower() for name in wanted}
    described = {name.lower() for name in FIRST_CELL.findall((root / "docs" / "dependencies.md").read_text())}
    yield from (f"{name}: no row in docs/dependencies.md" for name in sorted(declared - described))
    yield from (f"{name}: described, and no dependency" for name in sorted(described - declared))
