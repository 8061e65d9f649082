"""Shadow calibration: batches of records that are there, of which nothing is sent, to learn what batches cost.

It is done before anybody needs to know, so that the first burst finds programs compiled and the machine warm, and again
now and then, because costs drift. Whether slots have processed the records already does not matter: nothing is kept.

Of an edge those frames are taken that nobody has trimmed yet: what has come within the last seconds, as if none of it
had been processed. Should there be too little, it is looked for again.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

from spillway.controllers.protocol.values import Partition
from spillway.runtime.batch.ranges import Range, Result
from spillway.runtime.batch.spark import LostError
from spillway.runtime.batch.speed import Batch
from spillway.runtime.driver.batching import FRAME, Batching, tables
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.positions import Positions
from spillway.runtime.driver.standby import Runner
from spillway.runtime.programs.program import Program

# Records of each, in turn: rows of frames, where an edge is read. The first compile programs and warm up, so nothing is
# learnt of them; then small ones and large ones alternate, so that a line can be laid through them.
WARMING = 2
SIZES = (1_000, 1_000, 1_000, 5_000, 1_000, 25_000, 5_000, 50_000)
# Of a core, in the long run. What is known costs nothing until it is needed; more would be taken from the job.
SHARE = 0.02
# Seconds. Of what took longer, the next one is not larger: it shares the cores with the job.
LONGEST = 1.0
# Seconds until there may be enough records, or a look at them may go well.
AGAIN = 1.0
LEAST = 100  # records

_log = logging.getLogger(__name__)


class Case(NamedTuple):
    """A segment that could run in batches: its program, the topic that it reads, and how many partitions that has."""

    segment: str
    program: Program
    topic: str
    partitions: int


class Shadows:
    """Runs them, one at a time."""

    def __init__(self, batching: Batching, positions: Positions) -> None:
        self._batching, self._positions = batching, positions
        self._hands = Hands()
        self._runner: Runner | None = None
        self._done: dict[str, int] = {}  # by program, with this runner
        self._due: dict[str, float] = {}
        self._most: dict[str, int] = {}  # records of one that took long enough
        self._busy = False

    def known(self, program: str) -> bool:
        """Whether enough has run to tell what batches cost."""
        return self._done.get(program, 0) >= len(SIZES)

    def step(self, cases: Sequence[Case]) -> None:
        """What is due, of segments that do not run in batches now."""
        self._hands.answers()
        runner, now = self._batching.standby.runner, time.monotonic()
        if runner is not self._runner:
            self._runner, self._done, self._due, self._most = runner, {}, {}, {}
        if runner is None or self._busy or self._batching.busy:
            return
        due = [case for case in cases if now >= self._due.get(case.program.id, 0.0)]
        if due:
            self._busy = True
            case = min(due, key=lambda case: self._due.get(case.program.id, 0.0))
            self._hands.do(
                functools.partial(self._shadow, runner, case, self._size(case)),
                functools.partial(self._ran, case),
                functools.partial(self._failed, case),
            )

    def close(self) -> None:
        """No more of them."""
        self._hands.close()

    def _size(self, case: Case) -> int:
        """Records of the next one."""
        size = SIZES[self._done.get(case.program.id, 0) % len(SIZES)]
        return min(size, self._most.get(case.program.id, size))

    def _shadow(self, runner: Runner, case: Case, size: int) -> tuple[Sequence[Result], float]:
        """The last records that there are, as many of each partition."""
        places = [Partition(case.segment, number) for number in range(case.partitions)]
        bounds = self._positions.bounds([(place, case.topic) for place in places])
        # As long as nobody knows how full frames are, they are taken to be as full as batches make them.
        weight = self._batching.weight(case.program.id) or FRAME
        each = max(1, int(size / weight / case.partitions))
        given = [
            Range(place.number, max(begin, end - each), end, 0) for place, (begin, end) in bounds.items() if end > begin
        ]
        there = int(weight * sum(one.stop - one.start for one in given))
        if there < LEAST:
            return [], 0.0
        began = time.monotonic()
        order = self._batching.order(case.program.id, combined=True)
        reaches = self._positions.reaches(tables(case.program))
        # The same records again, as often as it takes: nothing is kept of what comes of them.
        order = dataclasses.replace(order, shadow=True, tables=reaches, repeat=max(1, size // there))
        results = runner.run(order, given)
        return results, time.monotonic() - began

    def _ran(self, case: Case, found: tuple[Sequence[Result], float]) -> None:
        results, seconds = found
        self._busy = False
        program = case.program.id
        records = self._batching.weigh(program, case.program, results)
        if not records:
            self._due[program] = time.monotonic() + AGAIN
            return
        done = self._done.get(program, 0)
        self._done[program] = done + 1
        _log.info("%d records of %s as a shadow: %.0f ms", records, case.segment, seconds * 1e3)
        if done >= WARMING:
            self._batching.speed(program).learn(Batch(records, seconds))
            if seconds > LONGEST:
                self._most[program] = max(SIZES[0], records)
        rest = seconds / SHARE if done + 1 >= len(SIZES) else 0.0
        self._due[program] = time.monotonic() + rest
        if done + 1 == len(SIZES) and (line := self._batching.speed(program).line) is not None:
            _log.info(
                "batches of %s take %.0f ms and do %.0f records per second",
                case.segment,
                line.fixed * 1e3,
                line.capacity,
            )

    def _failed(self, case: Case, error: Exception) -> None:
        self._busy = False
        if isinstance(error, LostError) and self._runner is not None:
            self._batching.standby.lost(self._runner, str(error))
        self._due[case.program.id] = time.monotonic() + 10 * AGAIN
        _log.warning("batches of %s could not be tried: %s", case.segment, error)
