"""Capacities, and the latency without queues that last, from the cost model and the latency model.

The fluid has the queues that grow because more comes than is done. What it does not have is everything else: frames
that fill, hops, CPU, and the queues of a slot that keeps up on average. That is `latency.predict`, at the rates of the
moment or, where these are too much, at the largest multiple of them that all segments keep up with, less a little:
from there on the queue of the fluid is the one that counts.

Asking both models takes milliseconds, so rates are rounded to 5 %, and answers are kept.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from spillway.controllers.costmodel import bottlenecks, exact
from spillway.controllers.costmodel.capacity import Prices
from spillway.controllers.costmodel.flow import Settings
from spillway.controllers.latency import filling, prediction
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.moments import Moments
from spillway.model.operators import Paradigm
from spillway.simulation.jobs import Job

# Of what the scarcest segment can do. At 98 % a queue of single records is 50 services long, less than a step of the
# fluid for any cost below 2 ms; closer to 1 the stationary queue grows beyond all bounds, and takes longer to get
# there than any load lasts.
FULL = 0.98
STEP = 1.05  # rates are rounded to powers of it
# The batches themselves are simulated, so the model is asked about an engine whose interval is next to nothing; the
# frames and hops behind it are what remains.
_INSTANT = 1e-3
MOST_TRIES = 8  # to find the load that all keep up with; each is off by less than half of the one before
_NEAR = 0.01
_LESS = 0.9  # where the two models do not agree about what is too much


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """What holds at some rates with some sizes.

    `costs` are seconds of a slot for one record, by node. `base` is the latency without queues that last, with μ and
    σ². Its distribution is taken to be a gamma distribution of the shape k = μ²/σ²: positive, with a tail, exact for
    one exponential queue, and nearly normal for many phases. By Wilson and Hilferty the cube root of x/μ is then
    normal with the mean 1 - 1/(9k) and the variance 1/(9k), `ninth`. Waits in frames end at a deadline and have no
    tail, so quantiles are rather too high.
    """

    costs: Mapping[str, float]
    base: Moments

    @property
    def ninth(self) -> float:
        """1/(9k)."""
        return self.base.variance / (9 * self.base.mean**2) if self.base.mean and self.base.finite else 0.0

    def within(self, bound: float) -> float:
        """The share of records with a base of at most that."""
        if bound <= 0:
            return 0.0
        ninth = self.ninth
        if not ninth:
            return 1.0 if self.base.mean <= bound else 0.0
        deviations = (math.cbrt(bound / self.base.mean) - 1 + ninth) / math.sqrt(ninth)
        return (1 + math.erf(deviations / math.sqrt(2))) / 2

    def quantile(self, deviations: float) -> float:
        """The base at a quantile of the normal distribution that its cube root has."""
        ninth = self.ninth
        return self.base.mean * max(0.0, 1 - ninth + deviations * math.sqrt(ninth)) ** 3


class Points:
    """The points of one job, asked for in each step and computed once."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.sources = [node.name for node in job.flow.sources]
        self.nodes = [node.name for node in job.flow.nodes]
        self._known: dict[tuple[object, ...], Point] = {}
        self._scale = 1 / math.log(STEP)

    def at(self, rates: Sequence[float], sizes: tuple[tuple[int, Paradigm], ...]) -> Point:
        """At the rates of the sources, with the parallelism and paradigm of each node; cores count by what they do."""
        scale = self._scale
        rounded = tuple([round(math.log(rate) * scale) if rate >= 1 else -1 for rate in rates])
        key = (rounded, sizes)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._ask(rounded, sizes)
        return found

    def _ask(self, rounded: Sequence[int], sizes: tuple[tuple[int, Paradigm], ...]) -> Point:
        job = self.job
        parallelism, paradigms = {}, {}
        for name, (slots, paradigm) in zip(self.nodes, sizes, strict=True):
            parallelism[name] = min(max(1, slots), job.partitions.get(name, max(1, slots)))
            paradigms[name] = paradigm
        settings = job.settings(parallelism)
        rates = {name: STEP**k if k >= 0 else 0.0 for name, k in zip(self.sources, rounded, strict=True)}
        works = bottlenecks.follow(job.flow, settings, rates, job.slot, limited=False)
        priced = Priced(job, works, parallelism, paradigms)
        factor, costs = 1.0, priced.costs(1.0)
        for _ in range(MOST_TRIES):  # smaller rates make smaller frames, so what a record costs rises a little again
            fullest = max(work * costs[name] / parallelism[name] for name, work in priced.rates.items()) * factor
            if fullest <= FULL * (1 + _NEAR):
                break
            factor *= FULL / fullest
            costs = priced.costs(factor)
        base = self._base(settings, paradigms, {name: rate * factor for name, rate in rates.items()})
        return Point(costs, base)

    def _base(self, settings: Settings, paradigms: Mapping[str, Paradigm], rates: Mapping[str, float]) -> Moments:
        job = self.job
        for _ in range(MOST_TRIES):
            predicted = prediction.predict(
                job.flow,
                settings,
                rates,
                deadlines=job.deadlines,
                paradigms=paradigms,
                partitions=job.partitions,
                variability=job.variability,
                slot=job.slot,
                hop=job.hop,
                engines={name: Engine(_INSTANT) for name, to in paradigms.items() if to is Paradigm.BATCH},
            )
            if predicted.ways[0].moments.finite:
                break
            rates = {name: rate * _LESS for name, rate in rates.items()}
        return predicted.ways[0].moments


class Priced:
    """What a record costs with the frames that really leave: full, or cut by their deadline.

    The cost model prices full frames. With many partitions and a short deadline frames are far from full, each costs
    as much to send and to take in all the same, and a slot does fewer records. Batches have full frames.
    """

    def __init__(
        self,
        job: Job,
        works: Sequence[bottlenecks.Work],
        parallelism: Mapping[str, int],
        paradigms: Mapping[str, Paradigm],
    ) -> None:
        self.job = job
        self.works = {work.node.name: work for work in works}
        self.rates = {name: exact.approximate(work.inflow.records) for name, work in self.works.items()}
        self.prices = {name: Prices.of(job.flow, work.node, job.slot) for name, work in self.works.items()}
        self.batches = {name for name, paradigm in paradigms.items() if paradigm is Paradigm.BATCH}
        self.partitions = {name: job.partitions.get(name, slots) for name, slots in parallelism.items()}

    def costs(self, factor: float) -> dict[str, float]:
        """Seconds of a slot for one record, by node, at a multiple of the rates."""
        flow, frames = self.job.flow, {}
        for name, work in self.works.items():
            for output in work.node.outputs:
                for reader in flow.readers[output.name]:
                    if output.framed:
                        rate = exact.approximate(work.rates_out[output.name]) * factor
                        frames[output.name, reader] = self._frame(name, output.name, reader, rate)
        return {name: self._cost(work, frames) for name, work in self.works.items()}

    def _frame(self, sender: str, output: str, reader: str, rate: float) -> float:
        most = self.job.frames.get(sender, 1)
        if sender in self.batches:
            return float(most)
        buffers = self.partitions[sender] * self.partitions[reader]
        return filling.fill(most, rate / buffers, self.job.deadlines.get(output, math.inf)).records

    def _cost(self, work: bottlenecks.Work, frames: Mapping[tuple[str, str], float]) -> float:
        name, records = work.node.name, self.rates[work.node.name]
        if not records or name in self.batches:
            return exact.approximate(work.cost)
        prices, flow = self.prices[name], self.job.flow
        coming = math.fsum(
            exact.approximate(self.works[flow.owners[given].name].rates_out[given]) / frames[given, name]
            for given in work.node.inputs
            if flow.is_framed(given)
        )
        leaving = min((frame for (output, _), frame in frames.items() if flow.owners[output].name == name), default=1.0)
        cpu = float(prices.fetch) * coming / records + float(prices.cpu) + float(prices.emit) / leaving
        return max(cpu, exact.approximate(max(work.demand.network_in, work.demand.network_out)) / records)
