"""Rows as the messages that an output has to hold, and messages as they are found."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from spillway.bench.verifier import decoding
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Row
from spillway.model.types import Kind, Schema

Content = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """A message that is expected, or may be.

    Attributes:
        key: of the message; None where it has none, or where it is unsure.
        content: its columns as JSON has them.
        row: what it was made of.
    """

    key: str | None
    content: Content
    row: Row

    def fits(self, content: Content, kinds: Sequence[Kind]) -> bool:
        """Whether a message with these columns is this one, as far as that is determined."""
        for place, (mine, other) in enumerate(zip(self.content, content, strict=True)):
            if mine == other or place in self.row.unsure:
                continue
            slack = self.row.slack.get(place)
            if slack is None or not isinstance(mine, float) or not isinstance(other, float):
                return False
            if kinds[place] is not Kind.DOUBLE or not math.isclose(mine, other, rel_tol=0.0, abs_tol=slack):
                return False
        return True

    @property
    def is_exact(self) -> bool:
        """Whether every column is determined to the last digit."""
        return not self.row.unsure and not self.row.slack

    def sure(self) -> Content:
        """The columns that have to be just so; None for the others."""
        loose = self.row.unsure | self.row.slack.keys()
        return tuple(None if place in loose else value for place, value in enumerate(self.content))


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A message that is there: its key, its columns (None: no object of just these columns), and the record."""

    key: str | None
    content: Content | None
    record: Record


def wanted(expected: Expected) -> list[Wanted]:
    """The messages of all rows; one that would be too unsure to be found by its key has none."""
    schema = expected.relation.schema
    places = [schema.names.index(name) for name in expected.key]
    columns = [schema.columns[place] for place in places]
    found = []
    for row in expected.relation.rows:
        content = tuple(
            None if place in row.unsure else decoding.shown(value, column.type)
            for place, (value, column) in enumerate(zip(row.values, schema, strict=True))
        )
        key = None
        if places and not row.unsure.intersection(places):
            key = decoding.key_text([row.values[place] for place in places], columns)
        found.append(Wanted(key, content, row))
    return found


def each(records: Iterable[Record], schema: Schema) -> Iterator[Found]:
    """The messages of a topic, one by one."""
    object_of = decoding.objects_of(schema)
    for record in records:
        yield Found(_key(record.key), object_of(record.value) if record.value else None, record)


def _key(data: bytes | None) -> str | None:
    """A key as text; an object without spaces, however it was written."""
    if data is None:
        return None
    text = data.decode(errors="backslashreplace")
    if text.startswith("{"):
        try:
            values: Mapping[str, Any] = json.loads(text, parse_float=Decimal)
        except ValueError:
            return text
        pairs = (f"{decoding.json_text(name)}:{decoding.json_text(value)}" for name, value in values.items())
        return "{" + ",".join(pairs) + "}"
    return text


def shown(content: Content | None, schema: Schema) -> Any:
    """For an example in a report."""
    return None if content is None else dict(zip(schema.names, map(_plain, content), strict=True))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value if isinstance(value, int | float | None) else str(value)
