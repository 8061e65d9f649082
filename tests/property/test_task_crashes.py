"""Whenever a task dies, its heir goes on, and in the end every record has counted once."""

from __future__ import annotations

import collections
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import programs
from lone_job import LoneJob
from spillway.controllers.protocol import reader
from spillway.runtime import task
from spillway.runtime.task import Task

WORDS = ["a", "b", "c", "dd", "eee", ""]
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=12)


def _counted(job: LoneJob) -> dict[str, int]:
    """What a reader of the output ends with."""
    found: dict[bytes, int] = {}
    for (topic, _), log in job.logs.items():
        if topic == "word-counts":
            for key, value in log:
                assert key is not None
                assert value is not None
                found[key] = max(found.get(key, 0), msgspec.json.decode(value)["occurrences"])
    return {key.decode(): count for key, count in found.items()}


def _job(lines: list[list[str]]) -> LoneJob:
    spec = programs.example("word-count")
    content = {n: programs.messages([line.encode() for line in part]) for n, part in enumerate(lines)}
    return LoneJob(spec, programs.together(spec), {"lines": content})


def _expected(lines: list[list[str]]) -> dict[str, int]:
    return dict(collections.Counter(word for part in lines for line in part for word in line.split(" ") if word))


@fuzzing.cases(60)
@given(st.lists(LINES, min_size=1, max_size=3), st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.4]))
def test_every_word_counts_once_however_often_tasks_die(lines: list[list[str]], seed: int, crashes: float) -> None:
    job = _job(lines)
    job.run(random.Random(seed), crashes=crashes)  # noqa: S311 - dice of a test

    assert _counted(job) == _expected(lines)


LONG = [["a b c", "a a", "b dd eee"] * 10, ["c", "dd a"] * 10]


def _right(seed: int) -> bool:
    job = _job(LONG)
    job.run(random.Random(seed), crashes=0.3, commits=0.2)  # noqa: S311 - dice of a test
    return _counted(job) == _expected(LONG)


def test_frames_are_really_repeated_and_it_is_the_reader_who_skips_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(_right(seed) for seed in range(10))

    whole = reader.Reading(reader.Verdict.APPLY, reader.NOTHING, ())
    monkeypatch.setattr(reader, "read", lambda *_: whole)
    assert not all(_right(seed) for seed in range(10))


def test_what_is_known_of_origins_has_to_be_stored_with_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Task.load

    def forgetful(self: Task, topic: str, key: bytes, value: bytes | None) -> None:
        if not key.startswith(task.ORIGINS):
            load(self, topic, key, value)

    monkeypatch.setattr(Task, "load", forgetful)

    assert not all(_right(seed) for seed in range(10))


def test_tables_have_to_be_stored_with_the_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "load", lambda *_: None)

    assert not all(_right(seed) for seed in range(10))
