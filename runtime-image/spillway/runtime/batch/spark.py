"""A warm Spark, and one job for each intent, whose ranges are divided among as many tasks as can run at once.

    spark = Spark(Local("local[2]"))     blocks for some seconds
    spark.run(order, ranges)             blocks; any thread
    spark.close()

Where its tasks run is behind a port (`executors`): in threads of its own, or in pods.

It is Spark's core alone, without SQL: a job is a function that runs in Python workers, which stay.
That took 50 ms (two ranges without work, on two busy cores) where the same through `DataFrame.mapInArrow` took 150,
because nothing is planned, and it starts with a smaller JVM.

Spark looks after tasks that die, which `worker` takes to find out why. What is left is told as one of two errors: the
batch came to nothing (`BatchError`), or all of Spark did (`LostError`), and the next batch needs another one.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from spillway.model.errors import RetryError
from spillway.runtime.batch import jvm, worker
from spillway.runtime.batch.executors import Site
from spillway.runtime.batch.jvm import Jvm, NoSparkError, Usage
from spillway.runtime.batch.ranges import Order, Range, Result

if TYPE_CHECKING:
    from pyspark import RDD

T = TypeVar("T")

SETTINGS: Mapping[str, str] = {
    "spark.app.name": "spillway",
    "spark.log.level": "ERROR",
    # Nobody looks at it; what it would show is in the driver's own observation. What is kept for it is kept anyhow.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    # Through loopback TCP each batch waits for 40 ms: an acknowledgement that is delayed.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "spillway.runtime.batch.daemon",
    "spark.task.maxFailures": str(worker.TIMES),
    "spark.driver.memory": f"{jvm.HEAP}m",
    # It only hands out tasks: one thread that collects garbage, and the quick compiler, which saves some seconds of
    # processor time at the start, and a hundred MB. Out of memory it ends, rather than to go on by halves.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError",
}
# Seconds without a job after which one without work is run. Spark ends Python workers that had nothing to do for a
# minute, and with them all that is warm.
AWAKE = 20.0
# Seconds between two looks whether executors are there, and seconds without any after which that is the end of this
# Spark: partitions wait for it. One that is lost is there again after 20 to 35 s on a busy node.
LOOK, ALONE = 5.0, 60.0

_log = logging.getLogger(__name__)
# It tells of each connection, and of a JVM that is gone with a page of traces; what matters of that is an error here.
logging.getLogger("py4j").setLevel(logging.CRITICAL)


class BatchError(RetryError):
    """A batch came to nothing; its ranges are worked on again."""


class LostError(BatchError):
    """Spark is gone; another one has to be started."""


class Spark:
    """One that stays. A process can have one at a time."""

    def __init__(self, site: Site, settings: Mapping[str, str] | None = None) -> None:
        """`site` is where tasks run; further settings win over ours.

        Raises NoSparkError, which says what is missing.
        """
        jvm.environment()
        from pyspark import SparkConf, SparkContext

        if SparkContext._active_spark_context is not None or SparkContext._gateway is not None:  # noqa: SLF001
            message = "this process has a Spark already, and there can only be one"
            raise NoSparkError(message)
        given = {**SETTINGS, **site.begin(), **(settings or {})}
        self._jvm = Jvm(given, site.workers)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._gone = ""  # why this is the end, though its JVM runs
        self._numbers: dict[int, RDD[int]] = {}
        self._warm: set[tuple[str, str]] = set()
        self._last = time.monotonic()
        try:
            conf = SparkConf(loadDefaults=False).setAll(list(given.items()))
            self._context = SparkContext(conf=conf, gateway=self._jvm.gateway)
            self._executors = site.joined(self._context, lambda: self._jvm.last)
            self._known = self._executors.there
            # Python workers start with the first task: some seconds, which the first batch need not wait for.
            self._job(worker.awake, None, "the first task")
        except Exception as error:
            self._end()
            if isinstance(error, NoSparkError):
                raise
            message = f"Spark could not be started at {given['spark.master']}: {_said(error)}"
            raise NoSparkError(message) from error
        threading.Thread(target=self._stay_awake, name="spark's alarm clock", daemon=True).start()
        if self._known is not None:
            threading.Thread(target=self._watch, name="spark's watch", daemon=True).start()

    @property
    def pid(self) -> int:
        """Of its JVM, from which all of its processes on this machine come."""
        return self._jvm.pid

    @property
    def usage(self) -> Usage:
        """What its processes on this machine take."""
        return self._jvm.usage

    @property
    def parallelism(self) -> int:
        """Tasks that can run at once."""
        return self._asked(lambda: self._executors.tasks)

    @property
    def executors(self) -> int | None:
        """How many there are; None where tasks run in its own process."""
        there = self._asked(lambda: self._executors.there)
        return None if there is None else len(there)

    def resize(self, count: int) -> None:
        """Have so many executors, as soon as they can be had."""
        self._asked(lambda: self._executors.resize(count))

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """Work on all ranges, of different partitions; results in the order of those.

        Raises BatchError if one of them could not be worked on, however often it was tried, and LostError if Spark is
        gone. The first run of a program takes some tenths of a second more, because all workers get ready for it.
        """
        if not given:
            return []
        self.warm(order)
        what = f"a batch of {order.program.name!r}"
        shares = shared(given, self.parallelism)
        found = self._job(functools.partial(worker.work, worker.packed(order, shares)), len(shares), what)
        problems = [one.problem for one in found if isinstance(one, worker.Failed)]
        if problems:
            message = f"{what} came to nothing: {problems[0]}"
            raise BatchError(message)
        return sorted((one for one in found if isinstance(one, Result)), key=lambda result: result.number)

    def warm(self, order: Order) -> None:
        """Have all workers compile a program, and connect to Kafka, unless they have."""
        there = self._asked(lambda: self._executors.there)
        if there is not None and self._known is not None and there - self._known:
            self._warm.clear()
        self._known = there
        known = (order.names.prefix, order.program.id)
        if known in self._warm:
            return
        what = f"getting ready for {order.program.name!r}"
        problems = self._job(functools.partial(worker.warm, worker.packed(order)), None, what)
        if problems:
            message = f"{what} came to nothing: {problems[0]}"
            raise BatchError(message)
        self._warm.add(known)

    def close(self) -> None:
        """End it, with all of its processes. Whoever waits for a batch gets a LostError."""
        if not self._closed.is_set():
            self._closed.set()
            self._end()

    def _job(self, work: Callable[[Iterable[int]], Iterable[T]], tasks: int | None, what: str) -> list[T]:
        """Run a function once for each number below `tasks`, or once wherever a task can run."""
        if self._closed.is_set():
            message = f"{what} came to nothing: Spark was ended"
            raise LostError(message)
        self._last = time.monotonic()
        try:
            found: list[T] = self._context.runJob(self._upto(tasks or self.parallelism), work)
        except Exception as error:
            if ended := self._ended:
                message = f"{what} came to nothing: {ended}"
                raise LostError(message) from None
            message = f"{what} came to nothing: {_said(error)}"
            raise BatchError(message) from None
        self._last = time.monotonic()
        return found

    def _upto(self, count: int) -> RDD[int]:
        """Numbers, each in a task of its own."""
        with self._lock:
            if count not in self._numbers:
                self._numbers[count] = self._context.parallelize(range(count), count)
            return self._numbers[count]

    @property
    def _ended(self) -> str:
        """Why there will be no more answers; empty as long as there may be."""
        return self._gone or ("Spark was ended" if self._closed.is_set() else self._jvm.ended)

    def _asked(self, what: Callable[[], T]) -> T:
        try:
            return what()
        except Exception:  # whatever py4j makes of a JVM that is gone
            message = f"Spark does not answer: {self._ended or 'its Java process is busy'}"
            raise LostError(message) from None

    def _stay_awake(self) -> None:
        while not self._closed.wait(AWAKE):
            if time.monotonic() - self._last >= AWAKE:
                with contextlib.suppress(BatchError):  # the next batch says so
                    self._job(worker.awake, None, "staying awake")  # in each place, for each executor has its own

    def _watch(self) -> None:
        """End it where all that could work is lost: whoever waits for it gets a LostError, and does without."""
        seen = time.monotonic()
        while not self._closed.wait(LOOK):
            with contextlib.suppress(LostError):  # the next batch says so
                if self.executors:
                    seen = time.monotonic()
                elif time.monotonic() - seen >= ALONE:
                    self._gone = f"all executors are gone, and none came back within {ALONE:.0f} s"
                    self.close()

    def _end(self) -> None:
        from pyspark import SparkContext

        context = getattr(self, "_context", None)
        if context is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # Where the JVM is gone, the first call raises, and the second one does the rest.
                for _ in range(2):
                    with contextlib.suppress(Exception):
                        context.stop()
        self._jvm.close()
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - else the next one would ask this JVM


def shared(given: Sequence[Range], tasks: int) -> list[tuple[Range, ...]]:
    """The ranges, shared out to tasks: a task costs some milliseconds, so there are no more than can run at once.

    The largest first, each to whoever has the least.
    """
    shares: list[list[Range]] = [[] for _ in range(min(tasks, len(given)))]
    sizes = [0] * len(shares)
    for one in sorted(given, key=lambda one: (one.start - one.stop, one.number)):
        least = sizes.index(min(sizes))
        shares[least].append(one)
        sizes[least] += one.stop - one.start + 1
    return [tuple(share) for share in shares]


def _said(error: Exception) -> str:
    """The line of an error that a person wants to read."""
    try:
        text = str(error)
    except Exception:  # what it says is in a JVM that may be gone
        text = type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line and not line.startswith(("at ", "Caused by: org.apache"))]
    ended = [line for line in lines if "exited unexpectedly" in line]
    return (named or ended or lines or [type(error).__name__])[-1][:500]
