"""Where functions of dates and times follow Spark further than one would think."""

from __future__ import annotations

from decimal import Decimal

import pytest

from spillway.expressions import errors
from spillway.expressions.functions import times

START_OF_2020 = 1_577_836_800_000_000
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("0.000000", 0),
        ("59.999999", 59_999_999),
        ("60.000000", 60 * SECOND),
        ("4294.967296", 0),
        ("4295.000000", 32_704),
    ],
)
def test_make_timestamp_keeps_32_bits_of_the_microseconds(second: str, expected: int) -> None:
    assert times.make_timestamp(2020, 1, 1, 0, 0, Decimal(second)) == START_OF_2020 + expected


@pytest.mark.parametrize("second", ["-1.000000", "60.500000", "4294.967295", "2147.483648"])
def test_a_second_that_is_none_in_these_bits_raises(second: str) -> None:
    with pytest.raises(errors.EvaluationError, match="is no timestamp"):
        times.make_timestamp(2020, 1, 1, 0, 0, Decimal(second))
