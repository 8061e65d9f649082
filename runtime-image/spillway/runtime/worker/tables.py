"""Point queries: which rows a table has for a key, asked of all slots at once.

A key has the columns that its table is asked by (`point_queries`). The start of a window may be named too; without it,
the rows of all windows come.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from spillway.expressions import relations
from spillway.model import topology
from spillway.model.errors import InvalidError, SpillwayError
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft
from spillway.runtime import jobs, point_queries
from spillway.runtime.slots.messages import Answer
from spillway.runtime.worker.life import Answers, Life

# Seconds. A slot looks at its pipe every 10 ms; one that doesn't answer by then is in a long batch, or hangs.
PATIENCE = 2.0

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class TableError(SpillwayError):
    """There is no such table."""


class KeyUnfitError(SpillwayError):
    """What was given as a key is none."""


class Tables:
    """The tables of a job, by its manifest, which is read again when it has changed."""

    def __init__(self, file: Path, spec: Spec) -> None:
        """`spec` is what the file says now."""
        self._file, self._version = file, jobs.version(file)
        self._columns = columns(spec)

    def key(self, operator: str, text: str) -> dict[str, Any]:
        """The key that somebody wrote: a JSON object, or where the table has one column to ask by, its plain text."""
        if (version := jobs.version(self._file)) != self._version:
            self._read_again(version)
        asked_by = self._columns.get(operator)
        if asked_by is None:
            message = f"operator {operator[:60]!r} has no table; those that have one: {', '.join(self._columns) or '-'}"
            raise TableError(message)
        if len(text) > point_queries.LONGEST_KEY:
            message = f"a key has at most {point_queries.LONGEST_KEY} characters; this one has {len(text)}"
            raise KeyUnfitError(message)
        if not text.startswith("{"):
            if len(asked_by) == 1:
                return {asked_by[0]: text}
            message = f"the key of {operator!r} has {len(asked_by)} columns; write them as a JSON object"
            raise KeyUnfitError(message)
        try:
            return _decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            message = f"the key is no JSON object: {error}"
            raise KeyUnfitError(message) from None

    def _read_again(self, version: object) -> None:
        self._version = version
        try:
            self._columns = columns(jobs.read(self._file).spec)
        except InvalidError:
            return  # the job goes on with the last spec that was right


def columns(spec: Spec) -> dict[str, tuple[str, ...]]:
    """The columns that each table is asked by, by operator."""
    known, _ = relations.infer(topology.build(Draft.of(spec))[0])
    asked_by = {
        operator.name: point_queries.columns(operator, known[operator.reads[0]], known[operator.name])
        for operator in spec.operators
    }
    return {name: names for name, names in asked_by.items() if names}


def ask(lives: Iterable[Life], operator: str, key: dict[str, Any], seconds: float = PATIENCE) -> Answer | None:
    """What the first of these slots says that has the key's partition.

    Else what the last one says, which has not; None if some have said nothing in time, or can't be asked now.
    """
    answers: Answers = queue.SimpleQueue()
    until = time.monotonic() + seconds
    asked = [life.ask(operator, key, answers) for life in lives]
    last = Answer(0, found=False)
    for _ in range(sum(asked)):
        try:
            last = answers.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None
        if last.found:
            return last
    return last if all(asked) else None
