"""The costs that the planner reads, with their standard errors, out of the light rounds of a profile.

A record takes (Eq. 3.8 of the cost model)

    c_p = c_cpu + c_fetch/b_in + s·c_emit/b_out

so with frames of different sizes the three are a linear regression, each round weighted by 1/σ² of its mean, with
(XᵀWX)⁻¹ as covariance. A cost that comes out below 0 is noise around 0: it is taken to be 0, and the others are
computed again. Three are only told apart when b_in and b_out differ from one another and from round to round
(`Settings.frames`); if they don't, all of c_p is c_cpu, which is right for frames like those measured and is said.

Light rounds only: under full load records take longer because they wait for cores, which is no cost of the operator.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from spillway.controllers.costmodel import flow
from spillway.controllers.profiling.application import Operator
from spillway.controllers.profiling.measurement import Reading
from spillway.controllers.profiling.rounds import Reason, State
from spillway.model import operators, quantities

# Of the determinant of the columns, each of length 1. Columns that are nearly parallel have a small one: at 10^-4, an
# error of 1 % in what was measured can be one of 100 % in what is computed.
SINGULAR = 1e-4

Matrix = list[list[float]]


@dataclasses.dataclass(frozen=True, slots=True)
class Price:
    """A number and its standard error; None where a single measurement doesn't tell."""

    value: float
    error: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Profiled:
    """What one operator costs, in seconds, and what comes out of it.

    Attributes:
        name: the operator.
        cpu: c_cpu, for one record.
        fetch: c_fetch, for one frame in.
        emit: c_emit, for one frame out.
        selectivity: records out for one in.
        record_size: bytes of one that comes out.
        note: what to know about these numbers; empty when there is nothing.
    """

    name: str
    cpu: Price
    fetch: Price
    emit: Price
    selectivity: Price
    record_size: Price
    note: str = ""

    def costs(self) -> flow.Costs:
        """For the cost model."""
        return flow.Costs(
            self.cpu.value, self.fetch.value, self.emit.value, self.selectivity.value, self.record_size.value
        )

    def declared(self) -> operators.Costs:
        """As a manifest declares them: whole nanoseconds, whole bytes."""
        return operators.Costs(
            cpu=_duration(self.cpu),
            fetch=_duration(self.fetch),
            emit=_duration(self.emit),
            selectivity=self.selectivity.value,
            record_size=max(1, round(self.record_size.value)),
        )


def find(state: State) -> tuple[Profiled, ...]:
    """The costs of every operator, in the application's order; none before step 1 is done."""
    learnt = [done.measurement for done in state.rounds if done.reason is Reason.LEARNT and done.measurement]
    everything = [done.measurement for done in state.rounds if done.measurement and not done.measurement.stopped]
    if state.features is None:
        return ()
    return tuple(
        _profiled(
            operator, [m.operators[operator.name] for m in learnt], [m.operators[operator.name] for m in everything]
        )
        for operator in state.application.operators
    )


def _profiled(operator: Operator, light: Sequence[Reading], readings: Sequence[Reading]) -> Profiled:
    """One operator."""
    notes = []
    names, columns = _columns(operator, light)
    spans = [reading.processing for reading in light]
    errors = [reading.processing_error for reading in light]
    found = _regress(columns, spans, errors)
    if found is None:
        notes.append("frames did not differ enough to tell cpu, fetch and emit apart: cpu is all three")
        names, found = ["cpu"], _regress([[1.0] * len(spans)], spans, errors)
    prices = dict(zip(names, found or [], strict=True))
    if operator.logic_dependent:
        notes.append("it emits at a pace of its own: the selectivity holds for the highest load that was measured")
        fullest = max(readings, key=lambda reading: reading.rate_in)
        selectivity = Price(fullest.rate_out / fullest.rate_in if fullest.rate_in else 0.0)
    else:
        selectivity = _mean([reading.rate_out / reading.rate_in for reading in readings if reading.rate_in])
    return Profiled(
        operator.name,
        prices["cpu"],
        prices.get("fetch", Price(0.0)),
        prices.get("emit", Price(0.0)),
        selectivity,
        _mean([reading.record_size for reading in readings]),
        "; ".join(notes),
    )


def _columns(operator: Operator, light: Sequence[Reading]) -> tuple[list[str], Matrix]:
    """The regressors that this operator has: a source fetches nothing, and who has no frames sends none."""
    names, columns = ["cpu"], [[1.0] * len(light)]
    if operator.inputs and all(reading.frame_in for reading in light):
        names.append("fetch")
        columns.append([1 / reading.frame_in for reading in light if reading.frame_in])
    if all(reading.frame_out for reading in light):
        names.append("emit")
        columns.append([_sent(reading) / reading.frame_out for reading in light if reading.frame_out])
    return names, columns


def _sent(reading: Reading) -> float:
    return reading.rate_out / reading.rate_in if reading.rate_in else 0.0


def _regress(columns: Matrix, values: Sequence[float], errors: Sequence[float]) -> list[Price] | None:
    """Weighted least squares with no coefficient below 0; None when the columns can't be told apart."""
    kept = list(range(len(columns)))
    while True:
        solved = _solve([columns[i] for i in kept], values, errors)
        if solved is None:
            return None
        worst = min(range(len(kept)), key=lambda i: solved[i].value)
        if solved[worst].value >= 0 or len(kept) == 1:
            found = dict(zip(kept, solved, strict=True))
            return [found.get(i, Price(0.0, 0.0)) for i in range(len(columns))]
        del kept[worst]


def _solve(columns: Matrix, values: Sequence[float], errors: Sequence[float]) -> list[Price] | None:
    """The regression; without errors of the means, the spread around the line tells theirs."""
    size, count = len(columns), len(values)
    if count < size:
        return None
    known = all(error > 0 for error in errors)
    weights = [1 / error**2 if known else 1.0 for error in errors]
    lengths = [math.sqrt(math.fsum(w * x * x for w, x in zip(weights, column, strict=True))) for column in columns]
    if not all(lengths):
        return None
    unit = [[x / length for x in column] for column, length in zip(columns, lengths, strict=True)]
    gram = [[math.fsum(w * x * y for w, x, y in zip(weights, a, b, strict=True)) for b in unit] for a in unit]
    inverse = _inverse(gram)
    if inverse is None:
        return None
    right = [math.fsum(w * x * v for w, x, v in zip(weights, column, values, strict=True)) for column in unit]
    scaled = [math.fsum(row[j] * right[j] for j in range(size)) for row in inverse]
    rest = math.fsum(
        w * (v - math.fsum(scaled[i] * unit[i][k] for i in range(size))) ** 2
        for k, (w, v) in enumerate(zip(weights, values, strict=True))
    )
    spread = 1.0 if known else rest / (count - size) if count > size else None
    return [
        Price(scaled[i] / lengths[i], None if spread is None else math.sqrt(spread * inverse[i][i]) / lengths[i])
        for i in range(size)
    ]


def _inverse(matrix: Matrix) -> Matrix | None:
    """By elimination with the largest pivot first; None when the determinant is as good as 0."""
    size = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    determinant = 1.0
    for i in range(size):
        pivot = max(range(i, size), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        determinant *= rows[i][i]
        if abs(determinant) < SINGULAR:
            return None
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[size:] for row in rows]


def _mean(values: Sequence[float]) -> Price:
    """A mean, and its error where there are several."""
    if not values:
        return Price(0.0)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return Price(statistics.fmean(values), error)


def _duration(price: Price) -> quantities.Duration:
    return quantities.Duration(round(price.value * 1e9))
