"""Word count, in SQL and with a function of the user, and grep: lines of words go in."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from spillway.bench import lines
from spillway.bench.record import events
from spillway.bench.record.jobs import Case
from spillway.bench.workloads.work import CYCLE, Floats, Key, Keys, Numbers, Told, Work, repeated

_LINES = """
streams:
  - {name: lines, topic: in, format: raw, columns: "line string"}
"""

# The job of the demonstration: one row for each word record by record, one for each different word in a batch.
_WORDS = f"""{_LINES}
operators:
  - {{name: words, input: lines, explode: {{array: "split(line, ' ')", as: word, keep: []}}}}
  - {{name: counts, input: words, aggregate: {{by: [word], values: ["count(*) as n"]}}}}
outputs:
  - {{name: result, input: counts, topic: out}}
"""

# The same with a function of the user, which every system calls for each line: it gives a list of its words.
_SPLIT = f"""{_LINES}
operators:
  - {{name: cut, input: lines, python: {{function: "chain:cut", as: map, returns: "words array<string>"}}}}
  - {{name: words, input: cut, explode: {{array: words, as: word, keep: []}}}}
  - {{name: counts, input: words, aggregate: {{by: [word], values: ["count(*) as n"]}}}}
outputs:
  - {{name: result, input: counts, topic: out}}
"""

PATTERN = "ab"  # in about a fifth of the lines: a search that finds something, and leaves most of it
_GREP = f"""{_LINES}
operators:
  - {{name: matches, input: lines, filter: "line like '%{PATTERN}%'"}}
outputs:
  - {{name: result, input: matches, topic: out}}
"""

_row = msgspec.json.Decoder(msgspec.defstruct("Row", [("word", str, ""), ("n", int, 0), ("line", str, "")])).decode


class Words(Work):
    """How often each word has come."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A line."""
        return 0, rendered(self.keys)[number % CYCLE]

    def read(self, value: bytes) -> Told:
        """A word and its count."""
        row = _row(value)
        return Told(row.word, row.n)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By word, the lines that it is in."""
        return _by_key(self._found(), len(times))

    def _found(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = collections.defaultdict(list)
        for number, line in enumerate(rendered(self.keys)):
            for word in line.decode().split(" "):
                found[word].append(number)
        return found


class Grep(Words):
    """Lines with a pattern."""

    def read(self, value: bytes) -> Told:
        """A line."""
        return Told(_row(value).line, 0)  # type: ignore[attr-defined]

    def _found(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = collections.defaultdict(list)
        for number, line in enumerate(rendered(self.keys)):
            if PATTERN in line.decode():
                found[line.decode()].append(number)
        return found


@functools.cache
def rendered(keys: Keys) -> Sequence[bytes]:
    """A cycle of lines: usual is Zipf's law with exponent 1, as people use words."""
    if keys is Keys.USUAL:
        return lines.rendered(CYCLE)
    if keys is Keys.ONE:
        return [" ".join([events.words()[0]] * lines.WORDS).encode()] * CYCLE
    dice, known = events.dice(7), events.words()[: lines.VOCABULARY]
    steps = list(itertools.accumulate(1 / (rank + 1) ** events.ZIPF for rank in range(len(known))))
    return [" ".join(dice.choices(known, cum_weights=steps, k=lines.WORDS)).encode() for _ in range(CYCLE)]


def _by_key(places: dict[str, list[int]], count: int) -> dict[Key, Numbers]:
    found: dict[Key, Numbers] = {}
    for key, some in places.items():
        at = np.array(some, np.int64)
        numbers, _ = repeated(at, at, count)
        if len(numbers):
            found[key] = numbers
    return found


def _cut(*operators: str) -> dict[str, Sequence[str]]:
    return {name: (name,) for name in operators}


_TWO = _cut("words", "counts")
WORDS = Words("lines", "word count", Case(_WORDS, "lines", _TWO), "words", ("lines",))
_CUT = Case(_SPLIT, "lines", {"cut": ("cut", "words"), "counts": ("counts",)})
SPLIT = Words("split", "word count, a function splits", _CUT, "cut", ("lines",), python=True)
GREP = Grep("grep", "grep", Case(_GREP, "lines", _cut("matches")), "matches", ("lines",), counts=False, keyed=False)
