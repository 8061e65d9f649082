"""Sees to it that each job is looked at: when something has happened, and when it said that it wants to be.

Of one job there is one pass at a time, and what happens meanwhile leads to one more. One that fails is tried again
later and later.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import random
import time
from collections.abc import Awaitable, Callable

from spillway.manager.errors import TooManyError
from spillway.manager.metrics import Metrics
from spillway.manager.world import Job
from spillway.model.errors import SpillwayError

Pass = Callable[[Job], Awaitable[datetime.timedelta | None]]

# Passes at once. Each waits for answers most of the time, and the API server has a bound of its own (`cluster`).
AT_ONCE = 32
# Seconds after a failure, doubled each time up to the longest. An API server that restarts is back within 30 s.
FIRST, LONGEST = 0.5, 60.0
# Seconds between two passes of one job at least: what comes in a burst is one thing.
APART = 0.1
# By so much passes are spread, so that a thousand jobs that began together don't come together for ever.
SPREAD = 0.2

_log = logging.getLogger(__name__)


class Keeper:
    """Keeps jobs, each in a task of its own.

    Attributes:
        finished: by the monotonic clock, when a pass of any job ended last.
    """

    def __init__(self, reconcile: Pass, metrics: Metrics) -> None:
        self._reconcile, self._metrics = reconcile, metrics
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._wakes: dict[Job, asyncio.Event] = {}
        self._tasks: dict[Job, asyncio.Task[None]] = {}
        self.finished = time.monotonic()

    def wake(self, job: Job) -> None:
        """Something has happened to this job."""
        if job not in self._wakes:
            self._wakes[job] = asyncio.Event()
            self._tasks[job] = asyncio.create_task(self._keep(job), name=f"job {'/'.join(job)}")
        self._wakes[job].set()

    @property
    def count(self) -> int:
        """How many jobs are kept."""
        return len(self._tasks)

    async def stop(self) -> None:
        """Let go of all; a pass that is under way is cut off, as a crash would."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, job: Job) -> None:
        failures = 0
        try:
            while True:
                wake = self._wakes[job]
                wake.clear()  # before anything is read: what happens from now on is for the next pass
                again, failures = await self._pass(job, failures)
                if again is None:
                    if wake.is_set():
                        continue
                    break
                await asyncio.sleep(APART if failures == 0 else again)
                if failures == 0:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(wake.wait(), again * (1 + SPREAD * random.random()))  # noqa: S311
        finally:
            self._wakes.pop(job, None)
            self._tasks.pop(job, None)

    async def _pass(self, job: Job, failures: int) -> tuple[float | None, int]:
        """Seconds until the next, and failures in a row."""
        began = time.monotonic()
        try:
            async with self._turns:
                began = time.monotonic()
                again = await self._reconcile(job)
        except SpillwayError as error:
            _log.warning("job %s/%s: %s", *job, error)
            wait = _backoff(failures)
            if isinstance(error, TooManyError):
                wait = max(wait, error.seconds)
            return self._failed(type(error).__name__, wait, failures)
        except Exception:
            # A mistake of ours with this job; the others have nothing to do with it.
            _log.exception("job %s/%s: a pass failed", *job)
            return self._failed("Unforeseen", _backoff(failures), failures)
        self.finished = time.monotonic()
        self._metrics.passed("ok", self.finished - began)
        return (None if again is None else again.total_seconds()), 0

    def _failed(self, kind: str, wait: float, failures: int) -> tuple[float, int]:
        self.finished = time.monotonic()
        self._metrics.passed("error", None)
        self._metrics.failed(kind)
        return wait, failures + 1


def _backoff(failures: int) -> float:
    return float(min(LONGEST, FIRST * 2.0 ** min(failures, 20)) * (1 + SPREAD * random.random()))  # noqa: S311
