"""Latencies as a histogram of high dynamic range: 0.1 % exact, from a tenth of a millisecond to hours.

A value is counted in a bucket whose width is at most a 1024th of it, as in HdrHistogram: powers of two, each cut into
1024 buckets of the same width. So what is kept of a run is small, two of them can be added, and every quantile can be
asked for later. The package of that name counts values one by one; here they are there all at once, in arrays, and
counting them is one call of numpy. Its coded form could be read by other tools; ours is JSON, which can be read by all.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spillway.bench.workloads.work import Floats, Numbers

UNIT = 0.1  # milliseconds: the least that is told apart, a tenth of what a broker tells apart
BITS = 10  # 2 ** 10 buckets for each power of two
SHARES = (0.5, 0.95, 0.99, 0.999)


@dataclasses.dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of milliseconds.

    Attributes:
        buckets: that have any, ascending.
        counts: of each.
        total: the sum of all values.
        most: the largest value, exactly.
    """

    buckets: Numbers
    counts: Numbers
    total: float
    most: float

    @classmethod
    def of(cls, values: Floats) -> Histogram:
        """Of these; below zero counts as zero: a broker cuts its time off."""
        buckets, counts = np.unique(_bucket(np.maximum(values, 0.0)), return_counts=True)
        most = float(values.max()) if len(values) else math.nan
        return cls(buckets, counts.astype(np.int64), float(values.sum()), most)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Histogram:
        """What `told` has given."""
        pairs = np.array(told["buckets"], np.int64).reshape(-1, 2)
        most = told["max"]
        return cls(pairs[:, 0], pairs[:, 1], float(told["total"]), math.nan if most is None else float(most))

    def __add__(self, other: Histogram) -> Histogram:
        """Both together."""
        buckets, where = np.unique(np.concatenate([self.buckets, other.buckets]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([self.counts, other.counts]), len(buckets)).astype(np.int64)
        most = float(np.nanmax([self.most, other.most])) if len(buckets) else math.nan
        return Histogram(buckets, counts, self.total + other.total, most)

    @property
    def count(self) -> int:
        """How many values."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Their mean; NaN of none."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, share: float) -> float:
        """The least value that so many are not above, rounded up to the end of its bucket; NaN of none."""
        if not self.count:
            return math.nan
        if share >= 1:
            return self.most
        rank = max(1, math.ceil(round(share * self.count, 9)))
        bucket = self.buckets[int(np.searchsorted(np.cumsum(self.counts), rank))]
        return min(self.most, _end(int(bucket)))

    def told(self) -> dict[str, Any]:
        """For a file: quantiles for who reads it, buckets for who counts again."""
        return {
            "count": self.count,
            "total": self.total,
            "mean": self.mean,
            **{f"p{share * 100:g}": self.quantile(share) for share in SHARES},
            "max": self.most,
            "buckets": [[int(bucket), int(count)] for bucket, count in zip(self.buckets, self.counts, strict=True)],
        }


def _bucket(values: Floats) -> Numbers:
    """Value v of 2^e to 2^(e+1) units: 2^BITS buckets, the first 2^BITS units one each."""
    units = values / UNIT
    _, exponents = np.frexp(np.maximum(units, 1.0))
    shifts = np.maximum(0, exponents - 1 - BITS).astype(np.int64)
    found: Numbers = (shifts << BITS) + np.floor(units / np.exp2(shifts)).astype(np.int64)
    return found


def _end(bucket: int) -> float:
    """Milliseconds at the end of a bucket."""
    shift = max(0, (bucket >> BITS) - 1)
    return float(((bucket - (shift << BITS)) + 1) << shift) * UNIT
