"""Windows of event time (SDF 5.2.2): of size w, one every d; tumbling where d = w, hopping where d is smaller.

They hold t where n*d <= t < n*d + w, so the starts of those that hold a time are

    w-Id(t) = floor((t - w) / d) * d + d, ..., floor(t / d) * d

Floors go down, also below zero: before 1970 windows are cut as after it.
"""

from __future__ import annotations

import dataclasses

from spillway.model.operators import Aggregate
from spillway.runtime.tables.expiry import MICROSECOND


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """Size and slide in microseconds."""

    size: int
    slide: int

    @classmethod
    def of(cls, aggregate: Aggregate) -> Window | None:
        """The windows of an aggregate."""
        if aggregate.window is None:
            return None
        size, slide = aggregate.window.size, aggregate.window.slide or aggregate.window.size
        return cls(size.amount // MICROSECOND, slide.amount // MICROSECOND)

    def starts(self, timestamp: int) -> range:
        """The starts of the windows that hold a time."""
        first = (timestamp - self.size) // self.slide * self.slide + self.slide
        return range(first, timestamp + 1, self.slide)
