"""What a job is fed with: records that somebody recorded, or such as its columns may have.

Records come round again and again, so a few thousand stand for any number of them. What is made up has texts of few
different words, numbers around 0, and times of just now. Texts and numbers that the manifest itself names are among
them: a filter for `event_type = 'view'` lets some through, and a join finds rows, because every text column draws from
the same words.

A recording is a file with a record in each line, as `spillway consume` prints a topic.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spillway.expressions import relations
from spillway.model import topology
from spillway.model.errors import TerminalError
from spillway.model.kafka import Format, Stream, Table
from spillway.model.streamjob import StreamJob
from spillway.model.topology import Draft
from spillway.model.types import ColumnType, Kind, Schema

SEED = 1
# Different records of a stream. Fewer, and keys repeat so often that tables stay small; more, and who feeds needs
# longer to make them than the job to read them.
MANY = 5_000
ROWS = 1_000  # of a table: as many keys as there are words
WORDS = 1_000
WORDS_OF_LINE = 8  # of a raw message: what the planner takes a line for
NAMED = 0.5  # of texts, where the manifest names some
MOST_LINES = 200_000  # of a recording: beyond, records just come round
MOST_BYTES = 256 * 2**20
_TEXT = re.compile(r"'((?:[^'\\]|'')*)'")


class RecordsError(TerminalError):
    """There is nothing to feed; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Records:
    """What one topic is fed with, in turn.

    Attributes:
        topic: of the user.
        values: of messages.
        keys: of messages, one for each value; None where they have none.
        table: whether these are the rows of a table: they are sent once, by key.
        origin: where they are from, for people.
    """

    topic: str
    values: Sequence[bytes]
    keys: Sequence[bytes | None] | None
    table: bool
    origin: str

    @property
    def size(self) -> float:
        """Bytes of one value."""
        return sum(map(len, self.values)) / len(self.values)


def recorded(source: Stream | Table, file: Path) -> Records:
    """The lines of a file."""
    values, size = [], 0
    try:
        with file.open("rb") as lines:
            for line in lines:
                if value := line.rstrip(b"\r\n"):
                    values.append(value)
                    size += len(value)
                if len(values) >= MOST_LINES or size >= MOST_BYTES:
                    break
    except OSError as error:
        message = f"{file}: can't be read: {error.strerror}"
        raise RecordsError(message) from None
    if not values:
        message = f"{file}: holds no records; write one in each line, as `spillway consume {source.topic}` prints them"
        raise RecordsError(message)
    return _of(source, values, f"{len(values)} records of {file.name}")


def replayed(source: Stream | Table, values: Sequence[bytes], where: str) -> Records:
    """What somebody's topic holds."""
    if not values:
        message = f"topic {source.topic!r} at {where} is empty: give records with --records, or leave --bootstrap out"
        raise RecordsError(message)
    return _of(source, values, f"{len(values)} records of topic {source.topic} at {where}")


def made_up(job: StreamJob, source: Stream | Table) -> Records:
    """Records such as the columns may have; the same for the same manifest, but for their times."""
    graph, _ = topology.build(Draft.of(job.spec))
    found, _ = relations.infer(graph)
    dice = random.Random(f"{SEED} {source.name}")  # noqa: S311 - test data
    maker = _Maker(dice, _named(job), time.time())
    schema = found[source.name].schema
    count = ROWS if isinstance(source, Table) else MANY
    raw = isinstance(source, Stream) and source.format is Format.RAW
    values = [maker.line(schema) if raw else maker.row(schema, source, i) for i in range(count)]
    return _of(source, values, f"{count} made-up records")


def _of(source: Stream | Table, values: Sequence[bytes], origin: str) -> Records:
    table = isinstance(source, Table)
    keys = [_key(source, value) for value in values] if isinstance(source, Table) else None
    return Records(source.topic, values, keys, table, origin)


def _key(table: Table, value: bytes) -> bytes | None:
    """The key of a row, as outputs of jobs have it."""
    try:
        row = json.loads(value)
        found = {name: row[name] for name in table.key}
    except (ValueError, TypeError, KeyError):
        message = f"a record for table {table.name!r} has no key ({', '.join(table.key)}): {value[:80]!r}"
        raise RecordsError(message) from None
    (first, *more) = found.values()
    return first.encode() if not more and isinstance(first, str) else json.dumps(found).encode()


def _named(job: StreamJob) -> tuple[str, ...]:
    """Texts that expressions of the job name."""
    told = json.dumps(job.spec.model_dump(mode="json", by_alias=True, exclude_none=True)["operators"])
    texts = {text.replace("''", "'") for text in _TEXT.findall(told)}
    return tuple(sorted(text for text in texts if text.strip() and "%" not in text and "\\" not in text))


@dataclasses.dataclass(frozen=True)
class _Maker:
    """Makes up values."""

    dice: random.Random
    named: Sequence[str]
    now: float

    def line(self, schema: Schema) -> bytes:
        """A raw message: a line of words, or some bytes."""
        return " ".join(self._word() for _ in range(WORDS_OF_LINE)).encode()

    def row(self, schema: Schema, source: Stream | Table, number: int) -> bytes:
        """A JSON object with all columns; rows of a table have different keys."""
        aside = source.key_column if isinstance(source, Stream) else None
        row = {column.name: self._value(column.type) for column in schema if column.name != aside}
        if isinstance(source, Table):
            row |= {name: self._of_number(schema, name, number) for name in source.key[:1]}
        return json.dumps(row, separators=(",", ":")).encode()

    def _of_number(self, schema: Schema, name: str, number: int) -> Any:
        """The key of that number: all words, so that joins find something."""
        kind = next(column.type.kind for column in schema if column.name == name)
        return f"word{number % WORDS}" if kind is Kind.STRING else number

    def _word(self) -> str:
        return f"word{self.dice.randrange(WORDS)}"

    def _value(self, of: ColumnType) -> Any:
        match of.kind:
            case Kind.BOOLEAN:
                return self.dice.random() < 0.5
            case Kind.INT | Kind.BIGINT:
                return self.dice.randrange(WORDS)
            case Kind.DOUBLE:
                return round(self.dice.uniform(-100, 100), 3)
            case Kind.DECIMAL:
                return str(self.dice.randrange(100))
            case Kind.STRING:
                return self.dice.choice(self.named) if self.named and self.dice.random() < NAMED else self._word()
            case Kind.BINARY:
                return base64.b64encode(self.dice.randbytes(12)).decode()
            case Kind.DATE:
                return time.strftime("%Y-%m-%d", time.gmtime(self.now))
            case Kind.TIMESTAMP:
                at = self.now - self.dice.random()
                return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
            case Kind.ARRAY if of.element is not None:
                return [self._value(of.element) for _ in range(WORDS_OF_LINE)]
            case _:
                return None


def of_job(
    job: StreamJob, recordings: Mapping[str, Path], topics: Mapping[str, Sequence[bytes]], where: str = ""
) -> tuple[Records, ...]:
    """For every topic that a job reads: of a file, else of its own topic where that was read, else made up."""
    found = []
    sources: list[Stream | Table] = [*job.spec.streams, *job.spec.tables]
    for source in sources:
        if source.name in recordings:
            found.append(recorded(source, recordings[source.name]))
        elif source.topic in topics:
            found.append(replayed(source, topics[source.topic], where))
        else:
            found.append(made_up(job, source))
    return tuple(found)
