"""The form of files with variables (KEP-3721)."""

import pytest

from podherd.cri.convert.env_file import value_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("A='x'", "x"),
        ("A='x'\n", "x"),
        ("A='x'\r\n", "x"),
        ("  A='x'", "x"),
        ("\n   \n# A='no'\nA='x'", "x"),
        ("B='b'\nA='x' # why\n", "x"),
        ("A='x'#why", "x"),
        ("A='first'\nA='second'", "first"),
        ("A='one\n  two\n\n#three'\nB='b'", "one\n  two\n\n#three"),
        ("B='\nA=no\n'\nA='x'", "x"),
        ("A=''", ""),
        ("A= 'x'", ""),
        ("A='$B \\n \"q\" = y'", '$B \\n "q" = y'),
        ("A-b.c='no'\nA='x'", "x"),
        ("A='x'\nwhatever", "x"),
    ],
)
def test_the_first_value_of_the_name_is_taken_as_it_stands(text, value):
    assert value_of(text, "A") == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A", "line 1: missing '='"),
        ("B='x'\n\nA", "line 3: missing '='"),
        ("='x'", "line 1: empty variable name"),
        ("A ='x'", "line 1: whitespace before '=' is not allowed"),
        ("A=", "line 1: value must be enclosed in single quotes"),
        ('A="x"', "line 1: value must be enclosed in single quotes"),
        ("B=b\nA='x'", "line 1: value must be enclosed in single quotes"),
        ("\nA='x\ny", "line 2: unclosed single quote"),
        ("A='x' y", "line 1: unexpected content after closing quote"),
        ("A='x''y'", "line 1: unexpected content after closing quote"),
    ],
)
def test_a_line_of_another_form_is_an_error_that_names_it(text, words):
    with pytest.raises(ValueError, match=words):
        value_of(text, "A")
