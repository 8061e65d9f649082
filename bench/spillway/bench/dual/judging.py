"""Is what came out right, and how old was each message when the output first told of it? Pure.

A result says that its key has come *n* times. So with d(1) ≤ d(2) ≤ … the due times of the messages that count for a
key, and t(k) the first time at which a result told of k or more of them,

    latency of the k-th = t(k) - d(k)

which asks no system for a time, needs no column for it, and holds for those that tell of every message as for those
that tell of many at once. It is exact where a key's messages are taken in the order in which they were due, and too
long, never too short in the mean, where they aren't.

lost: messages that count, and of which no result tells. wrong: results of a key that should not be there, that tell of
more than there are, or of what was not due yet. duplicated: results that were told before; right, but once too often.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from spillway.bench.dual.tails import Results
from spillway.bench.dual.works import Floats, Key

# Milliseconds. The time of a broker is cut off, and taken to be at its end; both clocks are the same one.
EARLY = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """What one run has shown.

    Attributes:
        lost, wrong, duplicated: messages that are missing, results that are wrong or were told before.
        expected: messages that count.
        messages: results that there are.
        dues: seconds since 1970 of all messages that count and were told of, ascending.
        latencies: milliseconds, of the same.
    """

    lost: int
    wrong: int
    duplicated: int
    expected: int
    messages: int
    dues: Floats
    latencies: Floats

    @property
    def problem(self) -> str:
        """Why there is no figure; empty if there is one."""
        return f"{self.lost} lost, {self.wrong} wrong" if self.lost or self.wrong else ""

    def within(self, begin: float, end: float) -> Floats:
        """Latencies of what was due from one time to another."""
        found: Floats = self.latencies[np.searchsorted(self.dues, begin) : np.searchsorted(self.dues, end)]
        return found

    def done(self) -> Floats:
        """When the output told of each, in seconds since 1970, ascending: the n-th time is when n were done."""
        found: Floats = np.sort(self.dues + self.latencies / 1000)
        return found


def judged(results: Mapping[Key, Results], expected: Mapping[Key, np.ndarray], dues: Floats) -> Judged:
    """Compare; `expected` has the numbers of the messages that count for a key, `dues` when each was due (seconds)."""
    lost = wrong = duplicated = 0
    all_dues, all_latencies = [], []
    for key, (counts, at) in results.items():
        wanted = expected.get(key)
        if wanted is None:
            wrong += len(counts)
            continue
        beyond = counts > len(wanted)
        strange = beyond | (counts < 1)
        wrong += int(np.count_nonzero(strange))
        counts, at = counts[~strange], at[~strange]
        duplicated += len(counts) - len(np.unique(counts))
        if not len(counts):
            lost += len(wanted)
            continue
        # t(k): the earliest of all results that tell of k or more.
        order = np.argsort(counts, kind="stable")
        told = counts[order]
        first = np.minimum.accumulate(at[order][::-1])[::-1]
        most = int(told[-1])
        reached = first[np.searchsorted(told, np.arange(1, most + 1))] + 1.0
        due = np.sort(dues[wanted[:most]])
        late = reached - due * 1000
        wrong += int(np.count_nonzero(late < -EARLY))
        lost += len(wanted) - most
        all_dues.append(due)
        all_latencies.append(late)
    lost += sum(len(wanted) for key, wanted in expected.items() if key not in results)
    flat, latencies = (np.concatenate(some) if some else np.zeros(0) for some in (all_dues, all_latencies))
    order = np.argsort(flat, kind="stable")
    return Judged(
        lost,
        wrong,
        duplicated,
        sum(map(len, expected.values())),
        sum(len(counts) for counts, _ in results.values()),
        flat[order],
        latencies[order],
    )
