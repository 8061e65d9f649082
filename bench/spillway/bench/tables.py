"""What tables cost for each record: `python -m spillway.bench.tables`.

Microseconds of CPU per record (process time, the best of some runs: what else the machine does only ever adds), over
records whose times go on by a millisecond each and whose keys are drawn from so many. The loop that calls is part of
the figure; the first line is a dict alone, to see how fast the machine is just now. Then what a commit costs:
microseconds per changed entry to encode it, and to load it again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from spillway.expressions import relations
from spillway.model import kafka, types
from spillway.model.operators import Operator
from spillway.model.topology import Kind, Node, Topology
from spillway.runtime import keys
from spillway.runtime.tables.aggregation import Aggregation
from spillway.runtime.tables.lookup_join import LookupJoin
from spillway.runtime.tables.store import Store, load
from spillway.runtime.tables.stream_join import StreamJoin
from spillway.runtime.tables.table_join import TableJoin

RECORDS = 50_000
RUNS = 5
NOW = 1_700_000_000_000_000
MS = 1_000
EVENTS = "campaign string, price bigint, seconds double, cost decimal(10,2)"

Row = tuple[Any, ...]
Step = Callable[[int, Row], object]


class Made(NamedTuple):
    """A table that is about to be measured: what each record does, and where its entries are."""

    step: Step
    stores: Sequence[Store]


def main() -> None:
    """Measure all cases."""
    _say(f"{'microseconds of CPU':54}{'record':>8}{'change':>8}{'load':>8}{'bytes':>8}")
    best = min(_timed(_by_hand(), _records(1000)) for _ in range(RUNS))
    _say(f"{'a dict by hand: count by key and 10 s':54}{best:8.2f}")
    for name, make in _cases().items():
        _case(name, make)
    encode = keys.encoder([types.STRING, types.TIMESTAMP])
    best = min(_timed(lambda t, row: encode((row[0], t)), _records(1000)) for _ in range(RUNS))
    _say(f"{'key of a string and a timestamp':54}{best:8.2f}")


def _cases() -> dict[str, Callable[[], Made]]:
    ten = {"size": "10s"}
    hopping = {"size": "8s", "slide": "4s"}
    both = ["count(*) as n", "sum(price) as total"]
    return {
        "count by key": lambda: _aggregation(["count(*) as n"]),
        "count by key and 10 s": lambda: _aggregation(["count(*) as n"], ten),
        "count, sum by key and 10 s": lambda: _aggregation(both, ten),
        "count, sum by key and 10 s, retention 1 h": lambda: _aggregation(both, ten, "1h"),
        "sum of decimals by key and 10 s": lambda: _aggregation(["sum(cost) as total"], ten),
        "max by key": lambda: _aggregation(["max(price) as most"]),
        "count, avg by key and 8 s every 4 s, retention 1 m": lambda: _aggregation(
            ["count(*) as n", "avg(seconds) as mean"], hopping, "1m"
        ),
        "of a table: sum by key": _of_a_table,
        "stream with table, row of the time": lambda: _lookup("timestamp"),
        "stream with table, newest row": lambda: _lookup("latest"),
        "stream with table, corrected for 1 m": lambda: _lookup("timestamp", "1m"),
        "two streams within 1 s, inner, retention 1 m": lambda: _streams("inner"),
        "two streams within 1 s, full, retention 1 m": lambda: _streams("full"),
        "two tables by key": _tables,
    }


def _case(name: str, make: Callable[[], Made]) -> None:
    records, best = _records(1000), []
    for _ in range(RUNS):
        made = make()
        best.append((_timed(made.step, records), *_committed(made.stores, make().stores)))
    step, change, again, size = (min(times) for times in zip(*best, strict=True))
    _say(f"{name:54}{step:8.2f}{change:8.2f}{again:8.2f}{size:8.0f}")


def _timed(step: Step, records: list[tuple[int, Row]]) -> float:
    """Microseconds per record."""
    start = time.process_time()
    for timestamp, row in records:
        step(timestamp, row)
    return (time.process_time() - start) / len(records) * 1e6


def _committed(stores: Sequence[Store], empty: Sequence[Store]) -> tuple[float, float, float]:
    """Microseconds to encode and to load one change, and its bytes."""
    start = time.process_time()
    changes = [change for store in stores for change in store.changes()]
    middle = time.process_time()
    for key, value in changes:
        load(empty, key, value)
    for store in empty:
        store.restored()
    end = time.process_time()
    count = max(1, len(changes)) / 1e6
    size = sum(len(key) + len(value or b"") for key, value in changes)
    return (middle - start) / count, (end - middle) / count, size / max(1, len(changes))


def _records(campaigns: int) -> list[tuple[int, Row]]:
    dice = random.Random(1)  # noqa: S311 - a load, no secret
    return [
        (
            NOW + i * MS,
            (
                f"campaign-{dice.randrange(campaigns)}",
                dice.randrange(100),
                dice.random(),
                Decimal(dice.randrange(1000)).scaleb(-2),
            ),
        )
        for i in range(RECORDS)
    ]


# Tables


def _by_hand() -> Step:
    """A count in a dict with a dirty set, and nothing else: no row before, no row after, no update."""
    counts: dict[tuple[str, int], int] = {}
    dirty: dict[tuple[str, int], None] = {}

    def step(timestamp: int, row: Row) -> None:
        key = (row[0], timestamp - timestamp % 10_000_000)
        counts[key] = counts.get(key, 0) + 1
        dirty[key] = None

    return step


def _aggregation(values: list[str], window: dict[str, str] | None = None, retention: str | None = None) -> Made:
    aggregate = {"by": ["campaign"], "values": values, **({"window": window} if window else {})}
    table = Aggregation(*_parts({"aggregate": aggregate}, retention))
    return Made(table.record, table.stores)


def _of_a_table() -> Made:
    """A row of a table that changes each time, which is taken back and added."""
    aggregate = {"by": ["campaign"], "values": ["sum(price) as total"]}
    table = Aggregation(*_parts({"aggregate": aggregate}, key=["campaign", "price"]))
    return Made(lambda timestamp, row: table.update(timestamp, row, row), table.stores)


def _lookup(as_of: str, retention: str | None = None) -> Made:
    join = {"table": "right", "by": ["campaign"], "asOf": as_of}
    table = LookupJoin(*_parts({"join": join}, retention))
    for i in range(1000):
        table.table(NOW, None, (f"campaign-{i}", "name"))
    return Made(table.record, table.stores)


def _streams(kind: str) -> Made:
    """Records go to both sides in turn: of a thousand keys, each has a partner or so within a second."""
    join = {"stream": "right", "by": ["campaign"], "type": kind, "within": "1s"}
    table = StreamJoin(*_parts({"join": join}, "1m", right_stream=True))
    left, right = table.left, table.right

    def step(timestamp: int, row: Row) -> object:
        return left(timestamp, row) if timestamp // MS % 2 else right(timestamp, row[:2])

    return Made(step, table.stores)


def _tables() -> Made:
    table = TableJoin(*_parts({"join": {"table": "right", "by": ["campaign"]}}, key=["campaign"]))
    left, right = table.left, table.right

    def step(timestamp: int, row: Row) -> object:
        return left(timestamp, None, row) if timestamp // MS % 2 else right(timestamp, None, row[:2])

    return Made(step, table.stores)


def _parts(
    kind: dict[str, Any], retention: str | None = None, *, key: list[str] | None = None, right_stream: bool = False
) -> Any:
    """An operator as a manifest has it, and the relations of its inputs and its result."""
    parts = {"name": "it", "input": "left", **kind, **({"retention": retention} if retention else {})}
    operator = Operator.model_validate_json(json.dumps(parts))
    inputs = [_source("left", EVENTS, key)]
    if "join" in kind:
        inputs.append(_source("right", "campaign string, name string", None if right_stream else ["campaign"]))
    nodes = [*inputs, Node(Kind.OPERATOR, operator, ())]
    found, mistakes = relations.infer(Topology(tuple(nodes), ()))
    if mistakes:
        raise SystemExit(str(mistakes[0]))
    return operator, *(found[node.name] for node in nodes[:-1]), found["it"]


def _source(name: str, columns: str, key: list[str] | None) -> Node:
    text = {"name": name, "topic": name, "columns": columns}
    if key is None:
        return Node(Kind.STREAM, kafka.Stream.model_validate_json(json.dumps(text)), ())
    return Node(Kind.TABLE, kafka.Table.model_validate_json(json.dumps({**text, "key": key})), ())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
