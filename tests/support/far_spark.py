"""What tests ask a Spark whose executors are elsewhere. Python workers import this module too."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spillway.runtime.batch.spark import Spark


class Seen(NamedTuple):
    """By a task: its process, the one that it comes from, and the memory that it may have."""

    process: int
    daemon: int
    memory: int


def _look(numbers: Iterable[int]) -> Iterator[Seen]:
    from spillway.runtime.batch import limits

    limits.bound_memory()
    for _ in numbers:
        time.sleep(0.3)  # so that every place has something to do
        yield Seen(os.getpid(), os.getppid(), resource.getrlimit(resource.RLIMIT_DATA)[0])


def places(spark: Spark) -> list[Seen]:
    """A look from every place at once."""
    return spark._job(_look, None, "a look around")  # noqa: SLF001 - batches give no more than results


def executors(spark: Spark) -> int | None:
    """How many there are."""
    return spark.executors


def tasks(spark: Spark) -> int:
    """How many can run at once."""
    return spark.parallelism


def one(spark: Spark) -> None:
    """Have one executor."""
    spark.resize(1)


def three(spark: Spark) -> None:
    """Have three of them."""
    spark.resize(3)


def said(spark: Spark) -> str:
    """The last that its JVM has printed."""
    return spark._jvm.last  # noqa: SLF001
