"""Figure S3: what it costs that keys are not alike. Two segments; the second adds up by key, behind an edge by key.

All records on one key, and Zipf's law with exponent 1.2, against all keys alike. The loss is that of throughput, by
processor time, which other work on the machine does not change: a job gets so much through as its busiest slot.

- *one slot*: it has everything, so only what a record costs may change.
- *two slots*: one of them gets all of the one key. Nobody moves partitions here, so this is what a job loses before it
  has been balanced anew; how partitions move by load is a matter of `controllers.assignment`.

Wanted: at most a fifth less than with all keys alike.
"""

from __future__ import annotations

from collections.abc import Callable

from spillway.bench.record import drains, figures, jobs, systems
from spillway.bench.record.figures import Figure

KINDS = ("uniform", "zipf", "one")
FRAME, DEADLINE = 1_000, 0.01
LOSS = 0.2
SLOTS = (1, 2)


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Every kind with one slot and with two, in turn."""
    count = int(seconds * 2_500)
    cases = [f"{kind}, {_slots(slots)}" for slots in SLOTS for kind in KINDS]
    found: dict[str, list[float]] = {case: [] for case in cases}
    with systems.broker() as bootstrap:
        for number, case in figures.in_turn(cases, rounds):
            kind, slots = case.split(", ")
            micros = _drained(bootstrap, kind, count, int(slots[0]))
            found[case].append(micros)
            done(f"round {number + 1} of {rounds}: {case}: {micros:.3f} µs")
    return [
        *(figures.of(f"S3 {case}: busiest slot", values, "µs/record") for case, values in found.items()),
        *(
            figures.of(
                f"S3 {kind}, {_slots(slots)}: loss of throughput", _losses(found, kind, slots), "of it", most=LOSS
            )
            for slots in SLOTS
            for kind in KINDS[1:]
        ),
    ]


def _drained(bootstrap: str, kind: str, count: int, slots: int) -> float:
    source = systems.created_one(bootstrap)
    with systems.System(jobs.SUMS, bootstrap, source, slots=slots, frame=FRAME, deadline=DEADLINE) as system:
        return drains.drained(system, bootstrap, kind, count, int).busiest


def _losses(found: dict[str, list[float]], kind: str, slots: int) -> list[float]:
    alike, other = found[f"{KINDS[0]}, {_slots(slots)}"], found[f"{kind}, {_slots(slots)}"]
    return [1 - ratio for ratio in figures.ratios(alike, other)]


def _slots(count: int) -> str:
    return f"{count} slot{'s' * (count > 1)}"
