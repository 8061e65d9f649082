"""Counts of all slots together, over all their lives: they only ever grow, as those who read counters expect.

A life counts from zero, and what a slot counts of a partition goes away with it. So what is added is how much each
count has grown since the report before, of the same life.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from spillway.runtime.telemetry import Report

Key = tuple[str, ...]  # the name of a count, and the values of its labels
_Source = tuple[object, ...]  # what counts it: one process, one life of a slot, or one epoch of a partition


class Totals:
    """Written by the threads that hear slots, read by those that answer requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[Key, float] = {}
        self._seen: dict[str, dict[tuple[Key, _Source], float]] = {}

    def take(self, process: object, report: Report) -> None:
        """The next report of a slot, which runs in this process."""
        now = {(key, source): value for key, source, value in _counts(report, process)}
        with self._lock:
            before = self._seen.get(report.slot, {})
            for (key, source), value in now.items():
                grown = value - before.get((key, source), 0)
                self._sums[key] = self._sums.get(key, 0) + max(0, grown)
            self._seen[report.slot] = now

    def read(self) -> Mapping[Key, float]:
        """All counts as they are now."""
        with self._lock:
            return dict(self._sums)


def _counts(report: Report, process: object) -> Iterator[tuple[Key, _Source, float]]:
    life = (report.incarnation, report.process)
    yield ("cpu", report.slot), (process,), report.cpu  # it may live as a slot several times
    yield ("busy", report.slot), life, report.busy
    yield ("letters",), life, report.letters
    for place in report.places:
        held = (*life, place.number, place.epoch)
        yield ("worked", place.segment), held, place.busy
        yield ("late", place.segment), held, place.late
        yield ("dropped", place.segment), held, place.dropped
    for segment, flows in report.flows.items():
        for label, flow in flows.items():
            yield ("came", segment, label), life, flow.came
            yield ("went", segment, label), life, flow.went
            yield ("errors", segment, label), life, flow.errors
            yield ("timed", segment, label), life, flow.timed
            yield ("seconds", segment, label), life, flow.seconds
    for segment, phases in report.phases.items():
        for phase, spent in phases.items():
            yield ("passed", segment, phase), life, spent.records
            yield ("spent", segment, phase), life, spent.seconds
    for output, latency in report.latency.items():
        yield ("within", output), life, latency.within
        yield ("age", output), life, latency.total / 1000
        for number, count in enumerate(latency.buckets):
            if count:  # most are empty
                yield ("bucket", output, str(number)), life, count
