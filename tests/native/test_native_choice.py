"""Which table `podherd.native` gives: the compiled one, the plain one when told, never the plain one silently."""

import sys

import pytest

import podherd.native
from podherd.native import CHOICE, NativeMissingError
from podherd.native.fallback import relist as fallback


@pytest.mark.parametrize("value", [None, "", "compiled"])
def test_the_compiled_table_is_the_normal_one(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOICE, raising=False)
    if value is not None:
        monkeypatch.setenv(CHOICE, value)
    assert podherd.native.Table.__module__ == "podherd.native.relist"


def test_the_environment_can_choose_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "fallback")
    assert podherd.native.Table is fallback.Table  # type: ignore[comparison-overlap]


def test_a_choice_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "fast")
    with pytest.raises(NativeMissingError, match="'fast' is neither"):
        _ = podherd.native.Table


def test_a_missing_build_names_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOICE, raising=False)
    monkeypatch.setitem(sys.modules, "podherd.native.relist", None)
    with pytest.raises(NativeMissingError, match=r"setup\.py build_ext --inplace"):
        _ = podherd.native.Table
