"""Operators that look at one row at a time: filter, select, explode, python."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from spillway.bench.verifier import bags, sql, translation
from spillway.bench.verifier.calls import Caller, FailedError
from spillway.bench.verifier.engine import Engine
from spillway.bench.verifier.relations import EXACT, Relation, Row
from spillway.model.operators import Operator, PythonKind
from spillway.model.types import Schema


def merged(names: Sequence[str], found: Sequence[Relation]) -> Relation:
    """Several inputs as one stream; each way in is a lane of its own."""
    if len(found) == 1:
        return found[0]
    rows = [
        dataclasses.replace(row, lane=(*row.lane, name))
        for name, relation in zip(names, found, strict=True)
        for row in relation.rows
    ]
    return dataclasses.replace(
        found[0],
        rows=tuple(rows),
        ordered=all(relation.ordered for relation in found),
        repeats=any(relation.repeats for relation in found),
        clock=max(relation.clock for relation in found),
        open=next((relation.open for relation in found if relation.open), ""),
    )


def filtered(operator: Operator, given: Relation, engine: Engine) -> Relation:
    """The rows for which the condition is true."""
    condition = translation.item(operator.filter or "", given.schema)
    results = engine.evaluate([condition], given.schema, given.rows)
    rows = []
    for row, result in zip(given.rows, results, strict=True):
        if result.shaky or result.unsure:
            rows.append(dataclasses.replace(row, maybe=True))
        elif result.values is not None and result.values[0] is True:
            rows.append(row)
    return dataclasses.replace(given, rows=tuple(rows), history=None)


def selected(operator: Operator, given: Relation, schema: Schema, needed: Collection[str], engine: Engine) -> Relation:
    """The items that somebody reads; the others are not computed."""
    items = [translation.item(text, given.schema) for text in operator.select or ()]
    wanted = [place for place, item in enumerate(items) if item.name in needed]
    results = engine.evaluate([items[place] for place in wanted], given.schema, given.rows)
    rows = []
    for row, result in zip(given.rows, results, strict=True):
        if result.values is None and not result.shaky:
            continue
        values = [None] * len(items)
        for place, value in zip(wanted, result.values or [None] * len(wanted), strict=True):
            values[place] = value
        maybe = row.maybe or result.values is None
        everything = frozenset(range(len(items)))
        unsure = everything if result.values is None else frozenset(wanted[i] for i in result.unsure)
        slack = {wanted[i]: slack for i, slack in result.slack.items()} if result.slack else EXACT
        rows.append(dataclasses.replace(row, values=tuple(values), maybe=maybe, unsure=unsure, slack=slack))
    same = {item.name for item in items if item.text == sql.quoted(item.name) and item.name in given.counts}
    return dataclasses.replace(
        given, schema=schema, rows=tuple(rows), counts=frozenset(same), history=None, key=given.key
    )


def exploded(operator: Operator, given: Relation, schema: Schema, engine: Engine, *, bag: bool = False) -> Relation:
    """A row for each element of the array, in its order; of a `bag`, one for all that are alike."""
    explode = operator.explode
    assert explode is not None  # noqa: S101 - the kind of the operator says so
    array = translation.item(explode.array, given.schema)
    results = engine.evaluate([array], given.schema, given.rows)
    kept = given.places(column.name for column in schema.columns[:-1])
    rows: list[Row] = []
    if any(result.shaky or result.unsure for result in results):
        return dataclasses.replace(given, schema=schema, rows=(), open=f"{operator.name}: an array that is unsure")
    if bag and all(row.is_plain for row in given.rows):
        alike = bags.counted(
            (row, tuple(row.values[place] for place in kept), (result.values or (None,))[0] or ())
            for row, result in zip(given.rows, results, strict=True)
        )
        return dataclasses.replace(given, schema=schema, rows=tuple(alike), ordered=False)
    for row, result in zip(given.rows, results, strict=True):
        unsure = frozenset(i for i, place in enumerate(kept) if place in row.unsure)
        slack = {i: row.slack[place] for i, place in enumerate(kept) if place in row.slack}
        values = tuple(row.values[place] for place in kept)
        rows += [
            dataclasses.replace(row, values=(*values, element), at=(*row.at, i), unsure=unsure, slack=slack)
            for i, element in enumerate((result.values or (None,))[0] or ())
        ]
    return dataclasses.replace(given, schema=schema, rows=tuple(rows))


def called(operator: Operator, given: Relation, schema: Schema, caller: Caller) -> Relation:
    """What the function of the user makes of each row, called itself."""
    python = operator.python
    assert python is not None  # noqa: S101 - the kind of the operator says so
    call = caller.function(python, given.schema, schema)
    rows: list[Row] = []
    for row, result in zip(given.rows, call([row.values for row in given.rows]), strict=True):
        blurred = bool(row.unsure or row.slack)
        if blurred and python.as_ is PythonKind.FLAT_MAP:
            reason = f"{operator.name}: a function of a record that is unsure"
            return dataclasses.replace(given, schema=schema, rows=(), open=reason)
        if blurred and python.as_ is PythonKind.FILTER:
            rows.append(dataclasses.replace(row, maybe=True))
        elif not isinstance(result, FailedError):
            rows += _given(row, result, python.as_, schema if blurred else None)
    return dataclasses.replace(given, schema=schema, rows=tuple(rows), history=None)


def _given(row: Row, results: Iterable[tuple[object, ...]], kind: PythonKind, blurred: Schema | None) -> list[Row]:
    if kind is PythonKind.FILTER:
        return [row for _ in results]
    unsure = frozenset(range(len(blurred.columns))) if blurred is not None else frozenset[int]()
    found = list(results)
    several = kind is PythonKind.FLAT_MAP
    return [
        dataclasses.replace(row, values=values, at=(*row.at, i) if several else row.at, unsure=unsure, slack=EXACT)
        for i, values in enumerate(found)
    ]
