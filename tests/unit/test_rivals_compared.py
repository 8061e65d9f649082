"""The comparison runs every policy on the same job, and the traces that are committed are those that were drawn."""

from __future__ import annotations

import dataclasses

import pytest

from spillway.bench import policies
from spillway.bench.rivals import threshold
from spillway.simulation import shapes
from spillway.simulation.jobs import Mechanism


@pytest.mark.parametrize("name", policies.RATES)
def test_a_committed_trace_is_the_one_that_was_drawn(name: str) -> None:
    text = (policies.FOLDER / f"{name}.csv").read_text()

    assert text == policies.drawn(name)
    assert len(text) < 50_000


def test_every_policy_runs_from_the_same_start_and_a_peak_sized_plan_keeps_the_promise() -> None:
    trace = shapes.steps(20_000, 60_000, 60).to("events")
    runs = {name: run(0) for name, run in policies.policies(trace).items()}

    assert len(runs) == 8
    assert runs.pop("static, for the peak").totals.kept
    assert {run.rows[0].slots for run in runs.values()} == {policies.planned(20_000.0).slots}
    assert len({round(run.totals.sent) for run in runs.values()}) == 1
    for run in runs.values():
        assert run.totals.done > 0


def test_a_row_tells_the_mean_of_all_seeds_and_how_far_they_lie_apart() -> None:
    trace = shapes.flat(20_000, 20).to("events")
    run = policies.rival(threshold.Threshold(), trace, 0, Mechanism.MOVES)
    other = dataclasses.replace(run, totals=dataclasses.replace(run.totals, slot_hours=run.totals.slot_hours + 2))

    assert policies.row("calm", [run, run]).startswith("| **calm** | 100.00 % | 0.0 |")
    assert " | 1.0 ± 1.0 | " in policies.row("calm", [run, other])
    assert "for ever" in policies.row(
        "late", [dataclasses.replace(run, totals=dataclasses.replace(run.totals, worst=float("inf")))]
    )
