"""Tolls of the Linear Road benchmark: the topology of examples/linear-road.yaml, without its declared costs.

Cars report where they are; a segment's toll follows from the mean of its average speeds over five minutes, told every
minute. A toll says how many reports it is made of as well, so that it is known which of them are in it. Reports are
lines of nine fields, as in the benchmark; one in a hundred lines is a query, which gives nothing.
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

SEGMENTS, DIRECTIONS = 100, 2
MINUTE = 60_000
QUERIES = 0.01

_TOLLS = """
streams:
  - {name: spout, topic: in, format: raw, columns: "line string"}
operators:
  - name: parse
    input: spout
    python:
      function: roads:parse
      as: flatMap
      returns: "car int, speed int, expressway int, direction int, segment int"
  - name: agg
    input: parse
    aggregate:
      by: [expressway, direction, segment]
      window: {size: 1m}
      values: ["avg(speed) as speed", "count(*) as reports"]
    retention: 1h
  - name: mv
    input: agg
    aggregate:
      by: [expressway, direction, segment]
      window: {size: 5m, slide: 1m}
      values: ["avg(speed) as average_speed", "sum(reports) as n"]
    retention: 1h
  - name: toll
    input: mv
    select:
      - expressway
      - direction
      - segment
      - window_start
      - window_end
      - "if(average_speed < 40, cast(round((40 - average_speed) * 2) as int), 0) as cents"
      - average_speed
      - n
outputs:
  - {name: result, input: toll, topic: out}
"""
_FIELDS = [
    ("direction", int),
    ("segment", int),
    ("window_start", str | int),
    ("average_speed", float),
    ("n", int),
]
_row = msgspec.json.Decoder(msgspec.defstruct("Toll", _FIELDS)).decode


class Tolls(Work):
    """Tolls by direction and segment."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A report, or a query."""
        place = number % CYCLE
        speed, of = _speeds()[place], _segments(self.keys)[place]
        kind = 2 if speed < 0 else 0
        direction, segment = divmod(of, SEGMENTS)
        line = b"%d,%d,%d,%d,0,1,%d,%d,%d"
        return 0, line % (kind, int(due), number % 100_000, max(speed, 0), direction, segment, segment * 5280)

    def read(self, value: bytes) -> Told:
        """A segment and window, its reports, and its speed."""
        row = _row(value)
        of = (row.direction, row.segment)  # type: ignore[attr-defined]
        return Told((of, verify.millis(row.window_start)), row.n, row.average_speed)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By segment and window, the reports."""
        numbers = np.arange(len(times), dtype=np.int64)
        numbers = numbers[np.array(_speeds())[numbers % CYCLE] >= 0]
        groups = np.array(_segments(self.keys), np.int64)[numbers % CYCLE]
        at = work.millis(times[numbers])
        return work.grouped(numbers, groups, lambda of: divmod(of, SEGMENTS), at, Windows(5 * MINUTE, MINUTE))

    def amount(self, numbers: Numbers, times: Floats) -> float:
        """The mean of the means of the minutes."""
        speeds, minutes = np.array(_speeds())[numbers % CYCLE], work.millis(times[numbers]) // MINUTE
        return float(np.mean([speeds[minutes == minute].mean() for minute in np.unique(minutes)]))


@functools.cache
def _speeds() -> Sequence[int]:
    """Of a cycle; below zero where it is no report."""
    dice = events.dice(15)
    return [-1 if dice.random() < QUERIES else dice.randrange(20, 70) for _ in range(CYCLE)]


@functools.cache
def _segments(keys: Keys) -> Sequence[int]:
    return work.drawn(keys, DIRECTIONS * SEGMENTS, 16)


TOLLS = Tolls(
    "tolls",
    "Linear Road tolls",
    Case(_TOLLS, "lines", {"parse": ("parse",), "agg": ("agg",), "mv": ("mv", "toll")}),
    "parse",
    ("spout",),
    python=True,
)
