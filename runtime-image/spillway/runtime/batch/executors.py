"""Where tasks of Spark run: in its own process (`Local`), or on executors, which are pods (`pods`).

What a batch is does not depend on it. What does is behind two small ports: `Site` before there is a Spark, and
`Executors` as long as there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from spillway.runtime.batch import jvm, limits, machine, worker

if TYPE_CHECKING:
    from pyspark import SparkContext

# Of all memory, what Python workers may have together. The rest is for the JVM, the driver, and whoever else is there.
SHARE = 0.5


class Executors(Protocol):
    """Those of a Spark that runs. Whatever py4j raises of a JVM that is gone comes through."""

    @property
    def there(self) -> frozenset[str] | None:
        """Those that tasks can be given to; None where tasks run in Spark's own process."""

    @property
    def tasks(self) -> int:
        """Tasks that can run at once; at least 1."""

    def resize(self, count: int) -> None:
        """Have so many of them; returns before they are there."""


class Site(Protocol):
    """Where a Spark is to run its tasks. Each serves one Spark after the other."""

    @property
    def workers(self) -> int:
        """Python workers on this machine, which take of its memory."""

    def begin(self) -> Mapping[str, str]:
        """Take away what an earlier one has left, and give the settings for a new one; raises NoSparkError."""

    def joined(self, context: SparkContext, said: Callable[[], str]) -> Executors:
        """Blocks until tasks can run; raises NoSparkError. `said` gives the last that Spark has printed."""


class Local:
    """In threads of Spark's JVM, which start Python workers on this machine."""

    def __init__(self, master: str) -> None:
        """`master` as Spark has it, such as `local[2]`."""
        self._master = master
        self.workers = jvm.cores(master)

    def begin(self) -> Mapping[str, str]:
        """Everything stays on this machine, and within half of its memory."""
        each = int(machine.total() * SHARE / max(1, self.workers))
        return {
            "spark.master": retrying(self._master),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            f"spark.executorEnv.{limits.MEMORY}": str(each),
        }

    def joined(self, context: SparkContext, said: Callable[[], str]) -> Executors:
        """There is nobody to wait for."""
        return _Threads(context)


class _Threads:
    """As many as the master says."""

    there = None

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    @property
    def tasks(self) -> int:
        return max(1, int(self._context.defaultParallelism))

    def resize(self, count: int) -> None:
        """How many there are was said when it was started."""


def retrying(master: str) -> str:
    """Locally, Spark makes another task of one that failed only if the master says so, whatever the settings say."""
    if master == "local":
        return f"local[1,{worker.TIMES}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{worker.TIMES}]"
    return master
