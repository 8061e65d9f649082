"""The figures that the project wants to reach, and what became of each in some measurements.

A figure of a measurement belongs to the one whose id its name begins with: "D6 word count: D / SS".
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from spillway.bench.record.figures import Figure, Verdict


class State(enum.StrEnum):
    """What became of a wanted figure."""

    REACHED = "reached"
    MISSED = "missed"
    VOID = "void"
    OPEN = "not measured"


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A figure to reach.

    Attributes:
        id: by which it is known.
        workload: of what.
        reach: in words.
        by: what measures it.
    """

    id: str
    workload: str
    reach: str
    by: str


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A wanted figure with what was found."""

    wanted: Wanted
    state: State
    found: Sequence[Figure]


ALL = (
    Wanted(
        "D1",
        "word count, grep, YSB at 10 % of what R can do",
        "D at most 1.05 times R at p50 and p99, a tenth of SS, a fiftieth of SS with 1 s; p50 ≤ 10 ms, p99 ≤ 50 ms",
        "make bench WHAT=low",
    ),
    Wanted("D2", "130 % of R, within B", "R falls behind; D: mean ≤ 0.5 B, p99 ≤ 0.6 B", "make bench WHAT=high"),
    Wanted(
        "D3",
        "low, burst, low, higher, low",
        "first batch ≤ 1 s; pause p99 ≤ 300 ms; normal ≤ 3 s after; 0 lost, 0 wrong; one switch an edge at most",
        "make bench WHAT=bursts",
    ),
    Wanted("D4", "latency by component", "components are 95 to 105 % of the total", "make bench WHAT=parts"),
    Wanted(
        "D6",
        "from full topics",
        "D ≥ 1.1 times the better of R and B on word count, ≥ 1.3 SS with Python, ≥ 0.95 SS in SQL, ≥ 3 bytewax, "
        "≥ 20 PyFlink DataStream",
        "make bench WHAT=throughput",
    ),
    Wanted("D7", "around what R can do, ± 5 %", "no oscillation", "make bench WHAT=threshold"),
    Wanted(
        "D8", "selectivity and amplification", "ranges within 5 % of the best in ≥ 95 %", "spillway.bench.models D8"
    ),
    Wanted("S1", "windowed aggregation", "≥ 1.0 SS at ≤ 0.25 of its latency", "spillway bench search averages"),
    Wanted("S2", "windowed join", "≥ 1.0 SS at ≤ 0.25 of its latency", "spillway bench search pairs"),
    Wanted("S3", "one key; Zipf 1.2", "≤ 20 % loss", "spillway.bench.record skew"),
    Wanted("S5", "stopped on purpose for 5 s", "the reported maximum within 2 % of it", "spillway.bench.record stall"),
    Wanted(
        "T1", "an edge, frames of 1 to 10 000", "≥ 20 times, ≥ 1 M records/s a core", "spillway.bench.record transfer"
    ),
    Wanted("T2", "the cost model of T1", "mean error ≤ 5 %, worst ≤ 12 %", "spillway.bench.models T2"),
    Wanted("T4", "1000 records/s, frames of 10 000", "p95 ≤ 50 ms", "spillway.bench.record deadline"),
    Wanted("T5", "Linear Road by the cost model", "the row of the thesis; never one slot off", "make test"),
    Wanted("P1", "latency model", "mean within 10 % in ≥ 95 %, p99 within 15 % in ≥ 90 %", "spillway.bench.models P1"),
    Wanted("P2", "planner against rules", "bound kept; ≥ 1.25 times the best rule", "spillway.bench.models P2"),
    Wanted("P3", "scheduling in overload", "≥ 95 % of the fluid bound", "spillway.bench.record overload"),
    Wanted("F1", "stepwise profiling", "≥ 0.95 of the best in ≤ 4, 6, 6 rounds", "spillway.bench.models F1"),
    Wanted("F2", "against threshold and Stela", "≥ 35 % more than the better one", "spillway.bench.models F2"),
    Wanted("W", "worker loop", "≤ 2.5 µs a record; ≥ 5 times Quix Streams", "spillway.bench.record loop, peers"),
    Wanted("X", "expression parity", "0 differences in a million", "make fuzz"),
    Wanted("M", "manager with 1000 jobs", "ready ≤ 30 s, ≤ 250 MB, ≤ 2 % of a core", "spillway.bench.manager"),
    Wanted("U", "first use", "a switch on the screen within 60 s", "make demo"),
)


def compared(found: Sequence[Figure]) -> list[Line]:
    """Every wanted figure, and what was found of it."""
    lines = []
    for wanted in ALL:
        some = [figure for figure in found if figure.name.split(" ")[0].rstrip(":,") == wanted.id]
        lines.append(Line(wanted, _state(some), some))
    return lines


def _state(some: Sequence[Figure]) -> State:
    """The worst of all that were asked something: one that is missed says more than one that is void."""
    verdicts = {figure.verdict for figure in some if figure.wanted or figure.verdict is Verdict.VOID}
    for verdict, state in (
        (Verdict.MISSED, State.MISSED),
        (Verdict.VOID, State.VOID),
        (Verdict.REACHED, State.REACHED),
    ):
        if verdict in verdicts:
            return state
    return State.OPEN
