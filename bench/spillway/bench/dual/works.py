"""What flows through the measured jobs: messages that come round again and again, and what each has to add to a result.

A message is one of `CYCLE`, with its time where it has one, so nobody has to remember what was sent: the number of a
message says what it holds. A result is a *key* and how often it has come; what has to be there for the first so many
messages is computed from their numbers alone.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from spillway.bench import lines
from spillway.bench.record import events, jobs, verify
from spillway.bench.record.jobs import Case

CYCLE = lines.LINES
Key = str | tuple[str, int]
Places = Mapping[str, npt.NDArray[np.int64]]
Floats = npt.NDArray[np.float64]

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

# The same with a function of the user, which every system calls for each line.
_SPLIT = f"""{_LINES}
operators:
  - name: words
    input: lines
    python: {{function: "chain:split", as: flatMap, returns: "word string"}}
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


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """A job, and what flows through it.

    Attributes:
        name: of the workload, for the adapters of other systems too.
        case: our job.
        head: its segment that may run in either paradigm.
        python: whether a function of the user is called for each record.
    """

    name: str
    case: Case
    head: str
    python: bool = False

    def value(self, number: int, due: float) -> bytes:
        """A message, due at this time in seconds since 1970."""
        return _values(self.name)(number % CYCLE, due)

    @property
    def has_windows(self) -> bool:
        """Whether results are by window of the time that a message has."""
        return self.name == "ads"

    @property
    def counts(self) -> bool:
        """Whether a result says how often its key has come; else it is one of the times that it comes."""
        return self.name != "grep"

    def read(self, value: bytes) -> tuple[Key, int]:
        """The key of a result, and the count that it tells; 0 where it tells none."""
        return _readers(self.name)(value)

    def expected(self, times: Floats) -> dict[Key, npt.NDArray[np.int64]]:
        """By key, the numbers of the messages that count for it, ascending, of messages with these times (seconds).

        One that counts twice is there twice.
        """
        found: dict[Key, npt.NDArray[np.int64]] = {}
        cycles = np.arange(-(-len(times) // CYCLE), dtype=np.int64) * CYCLE
        for key, places in _places(self.name).items():
            numbers = (cycles[:, None] + places[None, :]).ravel()
            numbers = numbers[: np.searchsorted(numbers, len(times))]
            if not self.has_windows:
                if len(numbers):
                    found[key] = numbers
                continue
            millis = np.floor(times[numbers] * 1000 + 1e-6).astype(np.int64)
            windows = millis - millis % events.WINDOW_MS
            for window in np.unique(windows):
                found[key, int(window)] = numbers[windows == window]
        return found


def _cut(*segments: Sequence[str]) -> dict[str, Sequence[str]]:
    return {operators[0]: operators for operators in segments}


WORDS = Work("lines", Case(_WORDS, "lines", _cut(("words",), ("counts",))), "words")
SPLIT = Work("split", Case(_SPLIT, "lines", _cut(("words",), ("counts",))), "words", python=True)
GREP = Work("grep", Case(_GREP, "lines", _cut(("matches",))), "matches")
YSB = Work("ads", jobs.YSB, "views")
ALL = {work.name: work for work in (WORDS, SPLIT, GREP, YSB)}
TITLES = {"lines": "word count", "split": "word count, a function splits", "grep": "grep", "ads": "YSB"}


@functools.cache
def _values(name: str) -> Callable[[int, float], bytes]:
    if name != "ads":
        texts = lines.rendered()
        return lambda number, _: texts[number]
    some = list(itertools.islice(events.ads(), CYCLE))
    return lambda number, due: some[number].at(int(due * 1000 + 1e-6))


@functools.cache
def _readers(name: str) -> Callable[[bytes], tuple[Key, int]]:
    import msgspec

    if name == "ads":
        fields = [("campaign_id", str), ("window_start", str | int), ("n", int)]
        decode = msgspec.json.Decoder(msgspec.defstruct("Row", fields)).decode

        def window(value: bytes) -> tuple[Key, int]:
            row = decode(value)
            return (row.campaign_id, verify.millis(row.window_start)), row.n  # type: ignore[attr-defined]

        return window
    if name == "grep":
        line = msgspec.json.Decoder(msgspec.defstruct("Line", [("line", str)])).decode
        return lambda value: (line(value).line, 0)  # type: ignore[attr-defined]
    count = msgspec.json.Decoder(msgspec.defstruct("Count", [("word", str), ("n", int)])).decode

    def word(value: bytes) -> tuple[Key, int]:
        row = count(value)
        return row.word, row.n  # type: ignore[attr-defined]

    return word


@functools.cache
def _places(name: str) -> Places:
    """By key, which messages of a cycle count for it; by campaign where windows come to that."""
    found: dict[str, list[int]] = collections.defaultdict(list)
    if name == "ads":
        for number, event in enumerate(itertools.islice(events.seen(), CYCLE)):
            if event.kind == "view":
                found[events.campaign(event.ad)].append(number)
    else:
        for number, line in enumerate(lines.rendered()):
            text = line.decode()
            if name != "grep":
                for word in text.split(" "):
                    found[word].append(number)
            elif PATTERN in text:
                found[text].append(number)
    return {key: np.array(numbers, np.int64) for key, numbers in found.items()}
