"""What a task of Spark runs: ranges, with bounds on what their records can do, and again with care if that failed.

Of a task that failed Spark makes another one, up to `TIMES` in all, with the very same ranges. Whatever went wrong, the
second one works in a process of its own, in which a record that ends processes is found. What it can't do either is
told as a value, in words.
"""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from spillway.model.errors import SpillwayError
from spillway.runtime.batch import hop, isolation
from spillway.runtime.batch.limits import Limits
from spillway.runtime.batch.ranges import Order, Range, Result

# Twice would do for a record; a machine that goes away may take two tasks with it.
TIMES = 4
# Seconds for which each task that warms holds its process, so that all of them get to run at once, each in another.
HOLD = 0.3


class Failed(NamedTuple):
    """A range that came to nothing, and why."""

    number: int
    problem: str


Share = tuple[Range, ...]

_limits: list[Limits] = []


def work(text: bytes, numbers: Iterable[int]) -> Iterator[Result | Failed]:
    """Work on those of the packed shares that have these numbers."""
    from pyspark import TaskContext

    order, shares = unpacked(text)
    context = TaskContext.get()
    careful = context is not None and context.attemptNumber() > 0
    for number in numbers:
        if careful:
            yield from (carefully(order, given) for given in shares[number])
        else:
            yield from plainly(order, shares[number])


def plainly(order: Order, given: Share) -> list[Result]:
    """In this process, together; what goes wrong is raised, and may end it."""
    if _limits and _limits[0].limit != order.limit:
        _limits.pop().stop()
    if not _limits:
        _limits.append(Limits(order.limit))
        gc.disable()  # as in slots: Spark has garbage looked for after each task
    with _limits[0].at_work():
        return hop.some(order, given)


def carefully(order: Order, given: Range) -> Result | Failed:
    """In a process of its own, each alone."""
    try:
        return isolation.one(order, given)
    except SpillwayError as error:
        return Failed(given.number, str(error))


def warm(text: bytes, numbers: Iterable[int]) -> Iterator[str]:
    """Get ready for an order; gives what is in the way, or nothing."""
    began = time.monotonic()
    order, _ = unpacked(text)
    for _ in numbers:
        try:
            hop.warm(order)
        except SpillwayError as error:
            yield str(error)
        else:
            # After each task Spark's worker looks for garbage, at everything that there is: 20 ms of a processor.
            gc.collect()
            gc.freeze()
    time.sleep(max(0.0, began + HOLD - time.monotonic()))


def awake(numbers: Iterable[int]) -> Iterator[int]:
    """Do nothing: a Python worker that has had nothing to do for a minute is ended by Spark."""
    yield from numbers


def packed(order: Order, shares: Sequence[Share] = ()) -> bytes:
    """What tasks are handed: all shares of a batch; each takes its own."""
    return pickle.dumps((order, tuple(shares)), pickle.HIGHEST_PROTOCOL)


def unpacked(text: bytes) -> tuple[Order, tuple[Share, ...]]:
    """The same again."""
    found: tuple[Order, tuple[Share, ...]] = pickle.loads(text)  # noqa: S301 - from our own driver
    return found
