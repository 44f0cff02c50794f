"""`$(VAR)` in env values, command and args (API text of v1.EnvVar; kubelet behaviour, section 3.12; case SPEC-1)."""

import re
from collections.abc import Mapping

from podherd.errors import ContainerConfigError

LONGEST = 128 * 1024
"""Characters that references may add to one value: Linux takes no longer argument or variable (MAX_ARG_STRLEN), and
variables made of each other grow without end."""
_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, `$$` one `$`; an unknown name, an open bracket and anything else stay as they are.

    One pass: a value that holds `$(…)` itself is not looked at again.
    """
    if "$" not in text:
        return text
    size = 0

    def value_of(found: re.Match[str]) -> str:
        nonlocal size
        value = "$" if found[1] else variables.get(found[2], found[0])
        size += len(value)
        if size > LONGEST:
            raise ContainerConfigError(
                f"value with $({found[2]})", f"is longer than {LONGEST} characters when expanded"
            )
        return value

    return _REFERENCE.sub(value_of, text)
