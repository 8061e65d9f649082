"""A profile as JSON has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from spillway.cli.profiling import costs
from spillway.cli.profiling.costs import Miss
from spillway.controllers.profiling.machine import Finished
from spillway.controllers.profiling.prices import Price, Profiled
from spillway.controllers.profiling.rounds import Round
from spillway.model.operators import Costs


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """All that came out.

    Attributes:
        job: namespace/name.
        platform: where it ran, in words.
        fed: with what, in words.
        finished: the end of it.
        found: what each operator costs.
        declared: the same for a manifest.
        missed: what the costs said of settings that they were not fitted on.
    """

    job: str
    platform: str
    fed: tuple[str, ...]
    finished: Finished
    found: Sequence[Profiled]
    declared: Mapping[str, Costs]
    missed: Sequence[Miss]


def answer(profile: Profile) -> dict[str, Any]:
    """All of it."""
    end = profile.finished
    mean, worst = costs.worst(profile.missed)
    return {
        "job": profile.job,
        "platform": profile.platform,
        "fed": list(profile.fed),
        "rounds": [_round(one) for one in end.rounds],
        "result": {
            "tasks": dict(end.deployment.tasks) if end.deployment else None,
            "rate": end.deployment.rate if end.deployment else None,
            "throughput": end.throughput,
            "latency_ms": end.latency * 1e3,
            "reason": str(end.reason),
            "sentence": end.sentence,
        },
        "costs": {one.name: _costs(one) for one in profile.found},
        "declared": {
            name: one.model_dump(mode="json", by_alias=True, exclude_none=True)
            for name, one in profile.declared.items()
        },
        "model": {
            "mean_error": mean,
            "worst_error": worst,
            "settings": [dataclasses.asdict(one) | {"error": one.error} for one in profile.missed],
        }
        if profile.missed
        else None,
    }


def _round(one: Round) -> dict[str, Any]:
    measured, deployment = one.measurement, one.move.deployment
    return {
        "number": one.number,
        "step": str(one.move.step),
        "change": str(one.move.change),
        "tasks": dict(deployment.tasks),
        "rate": deployment.rate,
        "frames": dict(deployment.frames),
        "throughput": measured.rate if measured else None,
        "latency_ms": measured.took * 1e3 if measured else None,
        "kept": one.kept,
        "reason": str(one.reason),
        "sentence": one.sentence,
        "alternatives": [str(alternative) for alternative in one.alternatives],
    }


def _costs(one: Profiled) -> dict[str, Any]:
    seconds = {"cpu_ns": one.cpu, "fetch_ns": one.fetch, "emit_ns": one.emit}
    return {
        **{name: _price(price, 1e9) for name, price in seconds.items()},
        "selectivity": _price(one.selectivity, 1.0),
        "record_size": _price(one.record_size, 1.0),
        "note": one.note,
    }


def _price(price: Price, factor: float) -> dict[str, float | None]:
    return {"value": price.value * factor, "error": None if price.error is None else price.error * factor}
