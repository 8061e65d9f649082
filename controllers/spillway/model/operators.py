"""Operators: the named steps of a topology. Each is exactly one of six kinds."""

from __future__ import annotations

import enum
from typing import Annotated, ClassVar

from pydantic import Field

from spillway.model import parts, quantities
from spillway.model.parts import ColumnName, Columns, Expression, Name, Part, Rule

Retention = Annotated[quantities.Duration, quantities.Between("1s", "8760h")]
Cost = Annotated[quantities.Duration, quantities.Between("0ns", "1m")]
Span = Annotated[quantities.Duration, quantities.Between("1ms", "8760h")]


class Paradigm(enum.StrEnum):
    """How a segment works: one record at a time, in Spark micro-batches, or whichever keeps the promise."""

    AUTO = "auto"
    RECORD = "record"
    BATCH = "batch"


class Costs(Part):
    """What one record costs here, as declared: used until measured costs exist, and by `spillway plan`."""

    cpu: Cost | None = Field(None, description="Time that one core spends on one record, such as 1000ns.")
    fetch: Cost | None = Field(None, description="Time to fetch one frame of records, whatever its size.")
    emit: Cost | None = Field(None, description="Time to emit one frame of records, whatever its size.")
    selectivity: float | None = Field(
        None, ge=0, le=1_000_000, description="Records that come out for one that goes in: 0.99, or 8 for an explode."
    )
    record_size: int | None = Field(
        None, ge=1, le=100_000_000, description="Size of one record that comes out, in bytes."
    )


class Explode(Part):
    """One record for each element of an array."""

    array: Expression = Field(description="An expression that gives an array, such as split(line, ' ').")
    as_: ColumnName = Field(alias="as", description="Name of the column that holds the element.")
    keep: tuple[ColumnName, ...] | None = Field(
        None, max_length=1000, description="Columns that go along with each element; all of them when absent."
    )


class PythonKind(enum.StrEnum):
    """What a Python function does with a record."""

    MAP = "map"
    FILTER = "filter"
    FLAT_MAP = "flatMap"


class Python(Part):
    """A function of the user, called for each record, or for each Arrow record batch when vectorised."""

    function: Annotated[
        str,
        parts.Text(
            r"[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}:[A-Za-z_][A-Za-z0-9_]{0,63}",
            most=255,
            meaning="a function; write module:function, such as ads:enrich",
        ),
    ] = Field(description="The function as module:function, such as ads:enrich.")
    as_: PythonKind = Field(
        alias="as",
        description="map gives one record, filter true or false, flatMap any number of records.",
    )
    returns: Columns | None = Field(
        None, description="Columns that the function returns, such as `score double`; a filter returns none."
    )
    vectorised: bool = Field(False, description="The function takes and returns an Arrow record batch.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.as == 'filter' ? !has(self.returns) : has(self.returns)",
            "map and flatMap need `returns` (the columns that come out); a filter has none",
            lambda p: (p.as_ is PythonKind.FILTER) == (p.returns is None),
        ),
    )


class Window(Part):
    """Windows of event time; hopping when they start more often than they are long."""

    size: Span = Field(description="Length of a window, such as 10s.")
    slide: Span | None = Field(
        None, description="Time from the start of one window to the start of the next; the size when absent (tumbling)."
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.slide) || duration(self.slide) <= duration(self.size)",
            "slide must not be longer than size: records in the gap would belong to no window",
            lambda w: w.slide is None or w.slide <= w.size,
            "slide",
        ),
    )


class Aggregate(Part):
    """A table with one row for each group (and window), updated by every record."""

    by: tuple[Expression, ...] = Field(
        (), max_length=32, description="Columns, or expressions with a name, to group by; one row for all when empty."
    )
    window: Window | None = Field(None, description="Group by windows of event time as well.")
    values: tuple[Expression, ...] = Field(
        min_length=1, max_length=64, description="Aggregates with their names, such as `count(*) as views`."
    )


class JoinType(enum.StrEnum):
    """Which records appear that have no partner."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"


class AsOf(enum.StrEnum):
    """Which version of a table a record meets."""

    TIMESTAMP = "timestamp"
    LATEST = "latest"


class Join(Part):
    """A join with a table, or with a stream within a span of time."""

    table: Name | None = Field(
        None, description="The table to look up; a stream's records meet its version of their time."
    )
    stream: Name | None = Field(None, description="The stream to join with, within a span of time.")
    # Not `on`: kubectl reads a bare `on` as YAML 1.1 does, as true (docs/decisions/0004).
    by: tuple[ColumnName, ...] = Field(
        min_length=1, max_length=16, description="Columns that are equal on both sides, where they have the same names."
    )
    type: JoinType = Field(
        JoinType.INNER, description="inner, left, right or full; a stream joins a table by inner or left."
    )
    within: Span | None = Field(
        None, description="For stream and stream: how far apart in event time two records may be."
    )
    as_of: AsOf | None = Field(
        None,
        description="For stream and table: the version of the record's time (`timestamp`, the default) or the newest.",
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.table) != has(self.stream)",
            "name exactly one of `table` and `stream`",
            lambda j: (j.table is None) != (j.stream is None),
        ),
        Rule(
            "!has(self.stream) || has(self.within)",
            "a join with a stream needs `within`: without it, every record would be kept for ever",
            lambda j: j.stream is None or j.within is not None,
        ),
        Rule(
            "has(self.stream) || !has(self.within)",
            "`within` belongs to a join with a stream",
            lambda j: j.stream is not None or j.within is None,
            "within",
        ),
        Rule(
            "has(self.table) || !has(self.asOf)",
            "`asOf` belongs to a join with a table",
            lambda j: j.table is not None or j.as_of is None,
            "asOf",
        ),
    )


KINDS = ("filter", "select", "explode", "python", "aggregate", "join")


class Operator(Part):
    """A named step: its input, and exactly one of filter, select, explode, python, aggregate, join."""

    name: Name = Field(description="Name of the step; unique among streams, tables and operators.")
    input: Name | None = Field(None, description="The stream, table or operator that it reads.")
    inputs: tuple[Name, ...] | None = Field(
        None, min_length=2, max_length=16, description="Several inputs with the same columns, read as one stream."
    )
    filter: Expression | None = Field(None, description="Keep the records for which this expression is true.")
    select: tuple[Expression, ...] | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="Columns, or expressions with a name: `price * 2 as double_price`.",
    )
    explode: Explode | None = Field(None, description="One record for each element of an array.")
    python: Python | None = Field(None, description="A Python function for each record or batch.")
    aggregate: Aggregate | None = Field(None, description="Group records into a table.")
    join: Join | None = Field(None, description="Join with a table, or with a stream within a span of time.")
    paradigm: Paradigm | None = Field(
        None, description="Pin this step to record or batch; absent: as `execution.paradigm` says."
    )
    retention: Retention | None = Field(
        None,
        description="How long rows of its table, or records of its join, are kept for late ones; for ever when absent.",
    )
    costs: Costs | None = Field(None, description="Declared costs of one record.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"[{', '.join(f'has(self.{kind})' for kind in KINDS)}].filter(x, x).size() == 1",
            f"an operator is exactly one of {', '.join(KINDS)}",
            lambda o: len(o.kinds) == 1,
        ),
        Rule(
            "has(self.input) != has(self.inputs)",
            "name exactly one of `input` and `inputs`",
            lambda o: (o.input is None) != (o.inputs is None),
        ),
        Rule(
            "!has(self.join) || !has(self.inputs)",
            "a join has one `input`; its other side stands under `join`",
            lambda o: o.join is None or o.inputs is None,
            "inputs",
        ),
        Rule(
            "!has(self.retention) || has(self.aggregate) || has(self.join)",
            "only an aggregate or a join keeps anything; remove `retention`",
            lambda o: o.retention is None or o.aggregate is not None or o.join is not None,
            "retention",
        ),
        Rule(
            "!has(self.retention) || !has(self.aggregate) || !has(self.aggregate.window)"
            " || duration(self.retention) >= duration(self.aggregate.window.size)",
            "retention must not be shorter than the window: its rows would be dropped while it is open",
            lambda o: (
                o.retention is None
                or o.aggregate is None
                or o.aggregate.window is None
                or o.retention >= o.aggregate.window.size
            ),
            "retention",
        ),
        Rule(
            "!has(self.retention) || !has(self.join) || !has(self.join.within)"
            " || duration(self.retention) >= duration(self.join.within)",
            "retention must not be shorter than the join's `within`: partners would be dropped before they can meet",
            lambda o: o.retention is None or o.join is None or o.join.within is None or o.retention >= o.join.within,
            "retention",
        ),
        Rule(
            "!has(self.paradigm) || self.paradigm != 'batch' || !has(self.join) || !has(self.join.stream)",
            "a join of two streams keeps state and works record by record; remove `paradigm: batch`",
            lambda o: o.paradigm is not Paradigm.BATCH or o.join is None or o.join.stream is None,
            "paradigm",
        ),
    )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are set; exactly one, once the rules have passed."""
        return tuple(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def kind(self) -> str:
        """What it is: one of `KINDS`."""
        return self.kinds[0]

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of everything that it reads, its main inputs first."""
        main = (self.input,) if self.input is not None else self.inputs or ()
        partner = () if self.join is None else (self.join.table or self.join.stream or "",)
        return (*main, *partner)
