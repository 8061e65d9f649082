"""The front door: how long records of a plan take, by phase, by segment, and in quantiles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from spillway.controllers.costmodel import flow as flows
from spillway.controllers.costmodel.flow import CORE, Flow, Settings, Slot, Workload
from spillway.controllers.latency import moments, paths, segments
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.latency.paths import Way
from spillway.controllers.latency.phases import Breakdown
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.latency.windows import Window
from spillway.model.operators import Paradigm

_NONE: Mapping[str, Any] = MappingProxyType({})
_LEAST = 0.5  # below the median, more variance means an earlier quantile, and other ways would be the worst


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """What a plan promises.

    Attributes:
        ways: from a source to an output, those that may be the worst for some quantile; first the one that is the
            worst for the quantile that was asked about, which `mean`, `path`, `phases` and `segments` are of.
        observed: whether latencies were seen to be normally distributed; if not, quantiles are Cantelli's bound.
    """

    ways: tuple[Way, ...]
    observed: bool

    @property
    def mean(self) -> float:
        """Seconds; infinite when some segment on the way can't keep up."""
        return self.ways[0].moments.mean

    @property
    def variance(self) -> float:
        """Seconds²."""
        return self.ways[0].moments.variance

    @property
    def path(self) -> tuple[str, ...]:
        """The segments of the worst way, from its source on."""
        return self.ways[0].path

    @property
    def phases(self) -> Breakdown:
        """Where the time goes on the worst way."""
        return self.ways[0].phases

    @property
    def segments(self) -> Mapping[str, Breakdown]:
        """The same by segment; what an edge takes is part of the segment that sends."""
        return MappingProxyType(dict(self.ways[0].segments))

    @property
    def p95(self) -> float:
        """Within this are 95 of 100 records."""
        return self.quantile(0.95)

    @property
    def p99(self) -> float:
        """Within this are 99 of 100 records."""
        return self.quantile(0.99)

    def likely(self, x: float) -> float:
        """About how long the share x of the records takes, x ≥ 0.5: to be told, and compared with what is seen.

        Not to be promised: that is `quantile`, which holds whatever the distribution is.
        """
        _check_median(x)
        return max(moments.likely(way.moments, x) for way in self.ways)

    def quantile(self, x: float) -> float:
        """Within this is the share x of the records of every way, x ≥ 0.5."""
        _check_median(x)
        return max(way.moments.quantile(x, observed=self.observed) for way in self.ways)


def predict(
    flow: Flow,
    settings: Settings,
    workload: Workload,
    *,
    deadlines: Mapping[str, float] = _NONE,
    paradigms: Mapping[str, Paradigm] = _NONE,
    windows: Mapping[str, Window] = _NONE,
    partitions: Mapping[str, int] = _NONE,
    variability: Mapping[str, Variability] = _NONE,
    slot: Slot = CORE,
    cores: int | None = None,
    hop: Moments = ZERO,
    engines: Mapping[str, Engine] = _NONE,
    shared: Iterable[Collection[str]] = (),
    observed: bool = False,
    at: float = 0.99,
) -> Prediction:
    """The latency of the worst way through a plan.

    Args:
        flow: what runs, one node for each segment.
        settings: parallelism and frame of each node.
        workload: records per second for each source.
        deadlines: by output, seconds after its first record at which a frame leaves at the latest; without one it
            leaves only when it is full.
        paradigms: by node; record where nothing is said. `Paradigm.AUTO` is to be decided before.
        windows: by node, for those whose results are those of windows.
        partitions: by node, of its input; one for each slot where nothing is said.
        variability: by node, how much arrivals and costs vary.
        slot: what a slot has; `slot.sharing` is how many slots a worker has.
        cores: n of Eq. 2, of a worker; as many as slots where nothing is said.
        hop: what the log takes for a frame from one segment to the next, whatever its size.
        engines: by node, the batch engine as it runs there; needed for those that run in batches.
        shared: groups of nodes that share one slot; each has a parallelism of 1 and runs record by record.
        observed: whether quantiles are those of a normal distribution, and not the bound for any.
        at: the quantile that decides which way is the worst.
    """
    flows.check_workload(flow, workload)
    flows.check_settings(flow, settings)
    together = {name: tuple(sorted(group)) for group in shared for name in group}
    batches = {name: engines[name] for name in engines if paradigms.get(name) is Paradigm.BATCH}
    around = segments.Circumstances(
        settings,
        deadlines,
        batches,
        partitions,
        variability,
        together,
        slot,
        int(slot.sharing if cores is None else cores),
        hop,
    )
    _check(flow, around, paradigms, windows)
    _check_shared(flow, around, shared)
    _check_median(at)
    found = segments.of(flow, workload, around)
    closing = paths.closes(windows, senders(flow, settings, windows), found.slowdown)

    def rank(mean: float, variance: float) -> float:
        return Moments(mean, variance).quantile(at, observed=observed)

    return Prediction(paths.to_outputs(flow, found, closing, rank), observed)


def senders(flow: Flow, settings: Settings, windows: Mapping[str, Window]) -> dict[str, int]:
    """S·M of each window: as given, or all slots of the nodes that it reads, of which a topic has none."""
    return {
        name: window.senders or sum(settings[p].parallelism for p in _producers(flow, name)) or 1
        for name, window in windows.items()
    }


def _producers(flow: Flow, name: str) -> set[str]:
    """The nodes that a node reads."""
    return {flow.owners[output].name for output in flow[name].inputs}


def _check(
    flow: Flow, around: segments.Circumstances, paradigms: Mapping[str, Paradigm], windows: Mapping[str, Window]
) -> None:
    """Refuse names that the flow does not have, and numbers that make no sense."""
    nodes = {node.name for node in flow.nodes}
    for what, given in (
        ("paradigms", paradigms),
        ("windows", windows),
        ("partitions", around.partitions),
        ("variability", around.variability),
    ):
        _check_names(what, given, nodes)
    _check_names("deadlines", around.deadlines, set(flow.owners))
    for name, deadline in sorted(around.deadlines.items()):
        if math.isnan(deadline) or deadline < 0:
            message = f"the deadline of {name!r} is {deadline}; it must be 0 seconds or more"
            raise ValueError(message)
    for name, count in sorted(around.partitions.items()):
        slots = around.settings[name].parallelism
        if count < slots:
            message = (
                f"the input of {name!r} has {count} partitions for {slots} slots: some would have "
                "no work; lower the parallelism or add partitions"
            )
            raise ValueError(message)
    if around.cores < 1:
        message = f"cores is {around.cores}; a worker has at least 1"
        raise ValueError(message)
    for name, paradigm in sorted(paradigms.items()):
        if paradigm is Paradigm.AUTO:
            message = f"the paradigm of {name!r} is left open; decide it, then ask how long records take"
            raise ValueError(message)
        if paradigm is Paradigm.BATCH and name not in around.engines:
            message = f"{name!r} runs in batches, and nothing is known of the batch engine there; pass it in `engines`"
            raise ValueError(message)


def _check_shared(flow: Flow, around: segments.Circumstances, groups: Iterable[Collection[str]]) -> None:
    """Refuse who shares a slot and has several, or none, or is in two groups."""
    names = [name for group in groups for name in group]
    _check_names("groups that share a slot", dict.fromkeys(names), {node.name for node in flow.nodes})
    for name in sorted(names):
        if names.count(name) > 1 or around.settings[name].parallelism != 1 or name in around.engines:
            message = f"{name!r} can't share a slot: it is in two groups, or has several slots, or runs in batches"
            raise ValueError(message)


def _check_names(what: str, given: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        message = f"{what} are given for {', '.join(unknown)}, which the flow does not have; it has {sorted(known)}"
        raise ValueError(message)


def _check_median(x: float) -> None:
    if not _LEAST <= x < 1:
        message = f"a quantile is asked for at {x}; ask for one from the median (0.5) on, and below 1"
        raise ValueError(message)
