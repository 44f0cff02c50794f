"""Bytes to plain values: YAML as Kubernetes reads it, JSON, and everything that must be refused."""

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podherd.errors import ManifestError
from podherd.model.document import LIMIT_BYTES, MAX_DEPTH, decode

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), max_size=20)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | _TEXT
_KEYS = st.text("abcXYZ", min_size=1, max_size=5)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=20
)


class _Dumper(yaml.CSafeDumper):
    """Quotes every string, so that none can be taken for something else."""

    def ignore_aliases(self, data):  # noqa: ARG002
        return True


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("off", False), ("True", True), ("~", None), ("y", "y"),
        ("0644", 420), ("0o644", 420), ("08", 8), ("0x1F", 31), ("-0b11", -3), ("1_000", 1000), ("+7", 7), ("0", 0),
        ("1e3", 1000), ("5.36870912e+08", 536870912), (".5", 0.5), ("1.", 1), ("-1.5", -1.5),
        ("22:22", "22:22"), ("2020-01-01", "2020-01-01"), ("=", "="), ("1.2.3", "1.2.3"), ("0x", "0x"),
        ("'1'", "1"), ('"yes"', "yes"), ("!!str 1", "1"), ("! 1", "1"), ("!!int 1", 1), ("128MB", "128MB"),
    ],
)  # fmt: skip
def test_a_plain_word_is_what_the_decoder_of_kubernetes_takes_it_for(text, value):
    decoded = decode(f"a: {text}\nb: 1\n".encode(), "f")
    assert decoded.get("a") == value
    assert type(decoded.get("a")) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd: {<<: [*x, *y]}",
         {"a": {"b": 1}, "e": {"b": 2, "c": 2}, "d": {"b": 1, "c": 2}}),
        ("---\n# nothing\n---\na: 1\n---\n", {"a": 1}),
        ("a: null\nb: []\nc: {}\nd: [null]", {"c": {}, "d": [None]}),
        ("1: x\ntrue: y", {"1": "x", "true": "y"}),
        ("{a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ("[1, 2]", [1, 2]),
    ],
)  # fmt: skip
def test_documents_anchors_merges_and_absent_fields(text, value):
    assert decode(text.encode(), "f") == value


def test_an_alias_is_a_copy_and_may_be_written_to():
    decoded = decode(b"a: &x {b: [1]}\nc: *x", "f")
    decoded["c"]["b"].append(2)
    assert decoded["a"] == {"b": [1]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"# only a comment\n---\n", "is empty"),
        (b"a: 1\nb: {c: 1,\n c: 2}", "b.c: the key is there twice (line 3)"),
        (b'{"a": {"b": 1, "b": 2}}', "b: the key is there twice"),
        (b"a: 1\n---\nb: 2", "holds 2 documents"),
        (b"a: b: c", "line 1, column 5"),
        (b"a: [", "is not YAML"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"a\x00b", "is not YAML"),
        (b"a: !thing 1", "the tag !thing is unknown"),
        (b"a: !thing {}", "the tag !thing is unknown"),
        (b"a: .inf", "a: .inf is not a number"),
        (b"a: *nobody", "names no anchor"),
        (b"&x a: *x\nb: &y [*y]", "names no anchor"),
        (b"? [a]\n: 1", "a key must be a plain word"),
        (b"<<: 1", "`<<` must name a mapping"),
        (b"[" * (MAX_DEPTH + 2), "is nested deeper"),
        (b'{"a":' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2), "is nested deeper"),
        (b"#" * (LIMIT_BYTES + 1), "is larger than 10 MiB"),
        (b'{"a": 1', "is not YAML"),
    ],
)  # fmt: skip
def test_what_is_no_single_sound_document_is_refused_with_the_place(data, words):
    with pytest.raises(ManifestError) as error:
        decode(data, "web.yaml")
    assert error.value.thing == "web.yaml"
    assert words in error.value.reason


def test_an_alias_bomb_ends_early():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ManifestError, match="holds more than"):
        decode("\n".join(lines).encode(), "bomb.yaml")


def _tidy(value):
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items() if item is not None and item != []}
    return [_tidy(item) for item in value] if isinstance(value, list) else value


@given(st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=5))
def test_yaml_and_json_of_one_value_decode_alike(value):
    assert decode(orjson.dumps(value), "f") == _tidy(value)
    written = yaml.dump(value, Dumper=_Dumper, allow_unicode=True)
    assert decode(written.encode(), "f") == _tidy(value)


@settings(max_examples=300)
@given(st.binary(max_size=200) | st.text("{}[]:,&*!-? \n#'\"|>%@`~<=a1.0e", max_size=80).map(str.encode))
def test_any_bytes_give_a_value_or_a_manifest_error(data):
    try:
        outcome = decode(data, "f")
    except ManifestError as error:
        outcome = error.thing == "f" and error.reason
    assert outcome is not None
    assert outcome is not False
