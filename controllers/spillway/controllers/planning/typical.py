"""Typical costs, for operators whose own nobody has declared or measured yet.

A plan made of them is right within a factor of two or three, which tells one slot from ten. All figures are seconds of
one core for one record, as our worker's loop was measured, but for the function of the user:

    reading a topic      0.53 µs in the Kafka client, 0.14 µs to decode JSON into a typed record
    writing a topic      0.90 µs in the Kafka client, 0.12 µs to encode; a frame is a message, so it costs as much
    an operator          0.065 µs: five of them in one generated loop with counters and sampled times took 0.325 µs
    an element           0.1 µs: `split(lower(…))` into 8 words took 0.73 µs, and each becomes a record
    a Python function    5 µs: the two of our examples take 1.7 and 4.6 µs; one that does more must be declared
    a row of state       0.21 µs to read, change, and mark for the next commit, which packs it
    a row of a table     0.25 µs to find its version of a time, and to put both sides together
    a kept record        0.94 µs: joins of two streams write every record into their changelog

Rows of aggregates are written at commits, twice a second however often they changed, and are left out.

Records out for one in follow from the manifest where they can: an aggregate gives one update for each window that a
record is in (size/slide). Where they can't, the side is taken that needs more slots, because too many cost money and
too few the promise: a filter lets everything through. An array has 8 elements, as lines have words in the word count
of the paper on two paradigms (DO, Fig. 7).
"""

from __future__ import annotations

from collections.abc import Iterable

from spillway.controllers.costmodel.flow import Costs
from spillway.controllers.latency import moments
from spillway.controllers.latency.moments import Moments
from spillway.model import types
from spillway.model.operators import Aggregate, Operator, PythonKind
from spillway.model.types import ColumnType, Kind, Schema

_MICRO = 1e-6
READ = (0.53 + 0.14) * _MICRO
WRITE = (0.90 + 0.12) * _MICRO
_STEP = 0.065 * _MICRO
_ELEMENT = 0.1 * _MICRO
_FUNCTION = 5 * _MICRO
_STATE = 0.21 * _MICRO
_LOOKUP = 0.25 * _MICRO
_KEPT = 0.94 * _MICRO
ELEMENTS = 8.0

# Produced, fetched and seen by the reader took 0.99 ms in the median and 3.6 ms at the 0.99-quantile (one broker, quiet
# machine). A deviation as large as the mean has its normal 0.99-quantile there: 1.1 + 2.33·1.1 = 3.66 ms. Smaller:
# tight bounds look feasible that no broker keeps; much larger: promises below 10 ms look hopeless that are kept.
HOP = Moments(1.1e-3, 1.1e-3**2)
# Planning, scheduling and one hop to Python of a warm session: 30 to 60 ms for batches of up to 10 000 rows. What
# differs from that is seen by the driver's first calibration, before it ever switches.
SCHEDULE_RANGE = (0.030, 0.060)
SCHEDULE = moments.uniform(*SCHEDULE_RANGE)

# Bytes of a value as msgpack has it in a frame, its type included; texts as long as an identifier.
_BYTES = {
    Kind.BOOLEAN: 1, Kind.INT: 5, Kind.BIGINT: 9, Kind.DOUBLE: 9, Kind.DECIMAL: 16, Kind.STRING: 24, Kind.BINARY: 24,
    Kind.DATE: 5, Kind.TIMESTAMP: 9, Kind.NULL: 1,
}  # fmt: skip
_AROUND_A_NAME = 4  # of a JSON field: quotes, colon and comma


def source(schema: Schema) -> Costs:
    """A stream or table that is read as a step of its own: from its topic, into frames."""
    return Costs(READ, 0.0, WRITE, 1.0, record_size(schema))


def operator(part: Operator, schema: Schema, *, keyed: bool, reads: bool, selectivity: float | None = None) -> Costs:
    """An operator with this schema of what comes out.

    Args:
        part: the operator.
        schema: of what comes out.
        keyed: whether it merges state by key; such a join keeps what it has seen of both sides.
        reads: whether its records come out of a topic, one in each message. Where only some do, it is as if all did.
        selectivity: the declared one, if any: who gives more records works more.
    """
    gives = selectivity if selectivity is not None else records_out(part)
    cpu = _STEP + _work(part, gives, keyed=keyed) + (READ if reads else 0.0)
    return Costs(cpu, READ, WRITE, gives, record_size(schema))


def records_out(part: Operator) -> float:
    """Records out for one in, as far as the manifest tells."""
    if part.aggregate is not None:
        return _windows(part.aggregate)
    return ELEMENTS if part.explode is not None else 1.0


def is_guess(part: Operator) -> bool:
    """Whether `records_out` is no more than a guess: it depends on the data, not on the manifest."""
    depends = part.filter is not None or part.explode is not None
    if part.python is not None:
        return part.python.as_ is not PythonKind.MAP
    return depends or (part.join is not None and part.join.stream is not None)


def record_size(schema: Schema, *, named: bool = False) -> float:
    """Bytes of a record in a frame, or, when `named`, as JSON in a topic."""
    names = sum(len(column.name) + _AROUND_A_NAME for column in schema) if named else 0
    return float(names + _bytes(column.type for column in schema))


def _work(part: Operator, gives: float, *, keyed: bool) -> float:
    """What a record costs beside its way through the loop."""
    if part.python is not None:
        return _FUNCTION
    if part.explode is not None:
        return _ELEMENT * gives
    if part.aggregate is not None:
        return _STATE * _windows(part.aggregate)
    if part.join is not None:
        return _LOOKUP + (_STATE if keyed else 0.0) + (_KEPT if part.join.stream is not None else 0.0)
    return 0.0


def _windows(aggregate: Aggregate) -> float:
    """In how many windows a record is, on average."""
    window = aggregate.window
    if window is None or window.slide is None:
        return 1.0
    return window.size.seconds / window.slide.seconds


def _bytes(columns: Iterable[ColumnType]) -> int:
    return sum(_width(column) for column in columns)


def _width(column: ColumnType) -> int:
    if column.kind is types.Kind.ARRAY:
        return round(ELEMENTS) * _width(column.element) if column.element is not None else 1
    return _BYTES[column.kind]
