"""Which messages of its partitions a slot processes first when not all can be on time (`policy.overload: mostInTime`).

The batch level of LAT 4.1 for logs. A log is read in its order, and what waits in it is known only by its head, so
there is no set of single records to choose from (`scheduling`). What can be chosen is where to read on:

- *Which partition.* The one whose head is oldest is put off, one at a time, until what remains can be on time. It is
  read when nothing else waits, and comes back once it has caught up. That is right for every program, for the order
  within a partition stays. With n partitions of equal load at a load of `r` times the capacity, floor(n/r) of n are on
  time, where 1/r could be: 5 of 8 instead of 5.9 at 1.36.
- *Where in a partition*, for programs that nobody behind needs the order of. What is late is passed over, and what can
  be on time is read next. That comes up to 1/r, whatever the partitions.

All ages are seconds since a message came into its topic, as shares of the promised bound.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)

# From this age on a message is taken for late: what remains is for its turn of the loop, for what follows it until it
# is sent, and for other programs that come after. Later: messages that were taken as the last ones would be late too.
LATE = 0.8
# What is set aside ends with the first message that is younger than this. Less is passed over with a higher value, but
# then a stretch ends that much sooner, and there are more of them to be remembered: at 1.36 times the capacity there is
# one in 2.3 bounds.
FRESH = 0.2
# From this age on all partitions together are too much, and one is put off. Later, and those that remain would be late
# themselves until their queues have shrunk.
TOO_MUCH = 0.4
# Time until another one is put off, in bounds: queues have to show first that they still grow.
PAUSE = 0.25
# By so much the oldest age has to have grown since: they shrink slowly where what remains is nearly what can be done,
# and who went on putting off until they are short would end with one partition.
GROWN = 0.02


class Passed(NamedTuple):
    """How many messages from the first on are passed over, and whether that goes on with those that come next."""

    messages: int
    on: bool


def pass_over(messages: Sequence[Any], age: Callable[[Any], float], *, on: bool, until: float = FRESH) -> Passed:
    """What of these messages of one partition is set aside; `on`: we are at it already.

    `until`: those that are younger are not. Messages that are left out for good go up to `LATE` alone: then nothing is
    given up that could be on time, and there is nothing to remember.
    """
    if not messages or (not on and age(messages[0]) <= LATE):
        return Passed(0, on=False)
    for number, message in enumerate(messages):
        if age(message) <= until:
            return Passed(number, on=False)
    return Passed(len(messages), on=True)


def put_off(ages: Mapping[Key, float], remaining: int, since: float, least: float) -> Key | None:
    """The partition to be put off now, if any.

    `ages` are those of heads that were looked at lately, by partition; `remaining` is how many are not put off yet, of
    which one has to stay; `since` is when the last one was put off, in bounds, and `least` the lowest that the oldest
    age has been since. While they shrink nothing is put off, unless they are late anyhow.
    """
    if not ages or remaining < 2 or since < PAUSE:
        return None
    oldest = max(ages, key=lambda key: (ages[key], str(key)))
    grows = ages[oldest] > max(TOO_MUCH, least + GROWN)
    return oldest if grows or ages[oldest] > LATE else None


def comes_back(age: float) -> bool:
    """Whether a partition that was put off has caught up, by the age of its head."""
    return age <= FRESH


def ranges_first(waiting: Mapping[Key, int], on_time: Mapping[Key, bool]) -> set[Key]:
    """The partitions that are in the next batch, of those that wait with so many messages.

    Those whose heads can be on time go first; the others when none of those has anything.
    """
    some = {key for key, count in waiting.items() if count > 0}
    first = {key for key in some if on_time.get(key, True)}
    return first or some
