"""The command `spillway-worker`, with slots that die at failpoints as they are told: `python switched_worker.py …`."""

from __future__ import annotations

import functools
import os
import sys
from multiprocessing.connection import Connection

import armed_by_file
from spillway.runtime.slots.settings import Settings
from spillway.runtime.worker import main, restarts

FORGETFUL = "SPILLWAY_TEST_FORGETFUL"  # in the environment: readers of edges apply what they have once more


def slot(settings: Settings, pipe: Connection) -> None:
    """One that obeys."""
    from spillway.controllers.protocol import reader, rules
    from spillway.runtime.slots import process

    if FORGETFUL in os.environ:
        reader.read = functools.partial(reader.read, keep=rules.Rules(position=False))
    armed_by_file.obey("slot")
    process.run(settings, pipe)


if __name__ == "__main__":
    restarts.STABLE = 0.0  # each death is the first: a sweep has one every few seconds
    sys.exit(main.main(work=slot))
