"""`$(VAR)` in env values, command and args (API text of v1.EnvVar; kubelet behaviour, section 3.12; case SPEC-1)."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, `$$` one `$`; an unknown name, an open bracket and anything else stay as they are.

    One pass: a value that holds `$(…)` itself is not looked at again.
    """
    if "$" not in text:
        return text
    return _REFERENCE.sub(lambda found: "$" if found[1] else variables.get(found[2], found[0]), text)
