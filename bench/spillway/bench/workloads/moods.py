"""Sentiment: a function scores short texts, and hashtags have their mean mood by the minute, as in the example."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

import msgspec
import numpy as np

from spillway.bench.record import events, verify
from spillway.bench.record.code import moods
from spillway.bench.record.jobs import Case
from spillway.bench.workloads import work
from spillway.bench.workloads.work import CYCLE, Floats, Key, Keys, Numbers, Told, Windows, Work

TAGS = 200
MINUTE = 60_000
_MOODS = """
streams:
  - {name: posts, topic: in, columns: "text string, posted_at timestamp", timestamp: posted_at}
operators:
  - {name: scored, input: posts, python: {function: "moods:score", as: map, returns: "text string, score double"}}
  - {name: words, input: scored, explode: {array: "split(text, ' ')", as: word, keep: [score]}}
  - {name: hashtags, input: words, filter: "startswith(word, '#')"}
  - name: means
    input: hashtags
    aggregate: {by: ["word as hashtag"], window: {size: 1m}, values: ["avg(score) as mood", "count(*) as n"]}
    retention: 1h
outputs:
  - {name: result, input: means, topic: out}
"""
_WORDS = (*sorted(moods.GOOD), *sorted(moods.BAD), "the", "rain", "today", "train", "again", "coffee", "work", "not")
_row = msgspec.json.Decoder(
    msgspec.defstruct("Mood", [("hashtag", str), ("window_start", str | int), ("mood", float), ("n", int)])
).decode


class Moods(Work):
    """The mean mood of hashtags."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A post."""
        text = _texts(self.keys)[number % CYCLE]
        return 0, b'{"text":%b,"posted_at":%d}' % (json.dumps(text).encode(), work.milli(due))

    def read(self, value: bytes) -> Told:
        """A hashtag and window, its posts, and their mood."""
        row = _row(value)
        return Told((row.hashtag, verify.millis(row.window_start)), row.n, row.mood)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By hashtag and window, the posts."""
        numbers = np.arange(len(times), dtype=np.int64)
        groups = np.array(work.drawn(self.keys, TAGS, 17), np.int64)[numbers % CYCLE]
        return work.grouped(numbers, groups, "#tag{}".format, work.millis(times), Windows(MINUTE, MINUTE))

    def amount(self, numbers: Numbers, times: Floats) -> float:
        """The mean of their scores."""
        return float(_scores(self.keys)[numbers % CYCLE].mean())


@functools.cache
def _texts(keys: Keys) -> Sequence[str]:
    """Of a cycle: some words, and one hashtag."""
    dice = events.dice(18)
    return [f"{' '.join(dice.choices(_WORDS, k=9))} #tag{tag}" for tag in work.drawn(keys, TAGS, 17)]


@functools.cache
def _scores(keys: Keys) -> Floats:
    return np.array([moods.score({"text": text})["score"] for text in _texts(keys)], np.float64)


MOODS = Moods(
    "moods",
    "sentiment",
    Case(_MOODS, "lines", {"scored": ("scored", "words", "hashtags"), "means": ("means",)}),
    "scored",
    ("posts",),
    python=True,
)
