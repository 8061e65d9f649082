"""What a driver might tell, made by hand."""

from __future__ import annotations

import msgspec

from spillway.model import observation
from spillway.model.observation import (
    Condition,
    Latency,
    Move,
    MoveKind,
    Observation,
    Operator,
    Plan,
    PlannedSegment,
    Promise,
    Recommended,
    Segment,
    Slot,
)
from spillway.model.operators import Paradigm

NOON = 1_772_362_800.0  # 2026-03-01T11:00:00Z

WELL = (
    Condition("Accepted", True, "Valid", "the spec is valid"),
    Condition("Topics", True, "Complete", "every topic is there"),
    Condition("Leading", True, "Leading"),
    Condition("Assigned", True, "Assigned"),
    Condition("RollOut", True, "Complete"),
    Condition("Paused", False, "NotPaused"),
)


def slot(name: str = "w0.0", busy: float | None = 0.34, partitions: int = 16, *, silent: bool = False) -> Slot:
    return Slot(name, 1, silent, False, busy, busy, 90 * 2**20, partitions, "127.0.0.1:20001")


def move(
    number: int = 0, at: float = NOON, reason: str = "w1.0 has nothing to do", kind: MoveKind = MoveKind.RESIZE
) -> Move:
    return Move(at, kind, f"words/{number}", "w0.0", "w1.0", 12.0 + number, reason)


def word_count(*slots: Slot, granted: int | None = 1, **changes: object) -> Observation:
    """The example at work: two segments, a thousand lines a second."""
    segments = (
        Segment(
            "words", 1200.0, 9600.0, 0, 0.31, 8, 8, 0,
            (Operator("words", 1200.0, 9900.0, 0.0, 21.0), Operator("real-words", 9900.0, 9600.0, 0.0, 2.0)),
        ),
        Segment("counts", 9600.0, 9600.0, 312, 0.37, 8, 8, 0, (Operator("counts", 9600.0, 9600.0, 0.0, 11.0),)),
    )  # fmt: skip
    plan = Plan(
        3,
        (
            PlannedSegment("words", ("words", "real-words"), Paradigm.RECORD, 1, 64, {"counts": 0.02}, "0f1e", 8),
            PlannedSegment("counts", ("counts",), Paradigm.RECORD, 1, 1, {}, "77aa", 8),
        ),
    )
    out = Latency(0.9998, 8.0, 45.2, 9600.0)
    seen = Observation(
        version=observation.VERSION,
        job="default/word-count",
        at=NOON,
        leader=1,
        ready=True,
        granted=granted,
        plan=plan,
        slots=slots or (slot(),),
        segments=segments,
        latency=Promise(0.99, 500.0, out.within, out.p50_ms, out.p99_ms, out.rate, {"result": out}),
        rate_in=1200.0,
        letters=0,
        late=0,
        recommended=Recommended(1, 1, "Steady", "hold: the plan was made for this load"),
        moves=(),
        conditions=WELL,
    )
    return msgspec.structs.replace(seen, **changes)


def idle() -> Observation:
    """The same with nothing to do."""
    nothing = Latency(None, None, None, 0.0)
    segments = tuple(
        msgspec.structs.replace(segment, rate_in=0.0, rate_out=0.0, lag=0, busy=0.0, operators=())
        for segment in word_count().segments
    )
    promise = Promise(0.99, 500.0, None, None, None, 0.0, {"result": nothing})
    return word_count(slot(busy=0.0), segments=segments, latency=promise, rate_in=0.0)
