"""A warm Spark that outlives drivers: a process of its own, which drivers of crash tests reach through a socket.

So a driver that is killed costs no start of Spark. It is harder on the protocol than a Spark that ends with its driver:
what the dead one had asked for goes on, as tasks of executors on other machines might, and is sent beside what its heir
sends. If the JVM is killed, the next one who asks gets another one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any

from spillway.local.process import Process
from spillway.runtime.batch.executors import Local
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.batch.spark import LostError, Spark

ADDRESS = "SPILLWAY_TEST_SPARK"  # in the environment: where it is
# Nobody else gets at the socket: it is in a folder of the test's own.
_KEY = b"spark"
_WITHIN = 120.0  # seconds for a start on a busy machine


class Keeper:
    """In the process: it, and another one once it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spark: Spark | None = Spark(Local("local[2]"))

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """One batch."""
        spark = self._spark
        if spark is None:
            message = "there is none"
            raise LostError(message)
        return spark.run(order, given)

    def usage(self) -> Usage:
        """What it takes."""
        return self._spark.usage if self._spark is not None else Usage(0, 0, 0.0)

    def begin(self) -> None:
        """Have one that answers."""
        with self._lock:
            with contextlib.suppress(LostError):
                if self._spark is not None and self._spark.parallelism:
                    return
            before, self._spark = self._spark, None
            if before is not None:
                before.close()
            self._spark = Spark(Local("local[2]"))

    def jvm(self) -> int:
        """Its JVM."""
        return self._spark.pid if self._spark is not None else 0


class _Manager(BaseManager):
    """How it is reached."""


class Kept:
    """What a driver has of it."""

    executors: int | None = None

    def __init__(self, address: str) -> None:
        self._keeper = _reached(address)
        self._keeper.begin()

    @property
    def usage(self) -> Usage:
        """What it takes."""
        found: Usage = self._keeper.usage()
        return found

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """One batch."""
        found: list[Result] = self._keeper.run(order, given)
        return found

    def resize(self, count: int) -> None:
        """It is as it is."""

    def close(self) -> None:
        """It stays."""


def _reached(address: str) -> Any:
    _Manager.register("keeper", exposed=("run", "usage", "begin", "jvm"))
    manager = _Manager(address, _KEY)
    manager.connect()
    return manager.keeper()  # type: ignore[attr-defined]


class Running:
    """The process, for tests."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "spark")
        self._process = Process([sys.executable, __file__, self.address], folder / "spark.log", folder=folder)

    def wait(self) -> None:
        """Until it can be reached."""
        deadline = time.monotonic() + _WITHIN
        while not Path(self.address).exists():
            assert time.monotonic() < deadline, self._process.log_tail()
            assert self._process.running(), self._process.log_tail()
            time.sleep(0.05)

    @property
    def jvm(self) -> int:
        """Its JVM."""
        return int(_reached(self.address).jvm())

    def close(self) -> None:
        """End it."""
        self._process.kill()


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Running]:
    """One that ends with the block."""
    found = Running(folder)
    try:
        found.wait()
        yield found
    finally:
        found.close()


def main() -> None:
    """The process, until it is ended."""
    keeper = Keeper()
    _Manager.register("keeper", callable=lambda: keeper, exposed=("run", "usage", "begin", "jvm"))
    _Manager(sys.argv[1], _KEY).get_server().serve_forever()


if __name__ == "__main__":
    main()
