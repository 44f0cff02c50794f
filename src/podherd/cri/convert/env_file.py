"""A variable out of a file that another container of the pod wrote into an emptyDir (`fileKeyRef`, KEP-3721).

The file holds lines `NAME='value'`. A value may go over several lines and is taken as it stands; blank lines, lines
that begin with `#` and comments after a value are passed over.
"""

import re
from collections.abc import Callable, Iterator

from podherd.errors import ContainerConfigError
from podherd.model.pod import Body

ReadFile = Callable[[str, str], bytes]
"""Reads the file at a relative path in the pod's volume of this name, never outside of it. Raises OSError."""
_BLANK = " \t"
_BLANKS = (" ", "\t")
_TAIL = re.compile(r"[ \t]*(?:#.*)?\Z")


def file_value(reference: Body, about: str, read_file: ReadFile | None) -> str | None:
    """The value that a v1.FileKeySelector names; None when it is optional and there is no such key, or it is empty.

    about: the variable and its container, for errors. Raises ContainerConfigError.
    """
    key, path, volume = reference["key"], reference["path"], reference["volumeName"]
    if read_file is None:
        raise ContainerConfigError(about, f'cannot find the volume "{volume}" referenced by FileKeyRef')
    try:
        value = value_of(read_file(volume, path).decode(), key)
    except OSError as error:
        raise ContainerConfigError(about, f"couldn't parse env file: {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ContainerConfigError(about, f"couldn't parse env file: {path}: {error}") from error
    if not value and not reference.get("optional"):
        mend = "write it into the file, or set optional: true"
        raise ContainerConfigError(about, f'environment variable key "{key}" not found in file "{path}"', mend)
    return value or None


def value_of(text: str, key: str) -> str:
    """The first value of `key`, empty when there is none. Raises ValueError for a line of another form before it.

    A blank after `=` makes the value empty, as in a shell.
    """
    lines = ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1))
    for number, line in lines:
        words = line.lstrip(_BLANK)
        if not words or words.startswith("#"):
            continue
        name, rest = _split(words, number)
        value = "" if rest.startswith(_BLANKS) else _quoted(rest, number, lines)
        if name == key:
            return value
    return ""


def _split(line: str, number: int) -> tuple[str, str]:
    name, equals, rest = line.partition("=")
    if not equals:
        raise ValueError(f"line {number}: missing '='")
    if not name:
        raise ValueError(f"line {number}: empty variable name")
    if name.endswith(_BLANKS):
        raise ValueError(f"line {number}: whitespace before '=' is not allowed")
    return name, rest


def _quoted(rest: str, number: int, lines: Iterator[tuple[int, str]]) -> str:
    """The text between single quotes, over as many lines as it takes."""
    if not rest.startswith("'"):
        raise ValueError(f"line {number}: value must be enclosed in single quotes")
    parts: list[str] = []
    rest = rest[1:]
    while "'" not in rest:
        parts.append(rest)
        if (following := next(lines, None)) is None:
            raise ValueError(f"line {number}: unclosed single quote")
        rest = following[1]
    last, _, tail = rest.partition("'")
    if not _TAIL.match(tail):
        raise ValueError(f"line {number}: unexpected content after closing quote")
    return "\n".join([*parts, last])
