"""From what a profile found to `costs:` of a manifest, and how well these predict what was not fitted. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from spillway.controllers.profiling import prices
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.prices import Profiled
from spillway.controllers.profiling.rounds import Reason, State
from spillway.model.operators import Costs
from spillway.model.quantities import Duration
from spillway.model.streamjob import StreamJob

# Frames of deployments that nothing is fitted on: between those that are fitted, and as far as can be from them.
HELD_OUT = (3, 30)
SMALLEST = 4  # digits of a selectivity that count: what is measured is known to some per cent


@dataclasses.dataclass(frozen=True, slots=True)
class Miss:
    """A cost that was predicted, and measured: seconds of a slot for one record of an operator."""

    operator: str
    frame_in: float | None
    frame_out: float | None
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Of what was measured."""
        return self.predicted / self.measured - 1


def declared(job: StreamJob, found: Sequence[Profiled]) -> dict[str, Costs]:
    """By operator, as a manifest declares them.

    For each output that takes its records, planning adds s·c_emit to what an operator costs, because each of them is a
    message of its own. What was measured has that in its cpu, so it is taken out here.
    """
    takers = [output.input for output in job.spec.outputs]
    operators = {operator.name for operator in job.spec.operators}
    costs: dict[str, Costs] = {}
    for one in found:
        if one.name not in operators:
            continue  # a stream that is read into an edge: it has no operator to declare costs of
        sent = one.selectivity.value * one.emit.value * takers.count(one.name)
        cpu = max(0.0, one.cpu.value - sent)
        told = one.declared()
        costs[one.name] = told.model_copy(
            update={"cpu": Duration(round(cpu * 1e9)), "selectivity": rounded(one.selectivity.value)}
        )
    return costs


def flow(costs: Costs) -> str:
    """On one line, as YAML has it."""
    parts = [
        f"{name}: {value}"
        for name, value in (
            ("cpu", costs.cpu),
            ("fetch", costs.fetch),
            ("emit", costs.emit),
            ("selectivity", f"{costs.selectivity:g}" if costs.selectivity is not None else None),
            ("recordSize", costs.record_size),
        )
        if value is not None
    ]
    return "{" + ", ".join(parts) + "}"


def rounded(value: float) -> float:
    """With as many digits as count."""
    return float(f"{value:.{SMALLEST}g}")


def held_out(state: State) -> list[Deployment]:
    """Deployments to test the costs on: as light as those that they were fitted on, with other frames."""
    learnt = [done for done in state.rounds if done.reason is Reason.LEARNT]
    if not learnt or len(state.settings.frames) < 2:
        return []
    levels: dict[str, int] = {}
    for operator in state.application.operators:
        levels[operator.name] = 1 + max((levels[name] for name in operator.inputs), default=-1)
    return [
        Deployment(
            dict(learnt[-1].move.deployment.tasks),
            learnt[-1].move.deployment.rate,
            {name: HELD_OUT[(level + turn) % len(HELD_OUT)] for name, level in levels.items()},
        )
        for turn in range(len(HELD_OUT))
    ]


def misses(found: Sequence[Profiled], measured: Sequence[Measurement]) -> list[Miss]:
    """What was predicted for each operator of some measurements (Eq. 3.8), and what it was."""
    return [
        Miss(one.name, reading.frame_in, reading.frame_out, _predicted(one, measurement), reading.processing)
        for measurement in measured
        for one in found
        if (reading := measurement.operators[one.name]).processing > 0
    ]


def worst(missed: Sequence[Miss]) -> tuple[float, float]:
    """The mean error, and the worst one, without their signs."""
    errors = [abs(one.error) for one in missed]
    return (statistics.fmean(errors), max(errors)) if errors else (0.0, 0.0)


def _predicted(one: Profiled, measurement: Measurement) -> float:
    """c_p = c_cpu + c_fetch/b_in + s·c_emit/b_out, with the frames that really came and went."""
    reading = measurement.operators[one.name]
    gain = reading.rate_out / reading.rate_in if reading.rate_in else 0.0
    fetch = one.fetch.value / reading.frame_in if reading.frame_in else 0.0
    emit = gain * one.emit.value / reading.frame_out if reading.frame_out else 0.0
    return one.cpu.value + fetch + emit


def found(state: State) -> tuple[Profiled, ...]:
    """What a profile found; nothing before its first step is done."""
    return prices.find(state)


def notes(found: Sequence[Profiled]) -> Mapping[str, str]:
    """What is to be known of costs, by operator."""
    return {one.name: one.note for one in found if one.note}
