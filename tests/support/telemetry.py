"""What a policy would see, made by hand."""

from __future__ import annotations

import datetime

from spillway.model.operators import Paradigm
from spillway.simulation.policies import Seen, SegmentSeen

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def segment(
    slots: int = 1,
    arrival: float = 0.0,
    processed: float | None = None,
    busy: float = 0.5,
    queue: float = 0.0,
    ready: int | None = None,
    out: str = "work",
    selectivity: float = 1.0,
) -> SegmentSeen:
    done = arrival if processed is None else processed
    emitted = {out: done * selectivity}
    working = slots if ready is None else ready
    return SegmentSeen(arrival, done, emitted, busy, queue, slots, working, 0, Paradigm.RECORD, False, None)


def seen(span: float = 15.0, **segments: SegmentSeen | None) -> Seen:
    slots = sum(s.asked for s in segments.values() if s), sum(s.ready for s in segments.values() if s)
    return Seen(datetime.timedelta(seconds=span), segments, {}, None, slots, (0, 0))


def after(seconds: float) -> datetime.datetime:
    return NOON + datetime.timedelta(seconds=seconds)
