"""The files of a checkout that the rules look at: no symlinks, nothing generated."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SKIPPED = frozenset({"build", "dist", "node_modules", "bench-results"})


def files(root: Path, *suffixes: str) -> Iterator[Path]:
    """Files with one of the suffixes, in order; hidden, generated and linked directories left out."""
    for path in sorted(root.iterdir()):
        if path.name.startswith(".") or path.name in SKIPPED or path.name.endswith(".egg-info") or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path, *suffixes)
        elif path.suffix in suffixes:
            yield path


def code(root: Path) -> Iterator[Path]:
    """Python and Cython sources, tests included; C that Cython wrote is none."""
    return files(root, ".py", ".pyx", ".pxd", ".pyi")


def pages(root: Path) -> Iterator[Path]:
    """Documentation."""
    return files(root, ".md")
