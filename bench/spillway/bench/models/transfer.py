"""Figure T2: what the cost model says of figure T1, on sizes of frames that it was not fitted on.

Source and sink are those of T1 (`record.transfer`): each in a process of its own, microseconds of processor time for a
record. In each round all sizes are measured, after one round that warms the broker, and Eq. 3.8 of the cost model is
fitted on what each of `FITTED` took in the middle of all rounds:

    source: c_cpu + c_emit/b        sink: c_cpu + c_fetch/b

Then the cost model itself (`costmodel.capacity`) is asked what source and sink need together for a record with frames
of each size, and that is held against what was measured, in the middle of all rounds as well: one time of a size is off
by 10 % from the next. Wanted is a mean error of 5 %, and 12 % at worst.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from spillway.bench.record import figures, processes, systems, transfer
from spillway.bench.record.figures import Figure
from spillway.controllers.costmodel import capacity
from spillway.controllers.costmodel.flow import CORE, Costs, Flow, Node

FITTED = (1, 10, 100, 1_000)
HELD_OUT = (2, 5, 30, 300, 3_000)
# By size of a frame, records for each second that the measurement may take: each size takes about as long.
RECORDS = {
    1: 6_000, 2: 11_000, 5: 22_000, 10: 35_000, 30: 70_000, 100: 100_000, 300: 120_000, 1_000: 150_000, 3_000: 150_000,
}  # fmt: skip
MEAN, WORST = 0.05, 0.12
MICRO = 1e-6
SIZE = 100  # bytes of a record

Micros = Mapping[int, float]  # by size of a frame, for one record


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Every size in turn, fitted and held out alike."""
    sizes = tuple(sorted((*FITTED, *HELD_OUT)))
    sent: dict[int, list[float]] = {size: [] for size in sizes}
    received: dict[int, list[float]] = {size: [] for size in sizes}
    with systems.broker() as bootstrap:
        for number, size in figures.in_turn(sizes, 1 + rounds):
            edge, count = systems.created_one(bootstrap), transfer.whole(seconds * RECORDS[size], size)
            taken = (
                processes.fresh(transfer.source, bootstrap, edge, size, count),
                processes.fresh(transfer.sink, bootstrap, edge, size, count),
            )
            which = f"round {number} of {rounds}" if number else "the broker gets warm"
            done(f"{which}: frames of {size}: source {taken[0]:.3f}, sink {taken[1]:.3f} µs")
            if number:
                sent[size].append(taken[0])
                received[size].append(taken[1])
    by_round = [
        ({size: sent[size][n] for size in sizes}, {size: received[size][n] for size in sizes}) for n in range(rounds)
    ]
    return shown(by_round)


def shown(rounds: Sequence[tuple[Micros, Micros]]) -> list[Figure]:
    """The figures of some rounds, each with what sources and sinks took by size."""
    source, sink = (_middle([one[side] for one in rounds]) for side in (0, 1))
    costs = fitted({size: source[size] for size in FITTED}), fitted({size: sink[size] for size in FITTED})
    found, off = [], []
    for size in HELD_OUT:
        predicted = 1 / predict(*costs, size)
        measured = [1 / ((one[0][size] + one[1][size]) * MICRO) for one in rounds]
        off.append(100 * (predicted * (source[size] + sink[size]) * MICRO - 1))
        found += [
            figures.of(f"T2 frames of {size}: predicted", [predicted], "records/s"),
            figures.of(f"T2 frames of {size}: measured", measured, "records/s"),
            figures.of(f"T2 frames of {size}: off by", [off[-1]], "%"),
        ]
    return [
        *found,
        figures.of("T2 mean error on frames not fitted", [statistics.fmean(map(abs, off))], "%", most=100 * MEAN),
        figures.of("T2 worst error on frames not fitted", [max(map(abs, off))], "%", most=100 * WORST),
    ]


def _middle(rounds: Sequence[Micros]) -> Micros:
    return {size: statistics.median(one[size] for one in rounds) for size in rounds[0]}


def fitted(micros: Micros) -> tuple[float, float]:
    """What a record takes, and what a frame does, in seconds: least squares of relative errors."""
    sizes, spans = np.array(list(micros)), np.array(list(micros.values())) * MICRO
    rows = np.stack([1 / spans, 1 / sizes / spans], axis=1)
    found, *_ = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)
    record, frame = (max(0.0, float(one)) for one in found)
    return record, frame


def predict(source: tuple[float, float], sink: tuple[float, float], frame: int) -> float:
    """Seconds of one core for a record from source to sink, as the cost model has it."""
    flow = Flow(
        [
            Node.operator("source", (), Costs(cpu=source[0], emit=source[1], record_size=SIZE)),
            Node.operator("sink", ("source",), Costs(cpu=sink[0], fetch=sink[1], selectivity=0.0)),
        ]
    )
    one = Fraction(1)
    head, tail = (capacity.Prices.of(flow, flow[name], CORE) for name in ("source", "sink"))
    edge = capacity.Edge(one, frame, Fraction(SIZE))
    sending = head.demand(capacity.Inflow.source(one), frame).cpu
    return float(sending + tail.demand(capacity.Inflow.merged([edge]), None).cpu)
