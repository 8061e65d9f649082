"""How old results were when they left: counts that only grow, read of the workers' metrics, and their differences.

Workers count each result exactly, over all of their lives. What is told of a phase is what was counted between its
beginning and its end; results of a burst that leave later belong to the phase in which they leave.
"""

from __future__ import annotations

import dataclasses
import math
import urllib.error
import urllib.request
from collections.abc import Iterable

from prometheus_client import parser

BUCKETS, WITHIN = "spillway_latency_seconds_bucket", "spillway_within_bound_total"
PATIENCE = 0.5  # seconds; whoever watches waits meanwhile
LARGEST = 4 * 2**20

_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


@dataclasses.dataclass(frozen=True, slots=True)
class Ages:
    """How many results left, and how old they were.

    Attributes:
        within: those within the bound.
        below: by upper end in seconds, those that were no older.
    """

    within: float = 0.0
    below: tuple[tuple[float, float], ...] = ()

    @property
    def count(self) -> float:
        """All of them."""
        return self.below[-1][1] if self.below else 0.0

    @property
    def share(self) -> float | None:
        """Which share was within the bound; None without any."""
        return min(1.0, self.within / self.count) if self.count > 0 else None

    def quantile(self, share: float) -> float | None:
        """In milliseconds, so many were no older: the upper end of a bucket; None without any, or beyond the last."""
        for bound, count in self.below:
            if self.count and count >= share * self.count:
                return bound * 1000 if math.isfinite(bound) else None
        return None

    def plus(self, other: Ages) -> Ages:
        """Both together."""
        before = dict(self.below)
        bounds = sorted({*before, *(bound for bound, _ in other.below)})
        after = dict(other.below)
        return Ages(self.within + other.within, tuple((b, before.get(b, 0.0) + after.get(b, 0.0)) for b in bounds))

    def since(self, other: Ages) -> Ages:
        """What came to it since then; a worker that began anew counts from nothing."""
        before = dict(other.below)
        below = tuple((bound, max(0.0, count - before.get(bound, 0.0))) for bound, count in self.below)
        return Ages(max(0.0, self.within - other.within), below)


def read(text: str) -> Ages:
    """From the metrics of one worker."""
    within, below = 0.0, dict[float, float]()
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == WITHIN:
                within += sample.value
            elif sample.name == BUCKETS:
                bound = float(sample.labels["le"])
                below[bound] = below.get(bound, 0.0) + sample.value
    return Ages(within, tuple(sorted(below.items())))


class Meter:
    """Reads all workers that there are, and remembers those that are gone."""

    def __init__(self) -> None:
        self._known: dict[str, Ages] = {}

    def look(self, addresses: Iterable[str]) -> Ages:
        """All that was counted up to now."""
        for address in sorted(set(filter(None, addresses))):
            try:
                with _open(f"http://{address}/metrics", timeout=PATIENCE) as answer:
                    self._known[address] = read(answer.read(LARGEST).decode())
            except (OSError, urllib.error.URLError, ValueError):
                continue  # what it told last stands
        total = Ages()
        for ages in self._known.values():
            total = total.plus(ages)
        return total
