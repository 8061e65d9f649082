"""How to feed a job and read what it gives: commands that work as they stand, with records that fit.

A record is made from the columns, and from what filters compare them with. Where that can't be enough, because a
function wants something particular, the manifest helps: the annotation `spillway.dev/sample.NAME` has a line for the
stream or table NAME, or those fields of its JSON that matter.
"""

from __future__ import annotations

import datetime
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from spillway.model import types
from spillway.model.kafka import Format, Stream, Table
from spillway.model.streamjob import StreamJob
from spillway.model.types import ColumnType, Kind

SAMPLE = "spillway.dev/sample."
TEXT = "to be or not to be"

# What the filters of a job want of its columns, so that a sample gets through: c = 'x', c > 3, c like '%x%'.
_EQUAL = r"\b{}\s*==?\s*'([^']*)'"
_ABOVE = r"\b{}\s*>=?\s*(-?\d+)"
_LIKE = r"\b{}\s+like\s+'([^']*)'"


def feed(job: StreamJob, given: Mapping[str, str], bootstrap: str, now: datetime.datetime) -> list[str]:
    """A command for each topic that the job reads; tables first, because streams look things up in them.

    `given` are the manifest's annotations.
    """
    spec = job.spec
    found = []
    sources: list[Stream | Table] = [*spec.tables, *spec.streams]
    for source in sources:
        sample = given.get(f"{SAMPLE}{source.name}", "")
        key = source.key if isinstance(source, Table) else ()
        found.append(_fed(source.topic, _record(job, source, sample, now), bootstrap, key))
    return found


def read(job: StreamJob, bootstrap: str) -> list[str]:
    """A command for each topic that the job writes."""
    return [f"spillway consume {output.topic}{_at(bootstrap)}" for output in job.spec.outputs]


def _fed(topic: str, record: str, bootstrap: str, key: tuple[str, ...] = ()) -> str:
    named = "".join(f" --key {column}" for column in key)
    return f"echo {shlex.quote(record)} | spillway produce {topic}{named}{_at(bootstrap)}"


def _at(bootstrap: str) -> str:
    host, _, port = bootstrap.rpartition(":")
    return "" if (host, port) == ("127.0.0.1", "9092") else f" -b {bootstrap}"


def _record(job: StreamJob, source: Stream | Table, sample: str, now: datetime.datetime) -> str:
    columns = types.parse_schema(source.columns)
    if isinstance(source, Stream) and source.format is Format.RAW:
        (column,) = columns
        return sample or str(_hint(job, column.name, column.type) or TEXT)
    record = {column.name: _value(job, column.name, column.type, now) for column in columns}
    try:
        given = json.loads(sample or "{}")
    except ValueError:
        given = {}
    return json.dumps(record | (given if isinstance(given, dict) else {}))


def _value(job: StreamJob, name: str, kind: ColumnType, now: datetime.datetime) -> Any:
    match kind.kind:
        case Kind.BOOLEAN:
            return True
        case Kind.INT | Kind.BIGINT | Kind.DOUBLE | Kind.DECIMAL:
            return _hint(job, name, kind) or 1
        case Kind.DATE:
            return f"{now:%Y-%m-%d}"
        case Kind.TIMESTAMP:
            return f"{now.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
        case Kind.ARRAY if kind.element is not None:
            return [_value(job, name, kind.element, now)]
        case Kind.BINARY:
            return "YQ=="
    return _hint(job, name, kind) or "a"


def _hint(job: StreamJob, name: str, kind: ColumnType) -> str | int | None:
    """What a filter of the job wants of this column, as far as that is seen at a glance."""
    text = " and ".join(operator.filter for operator in job.spec.operators if operator.filter is not None)
    word = re.escape(name)
    if kind.kind is Kind.STRING:
        if found := re.search(_EQUAL.format(word), text):
            return found[1]
        if found := re.search(_LIKE.format(word), text):
            return found[1].replace("%", "").replace("_", "x")
        return None
    found = re.search(_ABOVE.format(word), text)
    return int(found[1]) + 1 if found else None
