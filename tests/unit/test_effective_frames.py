"""Effective sizes of the frames that come in: Table 4.1, and what mixtures have in common."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spillway.controllers.costmodel.capacity import Edge, Inflow

RATES = (10, 30, 50, 70, 90)  # of one producer; the other has what is missing to 100
# By the frames of both producers: b_in for each rate of the first, as printed, to one place.
TABLE_4_1 = {
    (1, 1): (1, 1, 1, 1, 1),
    (1, 5): (3.6, 2.3, 1.6, 1.3, 1.1),
    (1, 10): (5.3, 2.7, 1.8, 1.4, 1.1),
    (5, 5): (5, 5, 5, 5, 5),
    (5, 10): (9.1, 7.7, 6.7, 5.9, 5.3),
}
CELLS = [
    (frames, rate, printed)
    for frames, row in TABLE_4_1.items()
    for rate, printed in zip(RATES, row, strict=True)
    if (frames, rate) != ((1, 5), 50)
]


def _frame(frames: tuple[int, int], rates: tuple[int, int]) -> Fraction | None:
    edges = [Edge(Fraction(rate), frame, Fraction(1)) for frame, rate in zip(frames, rates, strict=True)]
    return Inflow.merged(edges).frame


@pytest.mark.parametrize(("frames", "rate", "printed"), CELLS)
def test_table_4_1(frames: tuple[int, int], rate: int, printed: float) -> None:
    found = _frame(frames, (rate, 100 - rate))

    assert found is not None
    assert round(float(found), 1) == printed


def test_table_4_1_has_one_cell_that_is_cut_off_and_not_rounded() -> None:
    # 100/(50/1 + 50/5) = 100/60 = 1.666…, printed 1.6 (1.7 when rounded, as 6.666… in the same table is 6.7).
    assert _frame((1, 5), (50, 50)) == Fraction(5, 3)


def test_a_producer_that_sends_nothing_has_no_part_in_the_mean() -> None:
    assert _frame((7, 1), (100, 0)) == 7


def test_without_records_there_is_no_frame_and_no_record_size() -> None:
    nothing = Inflow.merged([Edge(Fraction(0), 3, Fraction(5))])

    assert nothing.frame is None
    assert nothing.record_size is None


def test_thirds_are_exact() -> None:
    # In floating point, 500000/(500000/15) is a little less than 15, and frames of 15 would never be enough.
    assert Inflow.merged([Edge(Fraction(500000), 15, Fraction(1))]).frame == 15
    assert 500000 / (500000 / 15) < 15  # the trap is real
