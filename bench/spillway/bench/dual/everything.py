"""All measurements in one go, within half an hour on two cores: what `make bench` runs.

What record by record and batches can do is measured once for each workload, and the loads of all figures follow from
that. The first thing that is shown is how busy the machine was before anything began: with strangers on the cores, no
figure says more than which of two is the larger one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from spillway.bench.dual import bursts, high, low, machine, parts, threshold, throughput
from spillway.bench.dual.keeping import Keeper
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import ads, words
from spillway.bench.workloads.work import Work

# Seconds of load in a run of each, while one of `throughput` takes eight.
BASE = 8.0
LENGTHS = {bursts: 90.0, high: 25.0, low: 20.0, threshold: 120.0, parts: 10.0}


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All figures of word count, and what the others get through; or all figures of some workloads."""
    began, share = time.monotonic(), seconds / BASE

    def say(line: str) -> None:
        done(f"{time.monotonic() - began:6.0f} s  {line}")

    found = machine.looked()
    for work in some or (words.WORDS,):
        found += throughput.main(seconds, rounds, say, keeper, [work])
        record, batch = high.capacities(work, say)
        found += high.able(work, record, batch)
        if batch >= bursts.GAIN * record:
            load = bursts.phases(record, batch, LENGTHS[bursts] * share)
            found += bursts.shown(work, bursts.measured(work, load, rounds, say, keeper))
        if (rate := high.chosen(record, batch)) is not None:
            found += high.shown(work, rate, high.measured(work, rate, LENGTHS[high] * share, rounds, say, keeper))
        rate = low.SHARE * record
        found += low.shown(work, rate, low.measured(work, rate, LENGTHS[low] * share, rounds, say, keeper))
        if work is words.WORDS:
            runs = threshold.measured(work, record, LENGTHS[threshold] * share, rounds, say, keeper)
            found += threshold.shown(work, record, runs)
            found += parts.main(LENGTHS[parts] * share, rounds, say, keeper)
    if not some:
        found += throughput.main(seconds, rounds, say, keeper, [words.SPLIT, words.GREP, ads.YSB])
    return [*found, *machine.looked()]
