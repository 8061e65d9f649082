"""A queue that is parted and joined again is what it was: records, their order, and how many parcels they are in."""

from __future__ import annotations

import pytest

from spillway.simulation.lanes import Lane, Parcel


def lane(*parcels: Parcel) -> Lane:
    made = Lane()
    for parcel in parcels:
        made.put(*parcel)
    return made


LONG = tuple(Parcel(10.0, at, at + 0.5) for at in (0.0, 1.0, 2.0, 3.0))


def test_what_was_parted_is_one_again_however_often() -> None:
    queue = lane(*LONG)
    for _ in range(40):  # each would double the parcels: 4 · 2^40
        queue.join(queue.take(0.25))

    assert [parcel[1:] for parcel in queue.parcels] == [parcel[1:] for parcel in LONG]
    assert [parcel.records for parcel in queue.parcels] == pytest.approx([10.0] * 4)
    assert queue.records == pytest.approx(40.0)


def test_what_differs_stays_apart_in_the_order_in_which_it_came() -> None:
    queue = lane(Parcel(1.0, 0.0, 1.0), Parcel(1.0, 2.0, 3.0))
    queue.join(lane(Parcel(1.0, 0.5, 1.0), Parcel(1.0, 1.0, 2.0)))

    assert list(queue.parcels) == [
        Parcel(1.0, 0.0, 1.0),
        Parcel(1.0, 0.5, 1.0),
        Parcel(1.0, 1.0, 2.0),
        Parcel(1.0, 2.0, 3.0),
    ]
