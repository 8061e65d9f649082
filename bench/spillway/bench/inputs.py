"""What the topics of the examples may hold: deterministic by seed, for tests, demonstrations and benchmarks.

    for message in inputs.messages("ysb", seed=1, count=1000, partitions=4): …

Keys repeat, some much more often than others; values are missing now and then; event times are out of order by a few
seconds; tables begin with their rows, which are then updated and deleted while the streams go on. One in a hundred
messages of a stream is no record at all (no JSON, a text for a number, no event time): a dead letter, not a result.

Messages of a table that stand there from the beginning come first and are `LEAD` older than the rest.
"""

from __future__ import annotations

import dataclasses
import json
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

START = 1_772_366_400_000  # 2026-03-01T12:00Z in milliseconds
LEAD = 60_000  # milliseconds that the first rows of a table are older than the first record of a stream
BAD = 0.01  # share of messages that are no records
MISSING = 0.03  # share of values that are null
JITTER = 3_000  # milliseconds that event times are out of order


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """A message to send.

    Attributes:
        topic, partition, key, value: where it goes, and what it is.
        time: of the message, in milliseconds since 1970; messages of a topic are in the order of it.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    time: int


def messages(
    example: str, *, seed: int, count: int, partitions: int = 1, start: int = START, step: float = 20.0
) -> Iterator[Message]:
    """So many messages of an example's streams, `step` milliseconds from one to the next, and those of its tables."""
    dice = random.Random(f"{example} {seed}")  # noqa: S311 - data, not secrets
    make = _Maker(dice, partitions, start, step)
    return _EXAMPLES[example](make, count)


def examples() -> tuple[str, ...]:
    """The names of the examples that there are messages for."""
    return tuple(_EXAMPLES)


class _Maker:
    """The dice, and messages with their times."""

    def __init__(self, dice: random.Random, partitions: int, start: int, step: float) -> None:
        self.dice = dice
        self._partitions, self._start, self._step = partitions, start, step

    def time(self, number: int) -> int:
        """When the message with this number is sent."""
        return self._start + int(number * self._step)

    def event_time(self, number: int) -> int:
        """When its event was: up to some seconds earlier."""
        return self.time(number) - self.dice.randrange(JITTER)

    def often(self, choices: int) -> int:
        """A number below `choices`, small ones more often."""
        return min(self.dice.randrange(choices), self.dice.randrange(choices))

    def maybe(self, value: Any) -> Any:
        """The value, or now and then null."""
        return None if self.dice.random() < MISSING else value

    def record(self, topic: str, number: int, record: dict[str, Any], spoiled: str = "") -> Message:
        """A record of a stream; sometimes one that is none, by a wrong value in the column `spoiled`."""
        data = json.dumps(record).encode()
        if self.dice.random() < BAD:
            bad = [b"{no json", b"[1]", json.dumps({**record, spoiled: [1]}).encode()]
            data = self.dice.choice(bad if spoiled else bad[:2])
        return self.raw(topic, number, data)

    def raw(self, topic: str, number: int, data: bytes) -> Message:
        """A message in some partition."""
        return Message(topic, self.dice.randrange(self._partitions), None, data, self.time(number))

    def row(self, topic: str, time: int, key: str, row: dict[str, Any] | None) -> Message:
        """A row of a table, or its deletion, in the partition of its key."""
        name = key.encode()
        value = None if row is None else json.dumps(row).encode()
        return Message(topic, zlib.crc32(name) % self._partitions, name, value, time)

    def before(self) -> int:
        """When the first rows of tables are sent."""
        return self._start - LEAD


_WORDS = ("to", "be", "or", "not", "that", "is", "the", "question", "whether", "nobler", "in", "mind", "suffer")
_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.title, str.lower)


def _lines(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        words = [make.dice.choice(["", _WORDS[make.often(len(_WORDS))]]) for _ in range(make.dice.randrange(9))]
        line = " ".join(make.dice.choice(_CASES)(word) for word in words)
        if make.dice.random() < 0.1:
            line += " ERROR " + str(number)
        # A text in another encoding is no record of a stream of strings.
        data = line.encode("utf-16") if make.dice.random() < BAD else line.encode()
        yield make.raw("lines", number, data)


def _ysb(make: _Maker, count: int) -> Iterator[Message]:
    for ad in range(40):
        name = f"ad-{ad}"
        yield make.row("ad-campaigns", make.before(), name, {"ad_id": name, "campaign_id": f"campaign-{ad % 7}"})
    for ad in (3, 5):
        yield make.row("ad-campaigns", make.before() + 1, f"ad-{ad}", None)
    for number in range(count):
        event = {
            "user_id": f"user-{make.dice.randrange(1000)}",
            "page_id": make.maybe(f"page-{make.dice.randrange(100)}"),
            "ad_id": make.maybe(f"ad-{make.often(50)}"),
            "ad_type": make.dice.choice(["banner", "modal"]),
            "event_type": make.maybe(make.dice.choice(["view", "click", "purchase"])),
            "event_time": make.event_time(number),
            "ip_address": "10.0.0.1",
        }
        yield make.record("ad-events", number, event, "event_type")


def _diamond(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        reading = {
            "sensor": make.maybe(f"sensor-{make.often(12)}"),
            "celsius": make.maybe(make.dice.randrange(-400, 800) / 16),
            "measured_at": make.maybe(make.event_time(number)),
        }
        yield make.record("readings", number, reading, "celsius")


def _customer(make: _Maker, customer: int, time: int) -> dict[str, Any]:
    return {
        "customer_id": f"customer-{customer}",
        "country": make.maybe(make.dice.choice(["DE", "FR", "IT"])),
        "tier": make.maybe(make.dice.choice(["gold", "none"])),
        "changed_at": time,
    }


def _enrichment(make: _Maker, count: int) -> Iterator[Message]:
    customers = 20
    for customer in range(customers):
        yield make.row("customers", make.before(), f"customer-{customer}", _customer(make, customer, make.before()))
    for number in range(count):
        if make.dice.random() < 0.05:
            customer = make.often(customers)
            gone = make.dice.random() < 0.2
            row = None if gone else _customer(make, customer, make.event_time(number))
            yield make.row("customers", make.time(number), f"customer-{customer}", row)
        order = {
            "order_id": make.maybe(f"order-{number}"),
            "customer_id": make.maybe(f"customer-{make.often(customers + 3)}"),
            "amount": make.maybe(make.dice.randrange(1, 100_000) / 100),
            "ordered_at": make.event_time(number),
        }
        yield make.record("orders", number, order, "amount")


_TEXTS = ("I love this", "not good", "never again sad", "best day", "it rains", "so happy, thanks", "boring and bad")


def _sentiment(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        tags = [f"#{make.dice.choice(['Sun', 'rain', 'work', ''])}" for _ in range(make.dice.randrange(3))]
        post = {
            "id": str(number),
            # A function that is given no text raises: a dead letter.
            "text": make.maybe(" ".join([make.dice.choice(_TEXTS), *tags])),
            "posted_at": make.event_time(number),
        }
        yield make.record("posts", number, post, "text")


def _sessions(make: _Maker, number: int) -> Message:
    session = {
        "geo": make.maybe(f"geo-{make.often(6)}"),
        "session_time": make.maybe(round(make.dice.expovariate(0.01), 3)),
        "event_time": make.event_time(number),
    }
    return make.record("sessions", number, session, "session_time")


def _sliding(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        yield _sessions(make, number)


def _windowed_join(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        if make.dice.random() < 0.5:
            yield _sessions(make, number)
            continue
        ad = {
            "geo": make.maybe(f"geo-{make.often(6)}"),
            "watch_time": make.maybe(round(make.dice.expovariate(0.02), 3)),
            "watched_at": make.event_time(number),
        }
        yield make.record("ad-watches", number, ad, "watch_time")


def _linear_road(make: _Maker, count: int) -> Iterator[Message]:
    for number in range(count):
        if make.dice.random() < 0.02:
            yield make.raw("car-positions", number, b"2,0,1,2,3")  # a query: not a report
            continue
        segment = make.often(3)
        speed = make.dice.randrange(20, 45) if segment == 0 else make.dice.randrange(40, 100)
        fields = [0, number, make.dice.randrange(500), speed, 0, 1, make.dice.randrange(2), segment, number]
        yield make.raw("car-positions", number, ",".join(map(str, fields)).encode())


_EXAMPLES: dict[str, Callable[[_Maker, int], Iterator[Message]]] = {
    "diamond": _diamond,
    "enrichment": _enrichment,
    "grep": _lines,
    "linear-road": _linear_road,
    "sentiment": _sentiment,
    "sliding-average": _sliding,
    "windowed-join": _windowed_join,
    "word-count": _lines,
    "ysb": _ysb,
}
