"""Low, burst, low, higher burst, low: at which rates, from what was measured a moment ago. Pure.

D is what the whole job can do record by record, with all slots that this machine may have, in records per second:

    D = slots · V / max(busy, cpu)

where busy is how many slots all segments together keep busy at the rate V, and cpu how many cores those slots use:
clients have threads of their own. What is behind all the same does no more than V with the slots that there are. O is
what batches do, P_O of a decision.

    low = 0.1·D      burst = 1.4·D, at most 0.7·O      higher = 0.85·O, at most 2·D

So at a burst record by record falls behind, and batches don't. Where they are no faster, nobody is fooled: the bursts
are those that more slots can keep up with, and that is said.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import statistics
from collections.abc import Sequence

# Of D. Most results are those of the low phases, one for each word; at 0.2 the verifier would read for a minute more.
LOW, BURST, HIGHER = 0.1, 1.4, 2.0
# Of D as the warm-up shows it, which may be twice of what it is: enough load to see what a record costs.
TRIED = 0.4
NEAR = 0.6  # of the highest rate that was seen
OF_BATCHES, HIGHER_OF_BATCHES = 0.7, 0.85  # of O
# Of D. Below, a switch gains less than what both figures may be off; the same as what decisions ask for.
GAIN = 1.2
# Of D, where batches do not help: more than half of what one slot of two can do, so that there is a reason to grow.
SCALED, HIGHER_SCALED = 0.6, 0.75
BEHIND = 1.0  # seconds of work that wait: whoever has so many is not about to catch up
LEAST_RATE = 50.0  # records per second; less shows nothing

# Of the time after the warm-up. A range comes back after ten calm seconds, and after twenty when it went twice within
# a minute: so the low phases are as long as they are, and the last one is the longest.
SHARES = (0.17, 0.24, 0.17, 0.42)


class Name(enum.StrEnum):
    """Names of phases."""

    WARM_UP = "warm-up"
    MEASURING = "measuring"
    LOW = "low"
    BURST = "burst"
    BETWEEN = "low again"
    HIGHER = "higher burst"
    LAST = "low at last"

    @property
    def counts(self) -> bool:
        """Whether the promise is judged by it: not while everything is cold, and its rates are a guess."""
        return self not in (Name.WARM_UP, Name.MEASURING)

    @property
    def is_burst(self) -> bool:
        """Whether it is one that should need something to be done."""
        return self in (Name.BURST, Name.HIGHER)


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """What was measured.

    Attributes:
        record: D.
        batch: O; None where nobody knows.
    """

    record: float
    batch: float | None

    @property
    def batches_win(self) -> bool:
        """Whether a burst is better off in batches."""
        return self.batch is not None and self.batch > GAIN * self.record


@dataclasses.dataclass(frozen=True, slots=True)
class Phase:
    """A part of the load.

    Attributes:
        name: of it.
        rate: records per second.
        seconds: how long; infinite until something has happened.
    """

    name: Name
    rate: float
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """How a job did at one moment.

    Attributes:
        rate: V, records per second that were taken in.
        waiting: records that waited.
        busy: slots that were kept busy.
        cpu: cores that those slots used.
        slots: that there were.
    """

    rate: float | None
    waiting: int | None
    busy: float | None
    cpu: float | None
    slots: int


def record_capacity(load: Load, slots: int) -> float | None:
    """D, with so many slots; None where nothing was measured that says so."""
    takes = max(load.busy or 0.0, load.cpu or 0.0)
    if not load.rate or not load.slots or not 0 < takes < math.inf or not 0 < load.rate < math.inf:
        return None
    if (load.waiting or 0) > BEHIND * load.rate:
        return load.rate * slots / load.slots
    return load.rate * slots / takes


def likely(samples: Sequence[tuple[float, float]]) -> float | None:
    """D from what was seen at several rates, each as V and D: the median of those near the highest.

    The more there is to do, the less a record costs: what is done once in each turn is shared by more. So what was seen
    at a tenth of the load says little.
    """
    if not samples:
        return None
    most = max(v for v, _ in samples)
    return statistics.median(d for v, d in samples if v >= NEAR * most)


def rate(name: Name, known: Capacity) -> float:
    """The rate of a phase."""
    d, o = known.record, known.batch or 0.0
    if not name.is_burst:
        found = (TRIED if name is Name.MEASURING else LOW) * d
    elif not known.batches_win:
        found = (SCALED if name is Name.BURST else HIGHER_SCALED) * d
    elif name is Name.BURST:
        found = min(BURST * d, OF_BATCHES * o)
    else:
        found = min(HIGHER * d, HIGHER_OF_BATCHES * o)
    return rounded(max(LEAST_RATE, found))


def rounded(value: float) -> float:
    """To two digits: nobody knows it better."""
    digits = 1 - math.floor(math.log10(value))
    return round(value, digits)


def lengths(seconds: float) -> dict[Name, float]:
    """How long the phases after the first burst's beginning are, of the time that is left."""
    names = (Name.BURST, Name.BETWEEN, Name.HIGHER, Name.LAST)
    return {name: round(seconds * share, 1) for name, share in zip(names, SHARES, strict=True)}
