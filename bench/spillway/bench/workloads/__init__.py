"""Workloads: a job each, what flows through it, and an independent check of what comes out.

    work        the shape that all have
    words       word count, in SQL and with a function, and grep
    ads         the Yahoo streaming benchmark
    sessions    windowed aggregation and windowed join of the benchmark paper
    nexmark     q1, q2, q5, q7 and q8, with a generator of our own
    roads       Linear Road tolls
    moods       sentiment

Event time is in the event. What is right is computed in plain Python from the numbers of messages, by nobody who
processes them; tests hold that to DuckDB, which reads the bytes.
"""

from __future__ import annotations

import dataclasses
import functools

from spillway.bench.workloads import ads, moods, nexmark, roads, sessions, words
from spillway.bench.workloads.work import Keys, Work

_SOME: tuple[Work, ...] = (
    words.WORDS,
    words.SPLIT,
    words.GREP,
    ads.YSB,
    sessions.AVERAGES,
    sessions.PAIRS,
    roads.TOLLS,
    moods.MOODS,
    nexmark.Q1,
    nexmark.Q2,
    nexmark.Q5,
    nexmark.Q7,
    nexmark.Q8,
)
ALL: dict[str, Work] = {work.name: work for work in _SOME}


@functools.cache
def found(name: str, keys: Keys = Keys.USUAL) -> Work:
    """A workload, with its keys drawn in some way; raises ValueError where they can't be."""
    known = ALL[name]
    if keys is not Keys.USUAL and not known.keyed:
        message = f"keys of {name!r} can't be drawn otherwise: use a trace of its usual keys"
        raise ValueError(message)
    return dataclasses.replace(known, keys=keys)
