"""A map as `key="escaped value"` lines, sorted, as the downward API writes labels (kubelet behaviour, 13.3)."""

from collections.abc import Mapping

_NAMED = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
          "\\": r"\\", '"': r"\""}  # fmt: skip


def lines_of(values: Mapping[str, str]) -> str:
    """One line a key, none at the end of the last."""
    return "\n".join(f"{key}={quoted(values[key])}" for key in sorted(values))


def quoted(text: str) -> str:
    """The text as Go writes it with %q: what can be printed stays, the rest is escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if named := _NAMED.get(char):
        return named
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
