"""What ports, operators, edges and outputs have seen, by segment, in one life of a slot.

Counts of a partition that somebody else has by now are kept, because counts may only grow: who takes the difference of
two reports would find that records were taken back.
"""

from __future__ import annotations

from collections.abc import Iterable

from spillway.runtime.slots.place import Place
from spillway.runtime.telemetry import Flow

Flows = dict[str, dict[str, Flow]]


class Counting:
    """The counts of partitions that are gone."""

    def __init__(self) -> None:
        self._gone: Flows = {}

    def leave(self, place: Place) -> None:
        """A partition goes; its counts stay."""
        _add(self._gone, place)

    def flows(self, places: Iterable[Place]) -> Flows:
        """All counts of this life: of these partitions, and of those that were here."""
        found = {segment: dict(flows) for segment, flows in self._gone.items()}
        for place in places:
            _add(found, place)
        return found


def _add(flows: Flows, place: Place) -> None:
    segment = flows.setdefault(place.partition.segment, {})
    for label, count in place.task.counts().items():
        known = segment.get(label, _NOTHING)
        segment[label] = Flow(
            known.came + count.records_in,
            known.went + count.records_out,
            known.errors + count.errors,
            known.timed + count.timed,
            known.seconds + count.seconds,
        )


_NOTHING = Flow()
