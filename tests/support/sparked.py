"""A real Spark in a process of its own, as the driver's is: one process can only have one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from spillway.runtime.batch import machine
from spillway.runtime.batch.executors import Local, Site
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.batch.spark import Spark

T = TypeVar("T")

_spark: list[Spark] = []


class Sparked:
    """The process. Its Spark is there once this is made."""

    def __init__(self, settings: Mapping[str, str] | None = None, site: Site | None = None) -> None:
        self._pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        began = time.monotonic()
        self.pid = self._pool.submit(_begin, site or Local("local[2]"), dict(settings or {})).result()
        self.seconds = time.monotonic() - began

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """One batch."""
        return self._pool.submit(_run, order, given).result()

    def timed(self, order: Order, given: Sequence[Range]) -> tuple[list[Result], float]:
        """One batch, and the seconds that the driver waited for it."""
        return self._pool.submit(_timed, order, given).result()

    def ask(self, question: Callable[[Spark], T]) -> T:
        """What a function of a module makes of it."""
        found: T = self._pool.submit(_ask, question).result()
        return found

    @property
    def jvm(self) -> int:
        """Its JVM."""
        return self.ask(_jvm)

    def usage(self) -> Usage:
        """What its processes take."""
        return self.ask(_usage)

    def tree(self) -> list[int]:
        """All processes: the one that has it, the JVM, and the Python workers."""
        return machine.tree(self.pid)

    def kill(self) -> None:
        """End the process that has it, as a crash would."""
        os.kill(self.pid, signal.SIGKILL)
        self._pool.shutdown(wait=False)

    def close(self) -> None:
        """End it in order."""
        with contextlib.suppress(concurrent.futures.BrokenExecutor, RuntimeError):  # it was killed
            self._pool.submit(_end).result()
        self._pool.shutdown()


@contextlib.contextmanager
def running(settings: Mapping[str, str] | None = None, site: Site | None = None) -> Iterator[Sparked]:
    """One that ends with the block; with two threads where nothing else is said."""
    found = Sparked(settings, site)
    try:
        yield found
    finally:
        found.close()


def gone(processes: Sequence[int], seconds: float) -> bool:
    """Whether all of these have ended, or do so within some seconds."""
    until = time.monotonic() + seconds
    while left := [process for process in processes if _lives(process)]:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return not left


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _begin(site: Site, settings: dict[str, str]) -> int:
    logging.disable(logging.CRITICAL)  # what py4j says of a JVM that a test has killed
    # Python workers import what tests give them to do.
    ours = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parent)}
    _spark.append(Spark(site, {**ours, **settings}))
    return os.getpid()


def _run(order: Order, given: Sequence[Range]) -> list[Result]:
    return _spark[0].run(order, given)


def _timed(order: Order, given: Sequence[Range]) -> tuple[list[Result], float]:
    began = time.perf_counter()
    return _spark[0].run(order, given), time.perf_counter() - began


def _ask(question: Callable[[Spark], Any]) -> Any:
    return question(_spark[0])


def _jvm(spark: Spark) -> int:
    return spark.pid


def _usage(spark: Spark) -> Usage:
    return spark.usage


def _end() -> None:
    while _spark:
        _spark.pop().close()


def again(spark: Spark) -> None:
    """Ask it: end it, and start another one in the same process."""
    _spark.remove(spark)
    spark.close()
    _spark.append(Spark(Local("local[2]")))
