"""A driver to be asked why: that of a recorded job with a burst, whose segment of a table never goes to batches."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import recorded_job
from bursting import NOON
from fake_driver import FakeDriver, answering
from recorded_job import HEAD, Moment
from spillway.model.observation import VERSION, SwitchAnswer, SwitchOrder
from spillway.runtime.page import events

JOB = "default/ysb"
CALM, BURST, AFTER = 60, 120, 215  # seconds into the recording
NEVER = "'counts' can't run in batches: it keeps a table"
SWITCHES = {"Burst": "batch", "QueueBeyondPoint": "batch", "BurstPassed": "record"}


@functools.cache
def moments() -> list[Moment]:
    return recorded_job.moments(AFTER + 1)


def answer(order: SwitchOrder) -> SwitchAnswer:
    if "counts" in order.operators:
        return SwitchAnswer(VERSION, False, (), order.to, NEVER)
    verb, where = "would move" if order.dry_run else "move", "batches" if order.to == "batch" else "record by record"
    return SwitchAnswer(VERSION, not order.dry_run, HEAD, order.to, f"views, fields, joined {verb} to {where}")


def news(moment: Moment) -> list[dict[str, Any]]:
    """What was decided until then, as a driver records it, and a plan at the beginning."""
    first = {
        "at": NOON.timestamp() + 2.2,
        "part": "provisioning",
        "reason": "LoadRose",
        "sentence": "9041/s to be done from `events`, planned were 1/s; 2 slots for 9 041/s",
        "inputs": {"events": "9041/s"},
        "alternatives": [{"what": "1 slot for `views`", "whyNot": "it would be 84 % full"}],
    }
    told = [
        {**one, "operators": list(HEAD), "to": SWITCHES[one["reason"]]} if one["reason"] in SWITCHES else dict(one)
        for one in moment.decisions
    ]
    return sorted([*told, first], key=lambda one: float(one["at"]))


@contextlib.contextmanager
def driver(second: int = CALM) -> Iterator[FakeDriver]:
    """It, at a second of the recording."""
    moment = moments()[second]
    with answering(moment.seen) as found:
        found.decisions, found.deciding, found.ordered = news(moment), events.deciding(moment.deciding), answer
        yield found
