"""What the topic of dead letters says: which letters are open, which are being replayed, and what happened to others.

The fold of its messages in their order, so all who read it agree: a letter belongs to the first replay that names it,
while it is open. A replay that is not settled was interrupted, or is under way; whoever comes next runs it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spillway.runtime import letters
from spillway.runtime.letters import Dismissed, Letter, LetterError, Replay, Settled

UNREADABLE = "?"  # the operator of what is no letter; no operator has this name

# What differs from record to record in an error: quoted values and numbers.
_VALUES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])[-+]?\d[\d_.]*(?:[eE][-+]?\d+)?")


class Noted(NamedTuple):
    """A letter, without its row: a topic may have millions.

    Attributes:
        offset: in the topic of dead letters.
        at: when it was written, in milliseconds since 1970.
        operator, error: what raised, and what it said.
    """

    offset: int
    at: int
    operator: str
    error: str


class Group(NamedTuple):
    """Letters of one operator that have the same error, but for the values in it.

    Attributes:
        operator: what raised.
        error: without its values.
        letters: how many.
        first, last: when, in milliseconds since 1970.
        examples: offsets of some, the newest first.
    """

    operator: str
    error: str
    letters: int
    first: int
    last: int
    examples: tuple[int, ...]


class Ledger:
    """What the topic has said so far.

    Attributes:
        open: letters that nobody has seen to, by offset.
        replays: those that are not settled: by offset, the letters that belong to each.
        ids: of those, the ids by which who began one finds it again.
        replayed, dismissed: how many letters, as far as was read.
        next: the offset of the next message.
    """

    def __init__(self, start: int = 0) -> None:
        self.open: dict[int, Noted] = {}
        self.replays: dict[int, dict[int, Noted]] = {}
        self.ids: dict[str, int] = {}
        self.replayed = self.dismissed = 0
        self.next = start

    def read(self, offset: int, at: int, data: bytes | None) -> None:
        """The next message."""
        self.next = offset + 1
        try:
            entry = letters.decode(data or b"")
        except LetterError as error:
            self.open[offset] = Noted(offset, at, UNREADABLE, str(error))
            return
        match entry:
            case Letter():
                self.open[offset] = Noted(offset, at, entry.operator, entry.error)
            case Replay():
                claimed = (self.open.pop(letter, None) for letter in entry.letters)
                self.replays[offset] = {noted.offset: noted for noted in claimed if noted is not None}
                self.ids[entry.id] = offset
            case Settled():
                claim = self.replays.pop(entry.replay, {})
                back = {letter: claim[letter] for letter in entry.back if letter in claim}
                self.open.update(back)
                self.replayed += len(claim) - len(back)
            case Dismissed():
                self.dismissed += sum(self.open.pop(letter, None) is not None for letter in entry.letters)

    @property
    def first(self) -> int:
        """The offset before which nothing is open: who reads from there on misses nothing."""
        waiting = (*self.open, *(letter for claim in self.replays.values() for letter in claim), *self.replays)
        return min(waiting, default=self.next)

    def selected(self, operator: str = "", since: int = 0) -> list[Noted]:
        """Open letters in their order: of one operator, written since then."""
        return [
            noted for _, noted in sorted(self.open.items()) if noted.at >= since and operator in ("", noted.operator)
        ]


def grouped(noted: Iterable[Noted], examples: int = 3) -> list[Group]:
    """Letters by operator and error, the most frequent first."""
    found: dict[tuple[str, str], list[Noted]] = {}
    for letter in noted:
        found.setdefault((letter.operator, without_values(letter.error)), []).append(letter)
    groups = [
        Group(
            operator,
            error,
            len(those),
            min(letter.at for letter in those),
            max(letter.at for letter in those),
            tuple(letter.offset for letter in those[: -examples - 1 : -1]),
        )
        for (operator, error), those in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.letters, group.operator, group.error))


def without_values(error: str) -> str:
    """An error without what differs from record to record."""
    return _VALUES.sub("…", error)


def chunks(offsets: Iterable[int], most: int = letters.AT_ONCE) -> Iterator[tuple[int, ...]]:
    """As many at once as one message names."""
    found = list(offsets)
    for start in range(0, len(found), most):
        yield tuple(found[start : start + most])
