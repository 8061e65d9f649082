"""Streams and tables: records of topics to rows."""

from __future__ import annotations

from collections.abc import Collection

from spillway.bench.verifier import decoding
from spillway.bench.verifier.decoding import BadValueError
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Relation, Row, Values, Version
from spillway.model.kafka import Format, Stream, Table
from spillway.model.types import BINARY, Schema

# Deletions are remembered for as long (docs/explanation/tables.md): an older row that comes later than that is back.
_DAY = 86_400_000_000


def stream(part: Stream, schema: Schema, needed: Collection[str], records: Collection[Record]) -> Relation:
    """The rows of a stream; what is no record is a dead letter, and no row."""
    rows = []
    for record in records:
        try:
            values = _of_stream(part, schema, needed, record)
            time = _time(part.timestamp, schema, values, record)
        except BadValueError:
            continue
        rows.append(Row(values, time, record.time, (part.name, record.partition), (record.offset,)))
    return Relation(schema, tuple(rows), clock=max((row.time for row in rows), default=0))


def table(part: Table, schema: Schema, needed: Collection[str], records: Collection[Record]) -> Relation:
    """The messages of a table, and the newest row of each key."""
    places = [schema.names.index(name) for name in part.key]
    columns = [schema.columns[place] for place in places]
    history = []
    for record in records:
        try:
            if record.value is None:
                # The columns of a key stand in it as they stand in the table.
                in_order = sorted(columns, key=schema.columns.index)
                by_name = dict(zip([c.name for c in in_order], decoding.key_values(record.key, in_order), strict=True))
                key, values, time = tuple(by_name[c.name] for c in columns), None, record.time * 1000
            else:
                values = _decoded(schema, {*needed, *part.key, part.timestamp or part.key[0]}, record)
                key, time = tuple(values[place] for place in places), _time(part.timestamp, schema, values, record)
        except BadValueError:
            continue
        history.append(Version(key, time, record.time, values, (record.partition, record.offset)))
    clock = max((version.time for version in history), default=0)
    newest: dict[Values, Version] = {}
    doubtful = set()
    for version in history:
        known = newest.get(version.key)
        if known is None or known.time <= version.time:
            newest[version.key] = version
        elif known.values is None and known.time < clock - _DAY:
            doubtful.add(version.key)
    rows = [
        Row(version.values, version.time, version.appended, maybe=version.key in doubtful)
        for version in newest.values()
        if version.values is not None
    ]
    return Relation(schema, tuple(rows), part.key, ordered=False, clock=clock, history=tuple(history))


def _of_stream(part: Stream, schema: Schema, needed: Collection[str], record: Record) -> Values:
    if part.format is Format.JSON:
        wanted = {*needed, *([part.timestamp] if part.timestamp else [])} - {part.key_column}
        values = list(_decoded(schema, wanted, record))
    else:
        values = [None] * len(schema.columns)
        column = schema.columns[0]
        if column.name in needed:
            values[0] = record.value if column.type == BINARY else _text(record.value)
    if part.key_column is not None and part.key_column in needed:
        values[-1] = _text(record.key)
    return tuple(values)


def _decoded(schema: Schema, wanted: Collection[str], record: Record) -> Values:
    found = decoding.parsed(record.value)
    return tuple(
        decoding.value(found.get(column.name), column.type) if column.name in wanted else None for column in schema
    )


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise BadValueError(str(error)) from None


def _time(column: str | None, schema: Schema, values: Values, record: Record) -> int:
    """Event time: a column, or the time of the message."""
    if column is None:
        return record.time * 1000
    time = values[schema.names.index(column)]
    if time is None:
        raise BadValueError(column)
    return int(time)
