"""Random topologies whose result plain Python knows: each operator comes with a function that does the same.

All streams have the columns k, a, b, w; tables have k, n, total. Nothing here raises on any record.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Rows = list[Row]

COLUMNS = "k string, a bigint, b bigint, w string"
NAMES = ("k", "a", "b", "w")
LABELS = {"p": "one", "q": "two", "P": "three"}
# Where events have times: what some labels are from a time on, in milliseconds.
LATER = [(700, "q", "deux"), (1500, "p", "uno"), (1500, "r", "cuatro"), (2600, "q", "dos")]
TIME = "_time"  # of an event, in milliseconds; passed on to what becomes of it
WINDOW = 1000


def _add(*numbers: int | None) -> int | None:
    return None if None in numbers else sum(n for n in numbers if n is not None)


def _python(name: str, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    given = {"as": kind} | ({} if kind == "filter" else {"returns": COLUMNS})
    one = {"python": {"function": f"fuzzed:{name}", **given}}
    return one, {"python": {"function": f"fuzzed:{name}_all", "vectorised": True, **given}}


def _shifted(row: Row) -> Rows:
    return [{**row, "a": _add(row["a"], 1), "w": "x"}]


def _some(row: Row) -> Rows:
    return [{**row, "a": i} for i in range(min(row["b"] or 0, 2))]


def _even(row: Row) -> Rows:
    return [row] if row["a"] is not None and row["a"] % 2 == 0 else []


def _labelled(row: Row) -> Rows:
    return [{**row, "w": LABELS[row["k"]]}] if row["k"] in LABELS else []


def _greater(row: Row) -> Rows:
    return [row] if None not in (row["a"], row["b"]) and row["a"] > row["b"] else []


def _known(row: Row) -> Rows:
    return [row] if row["k"] is not None and (row["a"] is None or row["b"] not in (None, 3)) else []


def _upper(row: Row) -> Rows:
    return [{"k": row["k"] and row["k"].upper(), "a": row["b"], "b": row["a"], "w": row["w"]}]


def _turned(row: Row) -> Rows:
    return [{"k": row["w"], "a": 7 if row["a"] is None else row["a"], "b": 1, "w": row["k"]}]


def _split(row: Row) -> Rows:
    return [{**row, "w": word} for word in ([] if row["w"] is None else row["w"].split(" "))]


def _thrice(row: Row) -> Rows:
    return [{**row, "w": word} for word in (row["k"], row["w"], row["k"])]


# What a stream may go through: parts of a manifest, one operator after the other, and what they do to a row.
STREAMS: list[tuple[list[dict[str, Any]], Callable[[Row], Rows]]] = [
    ([{"filter": "a > b"}], _greater),
    ([{"filter": "k is not null and (b <> 3 or a is null)"}], _known),
    ([{"select": ["k", "a + b as a", "b", "w"]}], lambda r: [{**r, "a": _add(r["a"], r["b"])}]),
    ([{"select": ["upper(k) as k", "b as a", "a as b", "w"]}], _upper),
    ([{"select": ["w as k", "coalesce(a, 7L) as a", "1L as b", "k as w"]}], _turned),
    ([{"explode": {"array": "split(w, ' ')", "as": "w", "keep": ["k", "a", "b"]}}], _split),
    ([{"explode": {"array": "array(k, w, k)", "as": "w", "keep": ["k", "b", "a"]}}], _thrice),
    *(([part], _shifted) for part in _python("shifted", "map")),
    *(([part], _some) for part in _python("some", "flatMap")),
    *(([part], _even) for part in _python("even", "filter")),
    (
        [{"join": {"table": "labels", "by": ["k"], "asOf": "latest"}}, {"select": ["k", "a", "b", "label as w"]}],
        _labelled,
    ),
]


def _more(row: Row) -> Rows:
    return [{"more": "x", "total": _add(row["total"], row["n"]), "k": row["k"], "n": row["n"]}]


def _dated(row: Row, upto: int | None = None) -> Rows:
    upto = row[TIME] if upto is None else upto
    versions = dict(LABELS) | {k: label for time, k, label in LATER if time <= upto}
    return [{**row, "w": versions[row["k"]]}] if row["k"] in versions else []


def _newest(row: Row) -> Rows:
    return _dated(row, LATER[-1][0])


# The same where events have times.
TIMED: list[tuple[list[dict[str, Any]], Callable[[Row], Rows]]] = [
    *STREAMS[:-1],
    (STREAMS[-1][0], _newest),  # all of the table is there before the first record
    ([{"join": {"table": "labels", "by": ["k"]}}, {"select": ["k", "a", "b", "label as w"]}], _dated),
]


# What a table may go through.
TABLES: list[tuple[dict[str, Any], Callable[[Row], Rows]]] = [
    ({"filter": "n > 2"}, lambda r: [r] if r["n"] > 2 else []),
    ({"filter": "total is null or total % 2 = 0"}, lambda r: [r] if r["total"] is None or r["total"] % 2 == 0 else []),
    ({"select": ["k", "n * 2 as n", "total"]}, lambda r: [{"k": r["k"], "n": r["n"] * 2, "total": r["total"]}]),
    ({"select": ["'x' as more", "total + n as total", "k", "n"]}, _more),
]


def counted(rows: Rows) -> Rows:
    """`count(*)`, `sum(a)` by k."""
    groups: dict[str | None, Rows] = {}
    for row in rows:
        groups.setdefault(row["k"], []).append(row)
    return [{"k": k, "n": len(many), "total": _sum(row["a"] for row in many)} for k, many in groups.items()]


def windowed(rows: Rows) -> Rows:
    """The same in windows of a second."""
    groups: dict[int, Rows] = {}
    for row in rows:
        groups.setdefault(row[TIME] // WINDOW * WINDOW, []).append(row)
    return [
        {**one, "window_start": stamp(start), "window_end": stamp(start + WINDOW)}
        for start, some in groups.items()
        for one in counted(some)
    ]


def stamp(milliseconds: int) -> str:
    """A time as outputs have it."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC).isoformat().replace("+00:00", "Z")


def _sum(values: Any) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def grouped(rows: Rows) -> Rows:
    """`count(*)`, `sum(total)` by n % 3, of a table."""
    groups: dict[int, Rows] = {}
    for row in rows:
        groups.setdefault(row["n"] % 3, []).append(row)
    return [{"g": g, "c": len(many), "s": _sum(row["total"] for row in many)} for g, many in groups.items()]


Compute = Callable[[Mapping[str, Rows]], Rows]


def _of(source: str, compute: Callable[[Rows], Rows]) -> Compute:
    return lambda found: compute(found[source])


def _merged(sources: Sequence[str]) -> Compute:
    return lambda found: [row for name in sources for row in found[name] if (row["b"] or 0) < 9]


@dataclasses.dataclass
class Topology:
    """A random topology; `expected` has the rows of every output."""

    operators: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    outputs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    compute: dict[str, Compute] = dataclasses.field(default_factory=dict)
    tables: set[str] = dataclasses.field(default_factory=set)

    @property
    def parts(self) -> dict[str, Any]:
        """The streams, tables, operators and outputs of a manifest."""
        labels = {"name": "labels", "topic": "labels", "key": ["k"], "columns": "k string, label string"}
        return {
            "streams": [{"name": "events", "topic": "events", "columns": COLUMNS}],
            "tables": [labels] if any("join" in operator for operator in self.operators) else [],
            "operators": self.operators,
            "outputs": self.outputs,
        }

    def expected(self, events: Rows) -> dict[str, Rows]:
        """The rows of each output."""
        found: dict[str, Rows] = {"events": events}
        for name, compute in self.compute.items():
            found[name] = compute(found)
        return {output["name"]: [_untimed(row) for row in found[output["input"]]] for output in self.outputs}


def _untimed(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != TIME}


def topology(dice: random.Random, size: int, *, timed: bool = False) -> Topology:
    """A topology with so many choices; `timed`: events have times, so there are windows too, and labels that change."""
    made = Topology()
    streams, tables = ["events"], list[str]()

    def add(part: dict[str, Any], compute: Compute, **reads: Any) -> str:
        name = f"o{len(made.operators)}"
        made.operators.append({"name": name, **reads, **part})
        made.compute[name] = compute
        return name

    def each(source: str, step: Callable[[Row], Rows]) -> Compute:
        def compute(found: Mapping[str, Rows]) -> Rows:
            rows = [(row, result) for row in found[source] for result in step(row)]
            return [{**result, TIME: row[TIME]} if TIME in row else result for row, result in rows]

        return compute

    for _ in range(size):
        choice = dice.random()
        # New ones are read more often: chains, not only stars.
        source = dice.choice(streams[-2:] + streams)
        if choice < 0.6:
            parts, step = dice.choice(TIMED if timed else STREAMS)
            for part in parts[:-1]:
                source_name = add(part, each(source, lambda row: [row]), input=source)
                # What stands between has other columns; nobody else reads it.
                source = source_name
            compute = each(made.operators[-1]["input"] if len(parts) > 1 else source, step)
            streams.append(add(parts[-1], compute, input=source))
        elif choice < 0.7 and len(streams) > 2:
            both = dice.sample(streams, 2)
            streams.append(add({"filter": "coalesce(b, 0) < 9"}, _merged(both), inputs=both))
        elif choice < 0.85 or not tables:
            values = ["count(*) as n", "sum(a) as total"]
            if timed and dice.random() < 0.5:
                by = {"aggregate": {"by": ["k"], "window": {"size": f"{WINDOW}ms"}, "values": values}}
                name = add(by, _of(source, windowed), input=source)
                made.tables.add(name)
                continue
            name = add({"aggregate": {"by": ["k"], "values": values}}, _of(source, counted), input=source)
            tables.append(name)
            made.tables.add(name)
        else:
            table = dice.choice(tables)
            part, step = dice.choice(TABLES)
            name = add(part, each(table, step), input=table)
            tables.append(name)
            made.tables.add(name)
            if dice.random() < 0.5:
                values = ["count(*) as c", "sum(total) as s"]
                by = {"aggregate": {"by": ["n % 3 as g"], "values": values}}
                made.tables.add(add(by, _of(name, grouped), input=name))
    read = {name for o in made.operators for name in (o.get("input"), *o.get("inputs", ()))}
    ends = [o["name"] for o in made.operators if o["name"] not in read]
    made.outputs = [{"name": f"out-{name}", "input": name, "topic": f"t-{name}"} for name in ends]
    return made


def events(dice: random.Random, count: int) -> Rows:
    """Random records, with nulls."""

    def maybe(value: Any) -> Any:
        return None if dice.random() < 0.1 else value

    return [
        {
            "k": maybe(dice.choice("pqr")),
            "a": maybe(dice.randrange(-3, 9)),
            "b": maybe(dice.randrange(6)),
            "w": maybe(dice.choice(["p", "q p", "", "p q r"])),
        }
        for _ in range(count)
    ]


def segments(dice: random.Random, operators: Sequence[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """A random cut into trees."""
    members: dict[str, list[str]] = collections.defaultdict(list)
    home: dict[str, str] = {}
    if dice.random() < 0.5:
        home["events"] = "events"
        members["events"].append("events")
    for operator in operators:
        name, above = operator["name"], operator.get("input", "")
        fits = above in home and "aggregate" not in operator and dice.random() < 0.7
        home[name] = home[above] if fits else name
        members[home[name]].append(name)
    return {name: tuple(found) for name, found in members.items()}
