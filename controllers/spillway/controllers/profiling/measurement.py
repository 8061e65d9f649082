"""What is deployed, what is measured of it, and when that makes no sense."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Mapping

from spillway.controllers.profiling.application import Application

# Of the mean. What a platform says of the same deployment twice differs by up to 3 % (SWP, section 6.1.2), so that an
# operator is busy for more than all of its time by that much is no contradiction. Beyond a fifth, clocks are wrong.
IMPOSSIBLE = 1.2


@dataclasses.dataclass(frozen=True, slots=True)
class Deployment:
    """What the platform is to run.

    Attributes:
        tasks: by operator.
        rate: records per second that all sources together take; None: as many as they can.
        frames: records in a frame, by the operator that sends it; the platform's own choice where nothing is said.
    """

    tasks: Mapping[str, int]
    rate: float | None = None
    frames: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def total(self) -> int:
        """All tasks."""
        return sum(self.tasks.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in self.tasks.items())
        return counts if self.rate is None else f"{counts}, at most {self.rate:.4g} records/s"


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One operator, averaged over its tasks.

    Attributes:
        rate_in: records that it took in per second, all tasks together.
        rate_out: records that it sent per second; each reader gets that many.
        processing: Lp, seconds that a task spends on one record: executing, waiting for services, not in its queue.
        processing_error: standard error of that mean.
        sojourn: Lp + Lw, seconds that one record is in the operator, its queue included.
        record_size: bytes of a record that comes out.
        frame_in: records in the frames that came in, on average; None when none came.
        frame_out: records in the frames that went out, on average; None when none did.
        skew: how busy the busiest of its tasks is, relative to the mean: a hot key, or a crowded machine.
    """

    rate_in: float
    rate_out: float
    processing: float
    processing_error: float = 0.0
    sojourn: float = 0.0
    record_size: float = 0.0
    frame_in: float | None = None
    frame_out: float | None = None
    skew: float = 1.0

    def capacity(self, tasks: int) -> float:
        """Eq. 2: Operator_latency · Executed_load / Window_size, for its busiest task; 1 is busy all the time.

        The paper has the mean of the tasks; but records wait for the slowest, and more tasks make that one's share
        smaller.
        """
        return self.processing * self.rate_in / tasks * self.skew


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """What a deployment did while it was measured.

    Attributes:
        seconds: for how long.
        throughput: records per second from all sources, sample by sample.
        latency: seconds from source to the last operator, sample by sample.
        operators: by name.
    """

    seconds: float
    throughput: tuple[float, ...]
    latency: tuple[float, ...]
    operators: Mapping[str, Reading]

    @property
    def rate(self) -> float:
        """Mean throughput."""
        return statistics.fmean(self.throughput)

    @property
    def stopped(self) -> bool:
        """Whether nothing at all came through: the platform has more to do than it can."""
        return bool(self.throughput) and not any(self.throughput)

    @property
    def took(self) -> float:
        """Mean latency."""
        return statistics.fmean(self.latency)


def wrong(measurement: Measurement | None, application: Application, tasks: Mapping[str, int]) -> str:
    """What makes no sense in it, or nothing."""
    if measurement is None:
        return "nothing was measured"
    return next(_flaws(measurement, application, tasks), "")


def _flaws(measurement: Measurement, application: Application, tasks: Mapping[str, int]) -> Iterator[str]:
    for what, samples in (("throughput", measurement.throughput), ("latency", measurement.latency)):
        if len(samples) < 2:
            yield f"{what} has {len(samples)} samples; at least 2 are needed to see how much it varies"
        elif not all(_sound(sample) for sample in samples):
            yield f"a sample of {what} is {next(s for s in samples if not _sound(s))}"
        elif not sum(samples) < math.inf:
            yield f"the samples of {what} are too large"
    for operator in application.operators:
        reading = measurement.operators.get(operator.name)
        if reading is None:
            yield f"operator {operator.name!r} was not measured"
            continue
        for field in dataclasses.fields(reading):
            value = getattr(reading, field.name)
            if value is not None and not _sound(value):
                yield f"{field.name} of {operator.name!r} is {value}"
        if reading.processing <= 0 and not measurement.stopped:
            yield f"operator {operator.name!r} spends {reading.processing} s on a record"
        busy = reading.capacity(tasks[operator.name])
        if busy > IMPOSSIBLE:
            yield f"a task of {operator.name!r} was busy for {busy:.0%} of its time"


def _sound(value: float) -> bool:
    return 0 <= value < math.inf
