"""Functions for random topologies: each of them once for a record, and once for an Arrow record batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Record = dict[str, Any]


def shifted(record: Record) -> Record:
    """a becomes one more; the record itself may be changed, since it is nobody else's."""
    record["a"] = None if record["a"] is None else record["a"] + 1
    record["w"] = "x"
    return record


def shifted_all(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same for a batch."""
    columns = {"k": batch["k"], "a": pc.add(batch["a"], 1), "b": batch["b"], "w": pa.array(["x"] * len(batch))}
    return pa.RecordBatch.from_pydict(columns)


def some(record: Record) -> Iterator[Record]:
    """As many as b says, up to two."""
    for i in range(min(record["b"] or 0, 2)):
        yield {**record, "a": i}


def some_all(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same for a batch; `_row` says what each was made of."""
    rows = [(row, i) for row, b in enumerate(batch["b"].to_pylist()) for i in range(min(b or 0, 2))]
    taken = batch.take(pa.array([row for row, _ in rows], pa.int64()))
    columns = {name: taken[name] for name in ("k", "b", "w")}
    columns |= {"a": pa.array([i for _, i in rows], pa.int64()), "_row": pa.array([row for row, _ in rows], pa.int32())}
    return pa.RecordBatch.from_pydict(columns)


def even(record: Record) -> bool:
    """Whether a is even."""
    return record["a"] is not None and record["a"] % 2 == 0


def even_all(batch: pa.RecordBatch) -> pa.Array:
    """The same for a batch."""
    return pa.array([a is not None and a % 2 == 0 for a in batch["a"].to_pylist()], pa.bool_())
