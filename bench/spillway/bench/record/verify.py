"""Is what came out right? Recomputed from the events alone, in plain Python, by nobody who made it.

Every update is in the output, so there has to be one for each word, view or record: none lost, none twice. The largest
count of a key is the last one, and what a reader of the updates ends with.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from spillway.bench.record import events
from spillway.bench.record.logs import Record

Counts = Mapping[Any, int]


class WrongError(Exception):
    """An output isn't right, so what was measured is no figure."""


def outputs(workload: str) -> Callable[[int], int]:
    """How many messages the first so many events make."""
    if workload == "lines":
        return _sums(text.count(" ") + 1 for text in events.texts())
    if workload == "ads":
        return _sums(int(event.kind == "view") for event in events.seen())
    return int


def _sums(numbers: Iterable[int]) -> Callable[[int], int]:
    """Of the first so many; what was asked once is known."""
    known, rest = [0], iter(numbers)

    def upto(count: int) -> int:
        for number in itertools.islice(rest, max(0, count + 1 - len(known))):
            known.append(known[-1] + number)
        return known[count]

    return upto


def right(workload: str, times: Iterable[int]) -> Counts:
    """What has to be there at the end, of events at these milliseconds."""
    at = list(times)
    if workload == "lines":
        return events.counted(len(at))
    if workload == "ads":
        return events.viewed(at)
    return dict.fromkeys(range(len(at)), 1)


def found(workload: str, records: Iterable[Record]) -> tuple[Counts, int]:
    """What is there, and how many messages."""
    counts: dict[Any, int] = {}
    messages = 0
    for record in records:
        row = msgspec.json.decode(record.value or b"null")
        messages += 1
        if workload == "lines":
            counts[row["word"]] = max(counts.get(row["word"], 0), row["n"])
        elif workload == "ads":
            key = (row["campaign_id"], millis(row["window_start"]))
            counts[key] = max(counts.get(key, 0), row["n"])
        else:
            counts[row["id"]] = counts.get(row["id"], 0) + 1
    return counts, messages


def check(workload: str, records: Iterable[Record], times: Iterable[int]) -> None:
    """Raise WrongError unless an output is right."""
    wanted = right(workload, times)
    counts, messages = found(workload, records)
    if counts != wanted:
        wrong = sorted(str(key) for key in {*counts, *wanted} if counts.get(key) != wanted.get(key))
        key = wrong[0]
        message = f"{workload}: {len(wrong)} of {len(wanted)} keys are wrong, among them {key}"
        raise WrongError(message)
    if messages != sum(wanted.values()):
        message = f"{workload}: {messages} messages, and {sum(wanted.values())} would be right"
        raise WrongError(message)


def due(record: Record, unit: int) -> float:
    """When the latest event was due that an output was made of, in milliseconds; it is written in so many a second."""
    value = msgspec.json.decode(record.value or b"")["due"]
    return value * 1000 / unit if isinstance(value, int) else float(millis(value))


def millis(value: int | str) -> int:
    """A time in milliseconds, however it is written."""
    if isinstance(value, int):
        return value
    return int(datetime.datetime.fromisoformat(value).timestamp() * 1000)
