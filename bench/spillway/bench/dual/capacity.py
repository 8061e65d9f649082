"""How much a system does on an open loop, found by doubling the load until it can't follow.

A drained topic says too much: there nobody sends, and on a small machine whoever sends takes cores too. So the load is
doubled, step by step, up to one that is too much, three times: something may just have been compiled, or planned anew.
And the first steps don't count at all: of a broker that has just started, and its first system, 4000 records a second
were too much twice that did 9000 half a minute later. The most that got done in any step is what can be done: records
per second, counted from outside, while as many come as make a queue.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from spillway.bench import engines
from spillway.bench.dual import courses, judging, loads
from spillway.bench.dual.feeding import Feeder
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import Maker
from spillway.bench.workloads.work import Floats

FIRST = 2_000.0  # records per second of the first step
STEP, SKIPPED = 3.0, 1.0  # seconds of a step, and of its beginning that don't count
WARM = 4  # steps at the beginning, with the first load, that don't count
TRIES = 3  # times that a load has to be too much
BEHIND = 0.9  # of what came: whoever does less can't follow
MOST = 14  # steps
BEFORE = 0.5  # seconds until the first message of a step is due


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """What came in one step, and what was done; records per second."""

    offered: float
    done: float

    @property
    def is_too_much(self) -> bool:
        """Whether it could not be followed."""
        return self.done < BEHIND * self.offered


def following(steps: list[Step]) -> float | None:
    """The load of the next step; None if the last one was too much so many times, or there were enough."""
    if not steps:
        return FIRST
    last = steps[-1].offered
    if len(steps) >= MOST or (steps[-1].is_too_much and [step.offered for step in steps].count(last) >= TRIES):
        return None
    return last if steps[-1].is_too_much else last * 2


def found(steps: list[Step]) -> float:
    """The most that was done in any step."""
    return max((step.done for step in steps), default=float("nan"))


def done_between(done: Floats, begin: float, end: float) -> float:
    """So many a second, of things that were done at these times (ascending)."""
    return float(np.searchsorted(done, end) - np.searchsorted(done, begin)) / (end - begin)


def measured(maker: Maker, bootstrap: str, say: Callable[[str], None]) -> float:
    """Of a system that is started for it."""
    work, steps, warm = maker.work, list[Step](), WARM
    with maker.started(bootstrap) as subject, Feeder() as feeder:
        sent = courses.warmed(subject, bootstrap, work, feeder)
        engines.until_prepared(subject)
        tail, dues = Tail(bootstrap, subject.output, work), sent.dues()
        while (rate := following(steps)) is not None:
            load = loads.at_rate(time.time() + BEFORE, rate, STEP, len(dues))
            courses.watched(subject, feeder.pace(bootstrap, subject.sources, work, load))
            dues = np.concatenate([dues, load.dues()])
            tail.read()
            expected = work.expected(dues)
            each = sum(map(len, expected.values())) / len(dues)  # what counts, for each message
            told = judging.judged(tail.results(), expected, dues)
            if warm:
                warm -= 1
                continue
            rate_done = done_between(told.done(), load.start + SKIPPED, load.end) / each
            steps.append(Step(rate, rate_done))
            say(f"{work.name}, {maker.name}: {rate:,.0f} records/s come, {rate_done:,.0f} are done")
        tail.close()
    return found(steps)
