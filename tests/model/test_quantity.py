"""Quantities: case SPEC-3 and the suffixes."""

import pytest

from podherd.model.quantity import QuantityError, bytes_of, is_fractional, milli_of


@pytest.mark.parametrize(
    ("quantity", "result"),
    [
        ("100m", 1),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12e-1", 2),
        ("1.5Gi", 1_610_612_736),
        ("129M", 129_000_000),
        (536_870_912, 536_870_912),
        (5.36870912e08, 536_870_912),
        ("5.36870912e+08", 536_870_912),
        ("0", 0),
        ("1Ki", 1024),
        ("1k", 1000),
        ("2Ei", 2 << 60),
        ("1u", 1),
        ("1n", 1),
        (".5", 1),
        ("5.", 5),
        ("+5", 5),
        ("1000E", 2**63 - 1),
    ],
)
def test_bytes_are_whole_and_rounded_up(quantity, result):
    assert bytes_of(quantity) == result


@pytest.mark.parametrize(
    ("quantity", "result"), [("1m", 1), ("0.5", 500), ("2", 2000), (2, 2000), (0.1, 100), ("1u", 1)]
)
def test_milli_are_rounded_up(quantity, result):
    assert milli_of(quantity) == result


@pytest.mark.parametrize(
    "quantity", ["128MB", "", "Mi", "1 Gi", "1e", "0x10", "1,5", "1.2.3", "nan", "inf", True, None, "1Ki\n"]
)
def test_what_is_no_quantity_is_an_error_that_names_it(quantity):
    with pytest.raises(QuantityError) as error:
        bytes_of(quantity)
    assert str(quantity).strip() in error.value.thing


@pytest.mark.parametrize("quantity", ["-1", -1, "-100m"])
def test_a_negative_quantity_is_an_error(quantity):
    with pytest.raises(QuantityError, match="greater than or equal to 0"):
        milli_of(quantity)


@pytest.mark.parametrize(
    ("quantity", "fractional"), [("100m", True), ("1.5", True), ("1.5Gi", False), ("1", False), (3, False)]
)
def test_a_part_of_a_byte_is_fractional(quantity, fractional):
    assert is_fractional(quantity) is fractional
