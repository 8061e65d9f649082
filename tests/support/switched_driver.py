"""The command `spillway-driver`, dying at failpoints as it is told: `python switched_driver.py ARGUMENT…`."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence

import armed_by_file
import kept_spark
from spillway.runtime.batch.ranges import Order, Range, Result, Times
from spillway.runtime.driver import main
from spillway.runtime.driver.standby import Resizable

HASTY = "SPILLWAY_TEST_HASTY"  # in the environment: its batches are said to be done before they are begun
LATE = 0.3  # seconds by which they are late


class Hasty(kept_spark.Kept):
    """Says that a batch has run, and runs it then: for those who say that none is committed before."""

    _last: threading.Thread | None = None

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        if order.shadow:
            return super().run(order, given)
        if self._last is not None:
            self._last.join()
        self._last = threading.Thread(target=self._late, args=(order, given), daemon=True)
        self._last.start()
        return [Result(one.number, (), one.stop - one.start, 0, 0, 0, Times(0, 0, 0, 0)) for one in given]

    def _late(self, order: Order, given: Sequence[Range]) -> None:
        time.sleep(LATE)
        super().run(order, given)


def _kept(master: str) -> Resizable:
    made = Hasty if HASTY in os.environ else kept_spark.Kept
    return made(os.environ[kept_spark.ADDRESS])


if __name__ == "__main__":
    armed_by_file.obey("driver")
    if kept_spark.ADDRESS in os.environ:
        main._spark = _kept  # noqa: SLF001
    sys.exit(main.main())
