"""Step 1, application features (SWP, section 4.1): what stays the same however many tasks there are.

A light load, so that every task has all it needs, gives MinLp of each operator and the size of each stream; RSS is a
stream's share of all streams. Algorithm 1 makes of them, with TaskLoad_i = MinLp_i · Σ_k RSS_k,i,

    R_i = TaskLoad_i / max_s TaskLoad_s, rounded to ⌈R_i/slice⌉                     for parallel operators  (Eq. 1)
    P_i = 1                                                                        for non-parallel ones
    P_i = ⌈TaskLoad_i · TotalFlow⌉, or ⌈TaskLoad_i / max_s TaskLoad_s⌉ without one     for non-scalable ones
    TotalFlow = min over non-parallel operators of 1/(MinLp_i · Σ_k RSS_k,i)

Where the text leaves it open:

- Streams are counted in records, not in bytes: MinLp is per record, and the paper's Sentence Splitter, whose stream
  becomes 12 times larger, makes 12 words of a text.
- The bracket of Eq. 1 is a ceiling, and the numbers are divided by what they have in common. With slice = 0.3 that is
  what the paper's experiments show: Linear (1, 1, 1), scaled to (2, 2, 2); Star (4, 2, 2) = (2, 1, 1), scaled to
  (48, 24, 24); Diamond at most 4 : 1 ("prevents Op3 from scaling more than four times faster"). Rounded down, Star
  would be (3, 1, 1) and nothing more than 3 : 1. The 2 : 2 : 3 of Fig. 3 can't come from 0.3 in either way.
- Line 16 of the listing divides by the smallest load, the text below it says by the largest ("in both line 16 and
  23"). It is the largest here: by the smallest, one operator that costs nearly nothing gives all non-scalable ones
  thousands of tasks. With the largest each begins with one, and step 3 adds where that is too narrow.
- Sources are in neither: step 2 begins with one task for each, and scales them in their turn.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from spillway.controllers.profiling.application import Application


@dataclasses.dataclass(frozen=True, slots=True)
class Features:
    """What step 1 finds.

    Attributes:
        latency: MinLp by operator, in seconds.
        ratio: R, by operator that can be scaled.
        degree: P, by operator that can't.
    """

    latency: Mapping[str, float]
    ratio: Mapping[str, int]
    degree: Mapping[str, int]

    def tasks(self, application: Application) -> dict[str, int]:
        """The tasks that step 2 begins with."""
        found = {source.name: 1 for source in application.sources} | dict(self.ratio) | dict(self.degree)
        return {o.name: int(min(found[o.name], o.limit)) for o in application.operators}


def find(application: Application, latency: Mapping[str, float], sent: Mapping[str, float], unit: float) -> Features:
    """Algorithm 1, with MinLp and the records per second that each operator sends; `unit` is slice."""
    loads = task_loads(application, latency, sent)
    scalable = {operator.name for operator in application.scalable}
    heaviest = max((loads[name] for name in scalable), default=0.0)
    flows = [1 / loads[sink.name] for sink in application.sinks if not sink.parallel and loads[sink.name]]
    degree = {
        sink.name: _degree(loads[sink.name], min(flows, default=math.inf), max(loads.values())) if sink.parallel else 1
        for sink in application.sinks
        if sink.name not in scalable
    }
    parts = {name: math.ceil(loads[name] / heaviest / unit) if heaviest else 1 for name in loads if name in scalable}
    common = math.gcd(*(max(1, part) for part in parts.values())) if parts else 1
    ratio = {name: max(1, part) // common for name, part in parts.items()}
    return Features(dict(latency), ratio, degree)


def task_loads(application: Application, latency: Mapping[str, float], sent: Mapping[str, float]) -> dict[str, float]:
    """TaskLoad of every sink: MinLp · Σ RSS of what it reads."""
    everything = math.fsum(sent[name] for sink in application.sinks for name in sink.inputs) or 1.0
    return {
        sink.name: latency[sink.name] * math.fsum(sent[name] / everything for name in sink.inputs)
        for sink in application.sinks
    }


def _degree(load: float, total_flow: float, heaviest: float) -> int:
    """P of a non-scalable operator, at least 1."""
    wanted = load / heaviest if math.isinf(total_flow) and heaviest else load * total_flow if load else 0.0
    return max(1, math.ceil(wanted))
