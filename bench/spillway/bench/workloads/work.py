"""The shape of a workload: a job, the messages that flow through it, and what has to come out.

A message has a number, and its number and the time at which it is due say what it holds: nobody has to remember what
was sent, and what is right is computed from the numbers alone, by whoever asks. A result is a *key* and how often it
has come, so the k-th message of a key is told of by the first result that says k or more, whatever system it is of.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spillway.bench.record import events
from spillway.bench.record.jobs import Case

# Messages that are drawn ahead; then they come again, with other times and numbers. More of them cost memory and a
# second of rendering, fewer would let a cache learn them.
CYCLE = 5_000
MILLI = 1e-6  # added before times are cut off to milliseconds: 0.003 * 1000 is 2.9999999999999996

Key = Hashable
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Keys(enum.StrEnum):
    """How often each key comes."""

    USUAL = "usual"  # as the workload is known
    ZIPF = "zipf"  # Zipf's law with exponent 1.2
    ONE = "one"  # a single one


class Told(NamedTuple):
    """What a result says.

    Attributes:
        key: of whom.
        n: how often it has come; 0 where results are no counts, but one for each message.
        amount: what else has to be right once all of its messages have come; NaN where there is nothing.
    """

    key: Key
    n: int
    amount: float = math.nan


class Messages(Protocol):
    """What can be sent."""

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """Which stream a message is of, and its bytes; due at this time in seconds since 1970."""


@dataclasses.dataclass(frozen=True)
class Work(abc.ABC):
    """A workload.

    Attributes:
        name: for people who ask for it, and for the adapters of other systems.
        title: in figures and pictures.
        case: our job.
        head: its segment that may run in either paradigm.
        streams: what it reads; each has a topic of its own.
        python: whether a function of the user is called for each record.
        counts: whether a result says how often its key has come; else it is one of the times that it comes.
        keyed: whether keys may be drawn otherwise than as it is known.
        keys: how they are drawn.
    """

    name: str
    title: str
    case: Case
    head: str
    streams: Sequence[str]
    python: bool = False
    counts: bool = True
    keyed: bool = True
    keys: Keys = Keys.USUAL

    @abc.abstractmethod
    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """Which stream a message is of, and its bytes; due at this time in seconds since 1970."""

    @abc.abstractmethod
    def read(self, value: bytes) -> Told:
        """What a result says."""

    @abc.abstractmethod
    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By key, the numbers of the messages that count for it, ascending, of messages with these times (seconds).

        One that counts twice is there twice.
        """

    def closes(self, key: Key) -> float:
        """When the window of a key ends, in milliseconds since 1970; NaN where there is none, or nobody asks."""
        return math.nan

    def amount(self, numbers: Numbers, times: Floats) -> float:
        """What a result has to say besides, after these messages of its key; NaN where that is nothing."""
        return math.nan


def millis(times: Floats) -> Numbers:
    """Whole milliseconds since 1970, as messages have them."""
    found: Numbers = np.floor(times * 1000 + MILLI).astype(np.int64)
    return found


def milli(due: float) -> int:
    """The same of one."""
    return int(due * 1000 + MILLI)


class Windows(NamedTuple):
    """Windows of so many milliseconds, one every so many."""

    size: int
    slide: int

    def starts(self, at: Numbers) -> list[Numbers]:
        """Of all windows that each time is in; `size` is a multiple of `slide`."""
        last = at - at % self.slide
        return [last - back * self.slide for back in range(self.size // self.slide)]


def grouped(
    numbers: Numbers,
    groups: Numbers,
    name: Callable[[int], Key],
    at: Numbers | None = None,
    windows: Windows | None = None,
) -> dict[Key, Numbers]:
    """Messages by their group, and, with times in milliseconds, by window; `name` says what a group is called.

    With windows a key is (name, start of the window).
    """
    starts = [np.zeros_like(numbers)] if at is None or windows is None else windows.starts(at)
    all_numbers = np.concatenate([numbers] * len(starts))
    all_groups, all_starts = np.concatenate([groups] * len(starts)), np.concatenate(starts)
    order = np.lexsort((all_numbers, all_starts, all_groups))
    all_numbers, all_groups, all_starts = all_numbers[order], all_groups[order], all_starts[order]
    if not len(all_numbers):
        return {}
    edges = np.flatnonzero((np.diff(all_groups) != 0) | (np.diff(all_starts) != 0)) + 1
    firsts = np.concatenate([[0], edges])
    found: dict[Key, Numbers] = {}
    for first, some in zip(firsts.tolist(), np.split(all_numbers, edges), strict=True):
        named = name(int(all_groups[first]))
        found[named if windows is None else (named, int(all_starts[first]))] = some
    return found


def repeated(places: Numbers, values: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Numbers of messages, and a value for each, of so many messages: places of a cycle come round again and again."""
    rounds = np.arange(-(-count // CYCLE), dtype=np.int64) * CYCLE
    numbers = (rounds[:, None] + places[None, :]).ravel()
    upto = int(np.searchsorted(numbers, count))
    return numbers[:upto], np.tile(values, len(rounds))[:upto]


@functools.cache
def drawn(keys: Keys, count: int, seed: int) -> Sequence[int]:
    """For each message of a cycle one of so many keys; usual is all alike."""
    if keys is Keys.ONE:
        return [0] * CYCLE
    dice = events.dice(seed)
    if keys is Keys.ZIPF:
        steps = list(itertools.accumulate(1 / (rank + 1) ** events.ZIPF for rank in range(count)))
        return dice.choices(range(count), cum_weights=steps, k=CYCLE)
    return dice.choices(range(count), k=CYCLE)
