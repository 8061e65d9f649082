"""What slots tell, four times a second: into the telemetry topic for the driver, and to their own worker.

Counts only ever grow within one life of a slot, so a report that is lost costs nothing: the next one has it all. Who
wants a rate takes the difference of two reports of the same life.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

import msgspec

from spillway.model.errors import SpillwayError

VERSION = 1
EVERY = 0.25  # seconds
# Upper ends of latency buckets, in milliseconds: two for each doubling, from 1 ms to 65 s, so that a quantile that is
# read from them is at most 41 % too high. Whether the promise is kept is counted apart, exactly.
BUCKETS = tuple(round(2 ** (half / 2), 3) for half in range(33))


# Of `Report`, in the order in which a record goes through them; `slots.times` says what each is.
PHASES = ("queue", "cpu", "wait", "network")


class TelemetryError(SpillwayError):
    """A message of the telemetry topic that nobody here can read."""


class Place(msgspec.Struct, frozen=True):
    """One partition in the hands of a slot.

    Attributes:
        segment, number: which.
        epoch: under which the slot has it.
        program: the hash of what runs.
        working: whether records are processed; not while it is restored, or once it has stopped for a move.
        position: the next input offset to process.
        committed: what is below is committed.
        end: the end of the input, as far as the last answer of a broker told; None before there was one.
        busy: seconds of the slot's time that it took.
        rows, size: of its tables: entries, and estimated bytes.
        late: records that came too late for their window or retention, and were ignored.
        problem: why it does not go on, for people; empty if it does.
        took: seconds from when the slot heard that it is its own until it worked on it.
        done: offsets above the position that are processed already, because they could be on time.
        dropped: messages that were late, and left out.
    """

    segment: str
    number: int
    epoch: int
    program: str
    working: bool
    position: int
    committed: int
    end: int | None = None
    busy: float = 0.0
    rows: int = 0
    size: int = 0
    late: int = 0
    took: float = 0.0
    problem: str = ""
    done: int = 0
    dropped: int = 0

    @property
    def lag(self) -> int | None:
        """Messages that wait in the log."""
        return None if self.end is None else max(0, self.end - self.position - self.done)


class Flow(msgspec.Struct, frozen=True):
    """What one port, operator, edge or output has seen: records in and out, errors, and how long some of them took."""

    came: int = 0
    went: int = 0
    errors: int = 0
    timed: int = 0
    seconds: float = 0.0


class Latency(msgspec.Struct, frozen=True):
    """How old records were when they left towards an output: since they came into the first topic of the job.

    Attributes:
        count: all of them.
        within: those within the promised bound.
        total: the sum of their ages, in milliseconds.
        buckets: how many fell into each of `BUCKETS`, and beyond the last one.
    """

    count: int = 0
    within: int = 0
    total: float = 0.0
    buckets: tuple[int, ...] = (0,) * (len(BUCKETS) + 1)

    def quantile(self, share: float) -> float | None:
        """In milliseconds, so many are no older: the upper end of a bucket; infinite beyond the last."""
        wanted, seen = share * self.count, 0
        for bucket, count in zip((*BUCKETS, float("inf")), self.buckets, strict=True):
            seen += count
            if seen and seen >= wanted:
                return bucket
        return None


class Spent(msgspec.Struct, frozen=True):
    """How long records took in one phase: so many of them, and all together."""

    records: int = 0
    seconds: float = 0.0


class Report(msgspec.Struct, frozen=True):
    """What one life of a slot tells.

    Attributes:
        version: of this format.
        slot, incarnation: which life.
        process: which process that is.
        at: seconds since 1970, by the clock of the slot.
        up: seconds since this life began; a report of the same life that has fewer is an older one.
        busy: seconds in which the loop had work.
        cpu: seconds of processor time.
        memory: bytes that are resident.
        places: the partitions that it has.
        flows: by segment, and by label of port, operator, edge or output.
        latency: by output.
        phases: by segment, and by the name of a phase: where the time of its records went.
        letters: dead letters.
        leaving: it has to end, and wants to give everything away.
        address: where the worker answers HTTP; empty if it does not.
        problem: why the life before this one ended, for people; for a minute, and empty if nothing was wrong.
    """

    version: int
    slot: str
    incarnation: int
    process: str
    at: float
    up: float
    busy: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    places: tuple[Place, ...] = ()
    flows: dict[str, dict[str, Flow]] = {}
    latency: dict[str, Latency] = {}
    phases: dict[str, dict[str, Spent]] = {}
    letters: int = 0
    leaving: bool = False
    address: str = ""
    problem: str = ""


def phases(pairs: Iterable[tuple[Report | None, Report]]) -> dict[str, dict[str, float]]:
    """Milliseconds of a record in each phase, by segment, in the mean over what came between two reports of each life.

    The older one is None where it is all of a life. Phases that no record went through are not there.
    """
    sums: dict[str, dict[str, list[float]]] = {}
    for old, new in pairs:
        for segment, spent in new.phases.items():
            before, of = (old.phases.get(segment, {}) if old else {}), sums.setdefault(segment, {})
            for phase, now in spent.items():
                known, sum_ = before.get(phase, _NOTHING), of.setdefault(phase, [0, 0.0])
                sum_[0] += max(0, now.records - known.records)
                sum_[1] += max(0.0, now.seconds - known.seconds)
    return {
        segment: {phase: 1000 * of[phase][1] / of[phase][0] for phase in PHASES if of.get(phase, [0])[0]}
        for segment, of in sums.items()
    }


_NOTHING = Spent()


class Ages:
    """Counts ages towards one output; what `Latency` is read from."""

    __slots__ = ("_bound", "_buckets", "_count", "_total", "_within")

    def __init__(self, bound: float) -> None:
        """The promised bound, in milliseconds."""
        self._bound = bound
        self._count = self._within = 0
        self._total = 0.0
        self._buckets = [0] * (len(BUCKETS) + 1)

    def add(self, age: float, count: int) -> None:
        """So many records left at this age, in milliseconds."""
        self._count += count
        self._total += age * count
        self._buckets[bisect.bisect_left(BUCKETS, age)] += count
        if age <= self._bound:
            self._within += count

    def read(self) -> Latency:
        """What was counted so far."""
        return Latency(self._count, self._within, self._total, tuple(self._buckets))


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Report).decode


def encode(report: Report) -> bytes:
    """As JSON, one line."""
    return _encode(report)


def decode(text: bytes) -> Report:
    """What a message says; raises TelemetryError for anything else."""
    try:
        found = _decode(text)
    except (ValueError, RecursionError) as error:
        message = f"a message of {len(text)} bytes is no report: {error}"
        raise TelemetryError(message) from None
    if found.version != VERSION:
        message = f"a report of version {found.version} can't be read here, only {VERSION}"
        raise TelemetryError(message)
    return found
