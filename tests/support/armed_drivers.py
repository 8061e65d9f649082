"""Drivers that end themselves at a failpoint, as a crash there would; to be run in processes of their own."""

from __future__ import annotations

import dataclasses
import itertools
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from armed_slots import signals
from spillway.model.observation import VERSION, SwitchOrder
from spillway.runtime.batch import hop
from spillway.runtime.batch.isolation import Alone
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.driver.driver import Batches, Files
from spillway.runtime.driver.main import Process
from spillway.runtime.driver.standby import Resizable

# Seconds for which a number of workers is granted; each time partitions move, once loads were uneven for 2.5.
GRANT = 3.5
# The same for a paradigm: time for a move there, and for some batches.
SWITCH = 1.5


def dying(point: str, file: Path) -> None:
    """A driver that is killed when it comes by a point."""
    signals(signal.SIGKILL, point, 1)
    restless(file)


def dying_in_batches(point: str, file: Path) -> None:
    """A driver that is killed when it comes by a point while segments go to batches and back."""
    signals(signal.SIGKILL, point, 1)
    switching(file)


class Inline(Alone):
    """Works on ranges in the driver's own process, which costs nothing to start."""

    executors: int | None = None

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        return hop.some(order, given)

    def resize(self, count: int) -> None:
        """There is nobody else."""


class Careless(Inline):
    """Leaves out the last record of each range."""

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        return super().run(order, [dataclasses.replace(one, stop=max(one.start, one.stop - 1)) for one in given])


def careless(file: Path) -> None:
    """A driver whose batches lose records, for those who say that none is lost."""
    switching(file, Careless)


def switching(file: Path, start: Callable[[], Resizable] = Inline) -> None:
    """A driver that is asked for batches, for records, and so on; ranges are worked on in its own process."""
    process = Process(Files(file), "127.0.0.1", 0, lambda: False, Batches(lambda _, __: start()))
    process._grant(2)  # noqa: SLF001

    def order() -> None:
        ways: tuple[Literal["batch", "record"], ...] = ("batch", "record")
        for to in itertools.cycle(ways):
            process._order(SwitchOrder(VERSION, ("words", "real-words", "copies"), to))  # noqa: SLF001
            time.sleep(SWITCH)

    threading.Thread(target=order, daemon=True).start()
    process.run()


def restless(file: Path) -> None:
    """A driver that is granted two workers, one, two, and so on."""
    process = Process(Files(file), "127.0.0.1", 0, lambda: False)

    def grant() -> None:
        for workers in itertools.cycle([2, 1]):
            process._grant(workers)  # noqa: SLF001 - as a manager does by HTTP
            time.sleep(GRANT)

    threading.Thread(target=grant, daemon=True).start()
    process.run()
