"""How many frames are filled at a time: section 3.4, Figures 3.6 to 3.10 with frames of six records."""

from __future__ import annotations

import pytest

from spillway.controllers.costmodel.buffers import Buffers, Scheme

SCHEMES = {
    "one for all slots of a consumer, Figure 3.6": (Scheme.ONE, (2,), 1),
    "one for each slot, Figure 3.7": (Scheme.DISTINCT, (2,), 2),
    "a pool for each consumer, Figure 3.8": (Scheme.DISTINCT, (2, 3), 5),
    "a matrix, Figure 3.9": (Scheme.SHARED, (2, 3), 6),
    "a cube": (Scheme.SHARED, (2, 3, 4), 24),
    "nobody reads": (Scheme.SHARED, (), 0),
}


@pytest.mark.parametrize(("scheme", "consumers", "count"), SCHEMES.values(), ids=SCHEMES)
def test_buffers(scheme: Scheme, consumers: tuple[int, ...], count: int) -> None:
    buffers = Buffers.of(scheme, consumers)

    assert buffers.count == count
    assert buffers.records(6) == 6 * count


@pytest.mark.parametrize(("scheme", "records"), [(Scheme.ONE, 6), (Scheme.DISTINCT, 18), (Scheme.SHARED, 36)])
def test_a_frame_takes_longer_to_fill_the_more_buffers_share_the_records(scheme: Scheme, records: int) -> None:
    assert Buffers.of(scheme, (2, 3)).filled_after(6, consumer=1) == records


def test_a_consumer_has_a_slot() -> None:
    with pytest.raises(ValueError, match=r"consumers have \[2, 0\] slots"):
        Buffers.of(Scheme.ONE, (2, 0))
