"""`$(VAR)`: case SPEC-1 and the corners of the syntax."""

import pytest

from podherd.errors import ContainerConfigError
from podherd.model.expand import LONGEST, expand

KNOWN = {"A": "x", "B": "$(A)", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "x"),
        ("$(A)-$(A)", "x-x"),
        ("$(B)", "$(A)"),
        ("$(EMPTY)|", "|"),
        ("$(NOPE)", "$(NOPE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$x"),
        ("$$$$", "$$"),
        ("$$", "$"),
        ("$", "$"),
        ("$(A", "$(A"),
        ("$(A $(A)", "$(A $(A)"),
        ("$(A $$", "$(A $"),
        ("$()", "$()"),
        ("$A ${A}", "$A ${A}"),
        ("100%$", "100%$"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_expand_is_one_pass_and_leaves_the_unknown_alone(text, result):
    assert expand(text, KNOWN) == result


def test_variables_made_of_each_other_end_at_the_length_of_an_argument():
    variables = {"A": "x" * LONGEST}
    assert expand("$(A)", variables) == variables["A"]
    with pytest.raises(ContainerConfigError, match="when expanded"):
        expand("$(A)$(A)", variables)
