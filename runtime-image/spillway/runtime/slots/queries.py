"""Point queries: the rows of a key, from the table of whoever has the key's partition, as they are at this moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from spillway.model.types import ColumnType, Schema
from spillway.runtime import keys, point_queries
from spillway.runtime.codecs import values, writing
from spillway.runtime.codecs.values import CodecError
from spillway.runtime.programs.program import State
from spillway.runtime.slots.messages import Answer, Ask
from spillway.runtime.slots.place import Place

# Rows in one answer: of the windows of one key. More would stop the loop for longer than a record may take.
MOST = 100


def answer(ask: Ask, places: Iterable[Place]) -> Answer:
    """What these partitions have of the key."""
    having = {place.partition.number: (place, state) for place in places if (state := _state(place, ask.operator))}
    if not having:
        return Answer(ask.number, found=False)
    place, state = next(iter(having.values()))
    if not point_queries.by(state):
        return Answer(ask.number, found=True, problem=f"{ask.operator!r} has no rows that are found by a key")
    try:
        key = wanted(ask.key, state)
    except CodecError as error:
        return Answer(ask.number, found=True, problem=str(error))
    number = partition_of(key, state, place.task.width)
    if number not in having:
        return Answer(ask.number, found=False)
    table = having[number][0].task.states[ask.operator]
    show = shower(state.result.schema)
    return Answer(ask.number, found=True, rows=tuple(show(row) for row in _rows(table, key, state)))


def wanted(given: Mapping[str, Any], state: State) -> dict[str, Any]:
    """The values of a key; raises CodecError for what is none."""
    needed, known = point_queries.by(state), state.result.key or ()
    types = {column.name: column.type for column in state.result.schema}
    if not set(needed) <= set(given) <= {*needed, *known}:
        more = [name for name in known if name not in needed]
        rest = f", and may name {', '.join(more)}" if more else ""
        message = (
            f"a key of {state.name!r} names {', '.join(needed)}{rest}; this one has {', '.join(given) or 'nothing'}"
        )
        raise CodecError(message)
    return {name: _value(types[name], value) for name, value in given.items()}


def partition_of(key: Mapping[str, Any], state: State, width: int) -> int:
    """Where the rows of a key are."""
    types = {column.name: column.type for column in state.result.schema}
    names = point_queries.by(state)
    return keys.partition(keys.encoder(types[name] for name in names)([key[name] for name in names]), width)


def shower(schema: Schema) -> Callable[[Any], dict[str, Any]]:
    """Makes JSON objects of rows, as output topics have them."""
    objects = writing.Objects(schema.columns, "Row")
    source = objects.source([f"row[{i}]" for i in range(len(schema.columns))])
    encode = eval(f"lambda row: {source}", dict(objects.namespace))  # noqa: S307 - of our own names
    return lambda row: msgspec.json.decode(encode(row))


def _state(place: Place, operator: str) -> State | None:
    return next((state for state in place.task.program.states if state.name == operator), None)


def _rows(table: Any, key: Mapping[str, Any], state: State) -> list[Any]:
    """The row of a whole key; of the beginning of one, all rows that have it, up to `MOST`."""
    whole = state.result.key or ()
    if set(whole) <= set(key):
        row = table.get(tuple(key[name] for name in whole))
        return [] if row is None else [row]
    places = [(state.result.schema.names.index(name), value) for name, value in key.items()]
    found = []
    for row in table.scan(len(table.stores[0])):
        if all(row[place] == value for place, value in places):
            found.append(row)
            if len(found) == MOST:
                break
    return found


def _value(kind: ColumnType, value: Any) -> Any:
    try:
        return values.lenient(kind)(value)
    except CodecError:
        if type(value) is str:  # a number that somebody wrote into an address
            return values.lenient(kind)(msgspec.json.decode(value.encode()))
        raise
