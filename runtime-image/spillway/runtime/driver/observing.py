"""What is measured: from the reports of slots, and what the log says, to loads, rates, latencies and arrivals. Pure.

Everything is over the last `SPAN`, but for latencies (`LATENCIES`) and arrivals, for which a burst can't wait: these
are over two reports. What a life that is over has told counts for nothing any more.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Owner, Partition
from spillway.controllers.provisioning import Arrivals
from spillway.runtime import task, telemetry
from spillway.runtime.driver.reports import Reports, Span
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Flow, Latency, Place

# Seconds. Eight reports: a rate that is read by people, or that moves a partition, should not jump with each of them.
SPAN = 2.0
LATENCIES = 10.0
PAIR = 0.4  # reports come each 250 ms, so the one before the newest is within, and the one before that is not
FRESH = 2.0  # older reports say how it was, and not how it is; the same as what decisions call stale
# Of the partitions of a topic, whose ends must be known for its rate; the others are taken to be as the mean of those.
KNOWN = 0.5

_NONE = Latency()


@dataclasses.dataclass(frozen=True, slots=True)
class Rates:
    """A `Flow` per second."""

    came: float = 0.0
    went: float = 0.0
    errors: float = 0.0
    timed: float = 0.0
    seconds: float = 0.0

    def plus(self, new: Flow, old: Flow, seconds: float) -> Rates:
        """With what one life did from the one count to the other."""
        return Rates(
            self.came + max(0, new.came - old.came) / seconds,
            self.went + max(0, new.went - old.went) / seconds,
            self.errors + max(0, new.errors - old.errors) / seconds,
            self.timed + max(0, new.timed - old.timed) / seconds,
            self.seconds + max(0.0, new.seconds - old.seconds) / seconds,
        )

    @property
    def cost(self) -> float | None:
        """Seconds for a record; None if none was timed."""
        return self.seconds / self.timed if self.timed > 0 else None


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """What a segment does.

    Attributes:
        came: records per second that come in.
        left: records per second that leave, towards edges and outputs.
        busy: slots that it keeps busy.
        lag: messages that wait.
        working: partitions on which an owner works, as it tells.
        flows: by label of port, operator, edge or output.
        phases: milliseconds that a record is in each, in the mean over `LATENCIES`.
    """

    came: float = 0.0
    left: float = 0.0
    busy: float = 0.0
    lag: int | None = None
    working: int = 0
    flows: Mapping[str, Rates] = dataclasses.field(default_factory=dict)
    phases: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def cost(self) -> float | None:
        """Seconds of a slot for one record; None without any."""
        return self.busy / self.came if self.came > 0 else None


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """All that was measured.

    Attributes:
        at: when.
        places: the partitions as their owners tell of them, under the epochs of the log.
        loads: by partition, the share of a slot that it takes; None where nobody knows.
        works: by segment; without those of which nothing was told.
        busy, cpu: by life, shares of its time and of a core.
        arrivals: by topic of the user that a program reads, when they were measured, over how long, and per second.
        latencies: by output, and how many seconds they are of.
    """

    at: float
    places: Mapping[Partition, Place]
    loads: Mapping[Partition, float | None]
    works: Mapping[str, Work]
    busy: Mapping[Owner, float]
    cpu: Mapping[Owner, float]
    arrivals: Mapping[str, Arrivals | None]
    latencies: Mapping[str, tuple[Latency, float]]

    @property
    def positions(self) -> dict[Partition, int]:
        """How far owners have come."""
        return {where: place.position for where, place in self.places.items()}


def look(reports: Reports, state: log.State, programs: Mapping[str, Program], now: float) -> Seen:
    """What can be told now; `programs` are those of the plan, by segment."""
    owners = [owner for slot in state.members if (owner := state.living(slot))]
    living = [owner for owner in owners if (last := reports.last(owner)) and now - last.at < FRESH]
    held: dict[Owner, set[tuple[Partition, int]]] = {}
    for place, holding in state.holdings.items():
        held.setdefault(holding.owner, set()).add((place, holding.epoch))
    places: dict[Partition, Place] = {}
    loads: dict[Partition, float | None] = dict.fromkeys(state.holdings)
    for owner in living:
        last = reports.last(owner)
        mine = held.get(owner, set())
        for told in last.report.places if last else ():
            if ((where := Partition(told.segment, told.number)), told.epoch) in mine:
                places[where] = told
        for seconds, old, new in reports.places(owner, SPAN):
            where = Partition(new.segment, new.number)
            if where in places:
                loads[where] = max(0.0, (new.busy - old.busy) / seconds)
    spans = {owner: span for owner in living if (span := reports.span(owner, SPAN))}
    longer = [span for owner in living if (span := reports.span(owner, LATENCIES))]
    return Seen(
        now,
        places,
        loads,
        _works(programs, places, loads, _flows(spans.values()), telemetry.phases((one.old, one.new) for one in longer)),
        {owner: _share(span.new.busy - span.old.busy, span.seconds) for owner, span in spans.items()},
        {owner: _share(span.new.cpu - span.old.cpu, span.seconds, most=math.inf) for owner, span in spans.items()},
        _arrivals(reports, living, programs.values(), state),
        _latencies(longer),
    )


def _share(difference: float, seconds: float, most: float = 1.0) -> float:
    return min(most, max(0.0, difference / seconds))


def _flows(spans: Iterable[Span]) -> dict[str, dict[str, Rates]]:
    """By segment and label, over all lives."""
    found: dict[str, dict[str, Rates]] = {}
    for span in spans:
        for segment, flows in span.new.flows.items():
            before, of = span.old.flows.get(segment, {}), found.setdefault(segment, {})
            for label, flow in flows.items():
                of[label] = of.get(label, Rates()).plus(flow, before.get(label, Flow()), span.seconds)
    return found


def _works(
    programs: Mapping[str, Program],
    places: Mapping[Partition, Place],
    loads: Mapping[Partition, float | None],
    flows: Mapping[str, Mapping[str, Rates]],
    phases: Mapping[str, Mapping[str, float]],
) -> dict[str, Work]:
    found = {}
    for name, program in programs.items():
        mine = {where: place for where, place in places.items() if where.segment == name}
        if not mine and name not in flows:
            continue
        of = flows.get(name, {})
        ports = [port.label for port in program.ports if not port.broadcast]
        ways = [edge.label for edge in program.edges] + [output.label for output in program.outputs]
        lags = [place.lag for place in mine.values()]
        found[name] = Work(
            sum(of[label].came for label in ports if label in of),
            sum(of[label].went for label in ways if label in of),
            math.fsum(loads.get(where) or 0.0 for where in mine),
            None if None in lags or not lags else sum(lag or 0 for lag in lags),
            sum(place.working for place in mine.values()),
            of,
            phases.get(name, {}),
        )
    return found


def _arrivals(
    reports: Reports, living: Sequence[Owner], programs: Iterable[Program], state: log.State
) -> dict[str, Arrivals | None]:
    """Per topic of the user: by how much its ends grew between the last two reports of who reads it."""
    readers = {
        program.name: port.source.topic
        for program in programs
        if (port := task.source_of(program)) is not None and port.source is not None
    }
    rates: dict[str, dict[int, float]] = {topic: {} for topic in readers.values()}
    newest: dict[str, float] = {}
    spans: dict[str, float] = {}
    for owner in living:
        last = reports.last(owner)
        for seconds, old, new in reports.places(owner, PAIR) if last else ():
            topic = readers.get(new.segment)
            if topic is None or old.end is None or new.end is None or last is None:
                continue
            rate = max(0.0, (new.end - old.end) / seconds)
            rates[topic][new.number] = max(rate, rates[topic].get(new.number, 0.0))
            newest[topic] = max(last.at, newest.get(topic, 0.0))
            spans[topic] = max(seconds, spans.get(topic, 0.0))
    partitions = {
        readers[s.name]: s.partitions for s in (state.plan.segments if state.plan else ()) if s.name in readers
    }
    found: dict[str, Arrivals | None] = {}
    for topic, of in rates.items():
        known = len(of) / partitions[topic] if partitions.get(topic) else 0.0
        if known < KNOWN or not of:
            found[topic] = None
            continue
        at = datetime.datetime.fromtimestamp(newest[topic], datetime.UTC)
        found[topic] = Arrivals(at, datetime.timedelta(seconds=spans[topic]), math.fsum(of.values()) / known)
    return found


def _latencies(spans: Iterable[Span]) -> dict[str, tuple[Latency, float]]:
    """Per output, over all lives: what was counted within the last seconds."""
    found: dict[str, tuple[Latency, float]] = {}
    for span in spans:
        for name, new in span.new.latency.items():
            known, seconds = found.get(name, (Latency(), 0.0))
            old = span.old.latency.get(name, Latency())
            found[name] = (added(known, new, old), max(seconds, span.seconds))
    return found


def added(total: Latency, new: Latency, old: Latency = _NONE) -> Latency:
    """A latency more, less what was counted before."""
    counted = zip(total.buckets, new.buckets, old.buckets, strict=True)
    return Latency(
        total.count + max(0, new.count - old.count),
        total.within + max(0, new.within - old.within),
        total.total + max(0.0, new.total - old.total),
        tuple(sum_of + max(0, now - before) for sum_of, now, before in counted),
    )


def letters(reports: Reports, living: Collection[Owner]) -> int:
    """Dead letters of the lives that there are."""
    return sum(heard.report.letters for owner in living if (heard := reports.last(owner)))
