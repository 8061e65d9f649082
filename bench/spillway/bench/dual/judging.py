"""Is what came out right, and how old was each message when the output first told of it? Pure.

A result says that its key has come *n* times. So with d(1) ≤ d(2) ≤ … the due times of the messages that count for a
key, and t(k) the first time at which a result told of k or more of them,

    latency of the k-th = t(k) - d(k)

which asks no system for a time, needs no column for it, and holds for those that tell of every message as for those
that tell of many at once. It is exact where a key's messages are taken in the order in which they were due, and too
long, never too short in the mean, where they aren't.

The age of a *result* is that of Equations 1 and 2 of the benchmark paper: its time is the latest event time of all
that it is made of, t_o[m] = max t_i[k], and

    latency of a result = when it came - t_o[m]

which is, of one that says n, when it came less d(n). It needs no column for the time either, and says little of a
system that tells seldom: what a message waited for the result that it is in, the latency above has.

lost: messages that count, and of which no result tells. wrong: results of a key that should not be there, that tell of
more than there are, of what was not due yet, or, once all of a key's messages are in it, of another amount than that of
these messages. duplicated: results that were told before; right, but once too often.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spillway.bench.dual.tails import Results
from spillway.bench.workloads.work import Floats, Key, Numbers

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
        latest: seconds since 1970 of the newest message of each result, ascending.
        ages: milliseconds, of the same results.
        closed: seconds since 1970 at which each window closed, ascending, where a workload has such.
        after: milliseconds from then until the last result of it: the latency that the Yahoo benchmark tells.
    """

    lost: int
    wrong: int
    duplicated: int
    expected: int
    messages: int
    dues: Floats
    latencies: Floats
    latest: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    ages: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    closed: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    after: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))

    @property
    def problem(self) -> str:
        """Why there is no figure; empty if there is one."""
        return f"{self.lost} lost, {self.wrong} wrong" if self.lost or self.wrong else ""

    def within(self, begin: float, end: float) -> Floats:
        """Latencies of what was due from one time to another."""
        found: Floats = self.latencies[np.searchsorted(self.dues, begin) : np.searchsorted(self.dues, end)]
        return found

    def aged(self, begin: float, end: float) -> Floats:
        """Ages of the results whose newest message was due from one time to another."""
        found: Floats = self.ages[np.searchsorted(self.latest, begin) : np.searchsorted(self.latest, end)]
        return found

    def since(self, begin: float) -> Judged:
        """The same, with the latencies alone of what was due from then on."""
        due, latest, closed = (int(np.searchsorted(some, begin)) for some in (self.dues, self.latest, self.closed))
        return dataclasses.replace(
            self,
            dues=self.dues[due:],
            latencies=self.latencies[due:],
            latest=self.latest[latest:],
            ages=self.ages[latest:],
            closed=self.closed[closed:],
            after=self.after[closed:],
        )

    def done(self) -> Floats:
        """When the output told of each, in seconds since 1970, ascending: the n-th time is when n were done."""
        found: Floats = np.sort(self.dues + self.latencies / 1000)
        return found


# What a system may be off by in a mean or a price: sums of doubles depend on their order in the last digits.
CLOSE = 1e-9
Amount = Callable[[Numbers], float]
Closes = Callable[[Key], float]


def judged(
    results: Mapping[Key, Results],
    expected: Mapping[Key, Numbers],
    dues: Floats,
    amount: Amount | None = None,
    closes: Closes | None = None,
) -> Judged:
    """Compare; `expected` has the numbers of the messages that count for a key, `dues` when each was due (seconds).

    `amount` is what has to be told of these messages besides, `closes` when the window of a key ends (ms).
    """
    lost = wrong = duplicated = 0
    all_dues, all_latencies, all_latest, all_ages = [], [], [], []
    for key, (counts, at, amounts) in results.items():
        wanted = expected.get(key)
        if wanted is None:
            wrong += len(counts)
            continue
        if amounts is not None and amount is not None:
            wrong += _wrong_amounts(amounts[counts == len(wanted)], amount(wanted))
        strange = (counts > len(wanted)) | (counts < 1)
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
        all_latest.append(due[counts - 1])
        all_ages.append(at + 1.0 - due[counts - 1] * 1000)
    lost += sum(len(wanted) for key, wanted in expected.items() if key not in results)
    return Judged(
        lost,
        wrong,
        duplicated,
        sum(map(len, expected.values())),
        sum(len(one.counts) for one in results.values()),
        *_in_order(all_dues, all_latencies),
        *_in_order(all_latest, all_ages),
        *_after(results, closes),
    )


def _after(results: Mapping[Key, Results], closes: Closes | None) -> tuple[Floats, Floats]:
    """When windows closed, and how long after that their last result came."""
    if closes is None:
        return np.zeros(0), np.zeros(0)
    ends = np.array([(closes(key), one.at[-1] + 1.0) for key, one in results.items()], np.float64).reshape(-1, 2)
    ends = ends[~np.isnan(ends[:, 0])]
    return _in_order([ends[:, 0] / 1000], [ends[:, 1] - ends[:, 0]])


def _wrong_amounts(amounts: Floats, right: float) -> int:
    return int(np.count_nonzero(~np.isclose(amounts, right, rtol=CLOSE, atol=CLOSE)))


def _in_order(times: Sequence[Floats], values: Sequence[Floats]) -> tuple[Floats, Floats]:
    flat, all_values = (np.concatenate(some) if some else np.zeros(0) for some in (times, values))
    order = np.argsort(flat, kind="stable")
    return flat[order], all_values[order]
