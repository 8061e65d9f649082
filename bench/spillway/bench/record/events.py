"""What flows through the measured jobs: bytes that are made ahead, and what is right to come out.

All of it follows from a seed, so every system under test gets the same bytes, and a checker can make them again.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import random
import string
from collections.abc import Iterator, Sequence

# A multiple of the partitions: all events of a user are then in one, in their order, and the due time that an update
# carries, the latest of its user, is that of the event that made it.
USERS = 996
PAYLOAD = 100  # bytes, of which the time takes 13
VOCABULARY, LINE = 10_000, 99  # words, and bytes of a line: 13.6 words on average
CAMPAIGNS, ADS = 100, 10
AD_TYPES = (b"banner", b"modal", b"sponsored-search", b"mail", b"mobile")
START_MS = 1_760_000_000_000  # event times of what is not sent by a schedule: one event per millisecond
WINDOW_MS = 10_000
ZIPF = 1.2
# Users with a row of state each, and bytes of text in it: 240 000 rows of about 430 bytes are 100 MB in a changelog.
# A multiple of the partitions, for the reason that `USERS` has.
PROFILES, NOTE = 240_000, 380
STRIDE = 100_009  # visits all profiles, in the partitions that they have: no common divisor with them, and 4 n + 1


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One message: its bytes are `head`, a whole number that says when it is due, `tail`."""

    head: bytes
    tail: bytes

    def at(self, due: int) -> bytes:
        """The message, due at this time."""
        return b"%b%d%b" % (self.head, due, self.tail)


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """A message whose parts cost a call, as those of the Kafka client do."""

    at: int
    content: bytes

    def offset(self) -> int:
        """Where it stands."""
        return self.at

    def key(self) -> None:
        """It has none."""

    def value(self) -> bytes:
        """What it holds."""
        return self.content

    def timestamp(self) -> tuple[int, int]:
        """Its time."""
        return (1, START_MS + self.at)


def dice(seed: int = 1) -> random.Random:
    """Dice that always fall the same way."""
    return random.Random(seed)  # noqa: S311 - a load, no secret


def orders(users: Sequence[int] = range(USERS)) -> Iterator[Event]:
    """Six fields, 85 to 95 bytes: the record of the worker loop; without an end, users over and over."""
    for number, user in enumerate(itertools.cycle(users)):
        yield Event(
            b'{"id":%d,"user":"user-%d","due":' % (number, user),
            b',"kind":"view","price":%d.5,"qty":%d}' % (number % 100, 1 + number % 7),
        )


def payloads() -> Iterator[Event]:
    """100 bytes that nobody looks into: a number, padding, and the time."""
    draw = dice(4)  # text that doesn't compress to nothing
    some = ["".join(draw.choices(string.ascii_letters, k=PAYLOAD - 33)).encode() for _ in range(1000)]
    for number in itertools.count():
        yield Event(b"%020d" % number + some[number % len(some)], b"")


def profiles() -> Iterator[Event]:
    """Users' first orders, with the text that makes their rows large."""
    draw = dice(5)
    notes = ["".join(draw.choices(string.ascii_letters, k=NOTE - 9)).encode() for _ in range(1000)]
    for number in range(PROFILES):
        yield _order(number, b"%s-%08d" % (notes[number % len(notes)], number))


def visited(number: int) -> int:
    """Whose order the event of this number is: in turn four of all users, and four of a few that come over and over.

    Who comes once shows whether the row was still there; who comes often, whether each order was counted once.
    """
    return number % USERS if number // 4 % 2 else number * STRIDE % PROFILES


def visits() -> Iterator[Event]:
    """Further orders of users that have a row; they leave its text as it is."""
    return (_order(visited(number), b"") for number in itertools.count())


def quantity(user: int) -> int:
    """Of each order of a user."""
    return 1 + user % 7


def _order(user: int, note: bytes) -> Event:
    return Event(b'{"user":"user-%08d","due":' % user, b',"qty":%d,"note":"%b"}' % (quantity(user), note))


def skewed(kind: str, count: int = 100_000) -> list[int]:
    """Users of `orders`: everyone as often, by Zipf's law, or the same one always."""
    if kind == "one":
        return [1]
    if kind == "uniform":
        return dice().choices(range(USERS), k=count)
    return dice().choices(range(USERS), [1 / (rank + 1) ** ZIPF for rank in range(USERS)], k=count)


def words() -> list[str]:
    """A vocabulary of words of three to nine letters."""
    draw, found = dice(), dict[str, None]()
    while len(found) < VOCABULARY:
        found["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9)))] = None
    return list(found)


def texts() -> Iterator[str]:
    """Lines of words by Zipf's law with exponent 1, cut at `LINE` bytes; without an end."""
    known = words()
    draw = dice(2)
    steps = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(known))))
    while True:
        some, left = [], LINE
        for word in draw.choices(known, cum_weights=steps, k=LINE // 4 + 1):
            if len(word) > left:
                break
            some.append(word)
            left -= len(word) + 1
        yield " ".join(some)


def lines() -> Iterator[Event]:
    """Word count's lines, as JSON with the time at which they are due."""
    for text in texts():
        yield Event(b'{"line":"%b","due":' % text.encode(), b"}")


def ad(number: int) -> str:
    """The name of an ad, as long as the UUIDs of the Yahoo benchmark."""
    return f"ad-{number:033d}"


def campaign(number: int) -> str:
    """The name of the campaign that an ad belongs to."""
    return f"campaign-{number // ADS:027d}"


def campaigns() -> list[tuple[str, str]]:
    """All ads with their campaigns."""
    return [(ad(number), campaign(number)) for number in range(CAMPAIGNS * ADS)]


def campaign_rows() -> list[tuple[bytes, bytes]]:
    """The same as messages of a table's topic: key and value."""
    return [
        (name.encode(), b'{"ad_id":"%b","campaign_id":"%b"}' % (name.encode(), to.encode())) for name, to in campaigns()
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What of an ad event decides about the result."""

    ad: int
    kind: str


def seen() -> Iterator[View]:
    """Ads and kinds of events, drawn evenly, without an end: one in three is a view."""
    draw = dice(3)
    while True:
        yield View(draw.randrange(CAMPAIGNS * ADS), draw.choice(("view", "click", "purchase")))


def ads() -> Iterator[Event]:
    """Events of the Yahoo benchmark: seven fields, about 250 bytes, event time in milliseconds."""
    return (ad_event(number, view) for number, view in enumerate(seen()))


def ad_event(number: int, view: View) -> Event:
    """One of them; users, pages and types of ads come in turn, and decide about nothing."""
    head = b'{"user_id": "user-%031d", "page_id": "page-%031d", "ad_id": "%b", "ad_type": "%b", "event_type": "%b", '
    named = (number % 100, number % 101, ad(view.ad).encode(), AD_TYPES[number % 5], view.kind.encode())
    return Event(head % named + b'"event_time": ', b', "ip_address": "1.2.3.4"}')


def counted(count: int) -> dict[str, int]:
    """How often each word stands in the first lines."""
    return dict(collections.Counter(word for text in itertools.islice(texts(), count) for word in text.split()))


def viewed(times: Sequence[int]) -> dict[tuple[str, int], int]:
    """How many views each campaign has in each window, of events at these milliseconds."""
    found: dict[tuple[str, int], int] = collections.Counter()
    for at, event in zip(times, seen(), strict=False):
        if event.kind == "view":
            found[campaign(event.ad), at - at % WINDOW_MS] += 1
    return dict(found)
