"""The two workloads of the benchmark paper: a windowed aggregation, and a windowed join (figures S1 and S2).

An event has a time, a key (one of 160 places) and a value, as there.

- *averages*: the mean session time by place, in windows of 8 seconds, one every 4.
- *pairs*: what two streams, sessions and watched ads, have in common: same place and same visitor, at most 8 seconds
  apart; the longer of both times, and the difference. With the place alone the number of pairs would grow with the
  square of the rate (the paper leaves open how many there are): so half of the ads are of a visitor who had a session a
  short while before, and the others of nobody. Each ad has half a partner in the mean, at every rate. Records are kept
  for five minutes: from full topics one partition is read up to a minute and a half ahead of another.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import msgspec
import numpy as np

from spillway.bench.record import events, verify
from spillway.bench.record.jobs import Case
from spillway.bench.workloads import work
from spillway.bench.workloads.work import CYCLE, Floats, Key, Keys, Numbers, Told, Windows, Work

PLACES = 160
SIZE, SLIDE, WITHIN = 8_000, 4_000, 8_000  # milliseconds
BACK = 200  # sessions: an ad is of one of so many before it, or of nobody
_AVERAGES = """
streams:
  - name: sessions
    topic: in
    columns: "geo string, session_time double, event_time timestamp"
    timestamp: event_time
operators:
  - {name: fields, input: sessions, select: [geo, session_time]}
  - name: averages
    input: fields
    aggregate:
      by: [geo]
      window: {size: 8s, slide: 4s}
      values: ["avg(session_time) as session_time", "count(*) as n"]
    retention: 1h
outputs:
  - {name: result, input: averages, topic: out}
"""
_PAIRS = """
streams:
  - name: sessions
    topic: in
    columns: "session bigint, geo string, visitor bigint, session_time double, event_time timestamp"
    timestamp: event_time
  - name: ads
    topic: in
    columns: "ad bigint, geo string, visitor bigint, watch_time double, event_time timestamp"
    timestamp: event_time
operators:
  - {name: left, input: sessions, select: [session, geo, visitor, session_time]}
  - {name: right, input: ads, select: [ad, geo, visitor, watch_time]}
  - {name: joined, input: left, join: {stream: right, by: [geo, visitor], within: 8s}, retention: 5m}
  - name: compared
    input: joined
    select:
      - session
      - ad
      - "greatest(session_time, watch_time) as longer"
      - "abs(session_time - watch_time) as difference"
outputs:
  - {name: result, input: compared, topic: out}
"""

_average = msgspec.json.Decoder(
    msgspec.defstruct("Average", [("geo", str), ("window_start", str | int), ("session_time", float), ("n", int)])
).decode
_pair = msgspec.json.Decoder(
    msgspec.defstruct("Pair", [("session", int), ("ad", int), ("longer", float), ("difference", float)])
).decode


class Averages(Work):
    """The mean session time by place, in sliding windows."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A session."""
        place = number % CYCLE
        head = b'{"geo":"geo-%d","session_time":%.2f,"event_time":' % (places(self.keys)[place], values()[place])
        return 0, b"%b%d}" % (head, work.milli(due))

    def read(self, value: bytes) -> Told:
        """A place and window, how many sessions, and their mean time."""
        row = _average(value)
        return Told((row.geo, verify.millis(row.window_start)), row.n, row.session_time)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By place and window, the sessions."""
        numbers = np.arange(len(times), dtype=np.int64)
        groups = np.array(places(self.keys), np.int64)[numbers % CYCLE]
        return work.grouped(numbers, groups, "geo-{}".format, work.millis(times), Windows(SIZE, SLIDE))

    def amount(self, numbers: Numbers, times: Floats) -> float:
        """The mean."""
        return float(values()[numbers % CYCLE].mean())


class Pairs(Work):
    """Sessions and ads of the same visitors. Messages with an even number are sessions, the others are ads."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A session or an ad."""
        of, place, at = number // 2, number // 2 % CYCLE, work.milli(due)
        value = values()[number % CYCLE]
        if number % 2 == 0:
            text = b'{"session":%d,"geo":"geo-%d","visitor":%d,"session_time":%.2f,"event_time":%d}'
            return 0, text % (of, of % PLACES, of, value, at)
        visitor = of - backs()[place]
        text = b'{"ad":%d,"geo":"geo-%d","visitor":%d,"watch_time":%.2f,"event_time":%d}'
        return 1, text % (of, visitor % PLACES, visitor, value, at)

    def read(self, value: bytes) -> Told:
        """A pair."""
        row = _pair(value)
        return Told((row.session, row.ad, row.longer, row.difference), 0)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By pair, the later one of both."""
        ads = np.arange(len(times) // 2, dtype=np.int64)
        sessions = ads - np.array(backs(), np.int64)[ads % CYCLE]
        kept = sessions >= 0
        ads, sessions = ads[kept], sessions[kept]
        at = work.millis(times)
        near = np.abs(at[ads * 2 + 1] - at[sessions * 2]) <= WITHIN
        found: dict[Key, Numbers] = {}
        for session, ad in zip(sessions[near].tolist(), ads[near].tolist(), strict=True):
            one, other = float(values()[session * 2 % CYCLE]), float(values()[(ad * 2 + 1) % CYCLE])
            found[session, ad, max(one, other), abs(one - other)] = np.array([ad * 2 + 1], np.int64)
        return found


@functools.cache
def values() -> Floats:
    """Session times of a cycle: quarters, so that sums of them are exact in any order."""
    dice = events.dice(9)
    return np.array([dice.randrange(4, 4_000) / 4 for _ in range(CYCLE)])


@functools.cache
def places(keys: Keys) -> Sequence[int]:
    """Places of a cycle."""
    return work.drawn(keys, PLACES, 10)


@functools.cache
def backs() -> Sequence[int]:
    """How many sessions ago the visitor of each ad of a cycle was there; one of nobody comes from before all times."""
    dice = events.dice(11)
    return [dice.randrange(1, BACK) if dice.random() < 0.5 else 2**40 for _ in range(CYCLE)]


AVERAGES = Averages(
    "averages",
    "windowed aggregation",
    Case(_AVERAGES, "lines", {"fields": ("fields",), "averages": ("averages",)}),
    "fields",
    ("sessions",),
)
PAIRS = Pairs(
    "pairs",
    "windowed join",
    Case(_PAIRS, "lines", {"left": ("left",), "right": ("right",), "joined": ("joined", "compared")}),
    "left",
    ("sessions", "ads"),
    counts=False,
    keyed=False,
)
