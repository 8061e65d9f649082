"""Functions of the Linear Road example."""

from __future__ import annotations

from collections.abc import Iterator

REPORT = "0"  # type of a position report; the benchmark's other types are queries
FIELDS = 9  # type, time, car, speed, expressway, lane, direction, segment, position


def parse(record: dict[str, str]) -> Iterator[dict[str, int]]:
    """One record for each line that is a position report."""
    fields = record["line"].split(",")
    if len(fields) < FIELDS or fields[0] != REPORT or not all(field.isdecimal() for field in fields[2:8]):
        return
    _, _, car, speed, expressway, _, direction, segment, *_ = fields
    yield {
        "car": int(car),
        "speed": int(speed),
        "expressway": int(expressway),
        "direction": int(direction),
        "segment": int(segment),
    }
