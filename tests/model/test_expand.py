"""`$(VAR)`: case SPEC-1 and the corners of the syntax."""

import pytest

from podherd.model.expand import expand

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
