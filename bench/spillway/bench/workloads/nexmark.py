"""Queries of Nexmark, an auction house: persons, auctions and bids, in the proportions 1 : 3 : 46 of its generator.

The generator is our own, deterministic: as there, half of all bids are for a hot auction, which changes every hundred
auctions, and three of four auctions are of a hot seller, who changes every hundred persons; the others are for one of
the last hundred auctions, and of one of the last thousand persons. Each query gets only the events that it reads, so a
rate is one of these.

- *q1*: prices of bids in another currency.
- *q2*: bids for one auction in 123.
- *q5*: bids by auction, in windows of ten seconds every two: what hot items are found by. Which one is the hottest is
  left to readers: that is a maximum over a table, and those can't be taken back.
- *q7*: the highest bid in windows of ten seconds.
- *q8*: persons who opened auctions in the window of ten seconds in which they came.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from spillway.bench.record import events, verify
from spillway.bench.record.jobs import Case
from spillway.bench.workloads import work
from spillway.bench.workloads.work import CYCLE, Floats, Key, Keys, Numbers, Told, Windows, Work

OF_A_ROUND = 46  # bids, for each person and three auctions
HOT = 100  # auctions, or persons, with one hot one among them
PERSONS = 1_000  # active ones
AUCTIONS = 1_000  # where keys are drawn otherwise
EVERY = 123
FIRST = 1_000  # number of the first person, and of the first auction
TEN, TWO = 10_000, 2_000  # milliseconds

_BIDS = """
streams:
  - name: bids
    topic: in
    columns: "bid bigint, auction bigint, bidder bigint, price bigint, channel string, event_time timestamp"
    timestamp: event_time
"""
_Q1 = f"""{_BIDS}
operators:
  - {{name: euros, input: bids, select: [bid, auction, bidder, "price * 908 / 1000 as euros"]}}
outputs:
  - {{name: result, input: euros, topic: out}}
"""
_Q2 = f"""{_BIDS}
operators:
  - {{name: found, input: bids, filter: "auction % {EVERY} = 0"}}
  - {{name: kept, input: found, select: [bid, auction, price]}}
outputs:
  - {{name: result, input: kept, topic: out}}
"""
_Q5 = f"""{_BIDS}
operators:
  - {{name: fields, input: bids, select: [auction]}}
  - name: counts
    input: fields
    aggregate: {{by: [auction], window: {{size: 10s, slide: 2s}}, values: ["count(*) as n"]}}
    retention: 1h
outputs:
  - {{name: result, input: counts, topic: out}}
"""
_Q7 = f"""{_BIDS}
operators:
  - {{name: fields, input: bids, select: [price]}}
  - name: highest
    input: fields
    aggregate: {{window: {{size: 10s}}, values: ["max(price) as price", "count(*) as n"]}}
    retention: 1h
outputs:
  - {{name: result, input: highest, topic: out}}
"""
_Q8 = """
streams:
  - name: persons
    topic: in
    columns: "person bigint, name string, event_time timestamp"
    timestamp: event_time
  - name: auctions
    topic: in
    columns: "auction bigint, seller bigint, category bigint, event_time timestamp"
    timestamp: event_time
operators:
  - {name: came, input: persons, select: [person, name, "unix_seconds(event_time) div 10 as ten"]}
  - {name: opened, input: auctions, select: ["seller as person", auction, "unix_seconds(event_time) div 10 as ten"]}
  - {name: both, input: came, join: {stream: opened, by: [person, ten], within: 10s}, retention: 5m}
outputs:
  - {name: result, input: both, topic: out}
"""

_FIELDS = [
    ("bid", int, 0),
    ("euros", float, 0.0),
    ("auction", int, 0),
    ("price", int, 0),
    ("window_start", str | int, 0),
    ("n", int, 0),
    ("person", int, 0),
]
_row = msgspec.json.Decoder(msgspec.defstruct("Row", _FIELDS)).decode


class Bids(Work):
    """Queries that read bids."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A bid."""
        place = number % CYCLE
        text = b'{"bid":%d,"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%019d","event_time":%d}'
        auction = _some(auctions, self.keys, number // CYCLE)[place]
        named = (number, auction, place * 7 % PERSONS, prices()[place], place % 100)
        return 0, text % (*named, work.milli(due))

    def read(self, value: bytes) -> Told:
        """As the query has it."""
        row = _row(value)
        return _READ[self.name](row)

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """As the query has it."""
        numbers = np.arange(len(times), dtype=np.int64)
        if self.name == "q1":
            return {number: numbers[number : number + 1] for number in range(len(times))}
        groups = auctions(self.keys, numbers)
        if self.name == "q2":
            return {int(number): numbers[number : number + 1] for number in numbers[groups % EVERY == 0]}
        if self.name == "q5":
            return work.grouped(numbers, groups, int, work.millis(times), Windows(TEN, TWO))
        return work.grouped(numbers, np.zeros_like(numbers), int, work.millis(times), Windows(TEN, TEN))

    def amount(self, numbers: Numbers, times: Floats) -> float:
        """The price."""
        price = float(prices()[numbers % CYCLE].max())
        return {"q1": price * 908 / 1000, "q2": price, "q7": price}.get(self.name, float("nan"))


class Newcomers(Work):
    """q8; of four messages one is a person, and three are auctions."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """A person or an auction."""
        group, of, at = number // 4, number % 4, work.milli(due)
        if of == 0:
            return 0, b'{"person":%d,"name":"person-%020d","event_time":%d}' % (FIRST + group, group, at)
        auction, seller = FIRST + group * 3 + of - 1, _some(sellers, self.keys, number // CYCLE)[number % CYCLE]
        text = b'{"auction":%d,"seller":%d,"category":%d,"event_time":%d}'
        return 1, text % (auction, seller, number % 10, at)

    def read(self, value: bytes) -> Told:
        """A person and an auction."""
        row = _row(value)
        return Told((row.person, row.auction), 0)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By person and auction, the later one of both."""
        numbers = np.arange(len(times), dtype=np.int64)
        numbers = numbers[numbers % 4 != 0]
        came = (sellers(self.keys, numbers) - FIRST) * 4  # the messages of the sellers
        tens = work.millis(times) // TEN
        kept = (came >= 0) & (came < len(times))
        kept[kept] = tens[came[kept]] == tens[numbers[kept]]
        found: dict[Key, Numbers] = {}
        for number, person in zip(numbers[kept].tolist(), came[kept].tolist(), strict=True):
            auction = FIRST + number // 4 * 3 + number % 4 - 1
            found[FIRST + person // 4, auction] = np.array([max(number, person)], np.int64)
        return found


_READ = {
    "q1": lambda row: Told(row.bid, 0, row.euros),
    "q2": lambda row: Told(row.bid, 0, float(row.price)),
    "q5": lambda row: Told((row.auction, verify.millis(row.window_start)), row.n),
    "q7": lambda row: Told((0, verify.millis(row.window_start)), row.n, float(row.price)),
}


def auctions(keys: Keys, bids: Numbers) -> Numbers:
    """The auctions of bids, by their numbers."""
    if keys is not Keys.USUAL:
        return FIRST + np.array(work.drawn(keys, AUCTIONS, 12), np.int64)[bids % CYCLE]
    newest = FIRST + bids // OF_A_ROUND * 3 + 2
    hot, back = (table[bids % CYCLE] for table in _draws())
    return np.where(hot < 0.5, newest // HOT * HOT, newest - back % HOT)


def sellers(_: Keys, numbers: Numbers) -> Numbers:
    """The sellers of auctions, by the numbers of their messages."""
    newest = FIRST + numbers // 4
    hot, back = (table[numbers % CYCLE] for table in _draws())
    return np.where(hot < 0.75, newest // HOT * HOT, newest - back % PERSONS)


@functools.lru_cache(maxsize=4)
def _some(of: Callable[[Keys, Numbers], Numbers], keys: Keys, cycle: int) -> Sequence[int]:
    """A cycle of them at once: one by one they would cost more than all else of a message."""
    found: list[int] = of(keys, np.arange(CYCLE, dtype=np.int64) + cycle * CYCLE).tolist()
    return found


@functools.cache
def _draws() -> tuple[Floats, Numbers]:
    """Of a cycle: whether it is the hot one, and else how far back."""
    dice = events.dice(13)
    return np.array([dice.random() for _ in range(CYCLE)]), np.array([dice.randrange(PERSONS) for _ in range(CYCLE)])


@functools.cache
def prices() -> Numbers:
    """Of a cycle of bids: from a dollar to a million, as many of each magnitude; in cents."""
    dice = events.dice(14)
    return np.array([round(10 ** (dice.random() * 6) * 100) for _ in range(CYCLE)], np.int64)


def _cut(*segments: Sequence[str]) -> Mapping[str, Sequence[str]]:
    return {operators[0]: operators for operators in segments}


def _bids(name: str, title: str, text: str, *segments: Sequence[str], counts: bool = True, keyed: bool = True) -> Bids:
    case = Case(text, "lines", _cut(*segments))
    return Bids(name, f"Nexmark {name}, {title}", case, segments[0][0], ("bids",), counts=counts, keyed=keyed)


Q1 = _bids("q1", "currency", _Q1, ("euros",), counts=False, keyed=False)
Q2 = _bids("q2", "selection", _Q2, ("found", "kept"), counts=False)
Q5 = _bids("q5", "bids by auction", _Q5, ("fields",), ("counts",))
Q7 = _bids("q7", "highest bid", _Q7, ("fields",), ("highest",), keyed=False)
Q8 = Newcomers(
    "q8",
    "Nexmark q8, new persons with auctions",
    Case(_Q8, "lines", _cut(("came",), ("opened",), ("both",))),
    "came",
    ("persons", "auctions"),
    counts=False,
    keyed=False,
)
