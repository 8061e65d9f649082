"""From what slots report to a measurement. Pure.

Counts in reports only grow, each has the time of its slot's clock, and a report comes four times a second. What a life
had counted at any moment is read off the line between two of its reports, so that all lives are read at the same
moment. A slot has one operator, so its time is that operator's; `busy` is the time of its loop with everything that
it does for records: taking frames apart, the operator, putting others together, sending.

- throughput: records per second of all heads that get all the way: what the last operators take in, in records of
  heads. What heads take in is more while queues grow, and less while they shrink;
- latency: how old records are when they leave towards the slowest output. A job of which nothing leaves has what is in
  flight, divided by the throughput (Little);
- sojourn: what waits on the edge in front of an operator, divided by its rate, and its own time. In front of a head
  the load itself waits, which is outside.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from spillway.controllers.profiling.measurement import Measurement, Reading
from spillway.local.profiling.jobs import Segment
from spillway.runtime.telemetry import Report

SAMPLES = 8  # of one measurement: enough for a t-test, and each is of two reports at least
# Of a task, that counts as busy where nothing came: an operator to which no record gets has no cost that can be told.
NOTHING = 0.0
ENOUGH = 30  # records, from which on a count says something

Life = tuple[str, int]
History = Mapping[Life, Sequence[Report]]


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """What was counted up to a moment, over all lives.

    Attributes:
        came: records, by segment.
        went: records that came out, by segment.
        failed: records on which it raised, by segment.
        sent: records that were put on the edge of a segment.
        messages: positions of all partitions, by segment: differences are messages.
        busy: seconds, by segment and slot.
        aged: records and milliseconds, by output.
    """

    came: Mapping[str, float]
    went: Mapping[str, float]
    failed: Mapping[str, float]
    sent: Mapping[str, float]
    messages: Mapping[str, float]
    busy: Mapping[str, Mapping[Life, float]]
    aged: Mapping[str, tuple[float, float]]


def totals(history: History, segments: Mapping[str, Segment], at: float) -> Totals:
    """What was counted at a time, in seconds since 1970."""
    came = dict.fromkeys(segments, 0.0)
    went, failed, sent, messages = dict(came), dict(came), dict(came), dict(came)
    busy: dict[str, dict[Life, float]] = {name: {} for name in segments}
    aged: dict[str, tuple[float, float]] = {}
    for life, reports in history.items():
        if not reports:
            continue
        old, new, share = _around(reports, at)
        for name, segment in segments.items():
            before, after = old.flows.get(name, {}), new.flows.get(name, {})
            for label in segment.ports:
                came[name] += _between(before, after, label, "came", share)
            went[name] += _between(before, after, segment.result, "went", share)
            failed[name] += _between(before, after, segment.result, "errors", share)
            for label, reader in segment.readers.items():
                sent[reader] += _between(before, after, label, "went", share)
        # The places of the last report: who came meanwhile is measured from the next deployment on.
        positions = {(place.segment, place.number): place.position for place in old.places}
        for place in new.places:
            if place.segment not in segments:
                continue
            start = positions.get((place.segment, place.number), place.position)
            messages[place.segment] += start + (place.position - start) * share
        for name in {place.segment for place in new.places} & segments.keys():
            busy[name][life] = old.busy + (new.busy - old.busy) * share
        for output, latency in new.latency.items():
            was = old.latency.get(output)
            count, total = (was.count, was.total) if was is not None else (0, 0.0)
            known = aged.get(output, (0.0, 0.0))
            aged[output] = (
                known[0] + count + (latency.count - count) * share,
                known[1] + total + (latency.total - total) * share,
            )
    return Totals(came, went, failed, sent, messages, busy, aged)


def backlog(segments: Mapping[str, Segment], now: Totals, rest: Totals) -> dict[str, float]:
    """Records that wait in front of each segment but the heads; `rest` is when nothing did."""
    return {
        name: max(0.0, (now.sent[name] - rest.sent[name]) - (now.came[name] - rest.came[name]))
        for name, segment in segments.items()
        if not segment.topic
    }


def visits(segments: Mapping[str, Segment], now: Totals, rest: Totals) -> dict[str, float]:
    """Records that come to each segment for one that comes to any head."""
    pulled = math.fsum(now.came[name] - rest.came[name] for name, one in segments.items() if one.topic)
    sent = {name: now.sent[name] - rest.sent[name] for name in segments}
    return {
        name: (now.came[name] - rest.came[name] if one.topic else sent[name]) / pulled if pulled > 0 else 0.0
        for name, one in segments.items()
    }


def in_flight(segments: Mapping[str, Segment], fed: float, now: Totals, rest: Totals) -> float:
    """Records of heads that are not done: what was fed and not taken in, and what waits further behind."""
    pulled = math.fsum(now.came[name] - rest.came[name] for name, one in segments.items() if one.topic)
    ratio = visits(segments, now, rest)
    behind = [count / ratio[name] for name, count in backlog(segments, now, rest).items() if ratio[name] > 0]
    return max(0.0, fed - pulled) + max(behind, default=0.0)


def measurement(
    history: History,
    segments: Mapping[str, Segment],
    span: tuple[float, float],
    rest: Totals,
    sizes: Mapping[str, float],
) -> Measurement:
    """What was done within a span of time; `rest` is what was counted when nothing waited, `sizes` bytes of records."""
    begin, end = span
    step = (end - begin) / SAMPLES
    seen = [totals(history, segments, begin + number * step) for number in range(SAMPLES + 1)]
    rates = tuple(throughput(segments, old, new, rest, step) for old, new in itertools.pairwise(seen))
    waits = [backlog(segments, one, rest) for one in seen]
    readings = {
        name: _reading(name, segments, seen, [one.get(name, 0.0) for one in waits], step, sizes) for name in segments
    }
    return Measurement(end - begin, rates, _latencies(segments, seen, rates, rest), readings)


def throughput(segments: Mapping[str, Segment], old: Totals, new: Totals, rest: Totals, seconds: float) -> float:
    """Records per second of all heads that got all the way between two moments: by what came to the last operators.

    Of few, more or less come by chance; where too few come to the last ones, those before them tell.
    """
    came = {name: new.came[name] - old.came[name] for name in segments}
    ratio = visits(segments, new, rest)
    enough = {name for name in segments if came[name] >= ENOUGH and ratio[name] > 0}
    last = [name for name in enough if enough.isdisjoint(segments[name].readers.values())]
    pulled = math.fsum(came[name] for name, one in segments.items() if one.topic)
    # Of several heads each has a share of what all of them take in.
    done = [came[name] / ratio[name] for name in last if not segments[name].topic]
    return min(done, default=pulled) / seconds


def _reading(
    name: str,
    segments: Mapping[str, Segment],
    seen: Sequence[Totals],
    waits: Sequence[float],
    step: float,
    sizes: Mapping[str, float],
) -> Reading:
    seconds = step * (len(seen) - 1)
    first, last = seen[0], seen[-1]
    came = last.came[name] - first.came[name]
    shares = [max(0.0, _grown(first, last, name, life)) / seconds for life in last.busy[name]]
    busy = math.fsum(shares) * seconds
    costs = []
    for old, new in itertools.pairwise(seen):
        count = new.came[name] - old.came[name]
        if count > 0:
            costs.append(math.fsum(_grown(old, new, name, life) for life in new.busy[name]) / count)
    processing = busy / came if came > 0 else NOTHING
    error = statistics.stdev(costs) / math.sqrt(len(costs)) if len(costs) > 1 else 0.0
    rate = came / seconds
    mean = statistics.fmean(shares) if shares else 0.0
    return Reading(
        rate_in=rate,
        rate_out=max(0.0, last.went[name] - first.went[name]) / seconds,
        processing=processing,
        processing_error=error,
        sojourn=processing + (statistics.fmean(waits) / rate if rate > 0 else 0.0),
        record_size=sizes.get(name, 0.0),
        frame_in=None if segments[name].topic else _frame([name], first, last),
        frame_out=_frame(segments[name].readers.values(), first, last),
        skew=max(1.0, max(shares) / mean) if mean > 0 else 1.0,
    )


def _grown(old: Totals, new: Totals, name: str, life: Life) -> float:
    return new.busy[name].get(life, 0.0) - old.busy[name].get(life, new.busy[name].get(life, 0.0))


def _frame(readers: Iterable[str], first: Totals, last: Totals) -> float | None:
    """Records in the frames that these took in, on average: Σ records / Σ frames; None of no reader."""
    names = tuple(dict.fromkeys(readers))
    records = math.fsum(last.came[name] - first.came[name] for name in names)
    frames = math.fsum(last.messages[name] - first.messages[name] for name in names)
    return max(1.0, records / frames) if frames > 0 and records > 0 else None


def _latencies(
    segments: Mapping[str, Segment], seen: Sequence[Totals], throughput: Sequence[float], rest: Totals
) -> tuple[float, ...]:
    outputs = {output for one in seen for output in one.aged}
    samples = []
    for old, new in itertools.pairwise(seen):
        ages = []
        for output in outputs:
            count, total = (
                a - b for a, b in zip(new.aged.get(output, (0, 0)), old.aged.get(output, (0, 0)), strict=True)
            )
            if count > 0:
                ages.append(total / count / 1000)
        samples.append(max(ages, default=None))
    if all(sample is not None for sample in samples):
        return tuple(sample for sample in samples if sample is not None)
    found = []
    for one, rate in zip(seen[1:], throughput, strict=True):
        fed = math.fsum(one.came[name] - rest.came[name] for name, segment in segments.items() if segment.topic)
        found.append(in_flight(segments, fed, one, rest) / rate if rate > 0 else 0.0)
    return tuple(found)


def _around(reports: Sequence[Report], at: float) -> tuple[Report, Report, float]:
    """The reports before and after a time, and how far it is between them; beyond the last one, nothing is new."""
    number = bisect.bisect_right(reports, at, key=lambda report: report.at)
    if number == 0:
        return reports[0], reports[0], 0.0
    if number == len(reports):
        return reports[-1], reports[-1], 1.0
    old, new = reports[number - 1], reports[number]
    return old, new, (at - old.at) / (new.at - old.at) if new.at > old.at else 1.0


def _between(before: Mapping[str, object], after: Mapping[str, object], label: str, field: str, share: float) -> float:
    old = float(getattr(before.get(label), field, 0.0))
    return old + (float(getattr(after.get(label), field, 0.0)) - old) * share
