"""What judges the models would notice if they were wrong, and what they judge is what it says."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from spillway.bench.models import latencies, plans, profiles, ranges, topologies, transfer
from spillway.bench.models.latencies import Log, Measured, Setup
from spillway.bench.models.plans import Climb, Step
from spillway.bench.models.topologies import Topology
from spillway.bench.record import transfer as record_transfer
from spillway.bench.record.figures import Figure, Verdict
from spillway.bench.record.schedule import Lateness
from spillway.controllers import acceptance
from spillway.controllers.latency import moments
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.profiling.measurement import Deployment
from spillway.controllers.switching import ranges as switching

MADE = (topologies.linear, topologies.star, topologies.diamond, topologies.word_count, topologies.sentiment)


def verdicts(found: list[Figure]) -> dict[str, Verdict]:
    return {one.name: one.verdict for one in found}


# T2


def micros(record: float, frame: float, bent: float = 0.0) -> dict[int, float]:
    """What a record takes by size of a frame; `bent` is what no line through 1/b explains."""
    sizes = (*transfer.FITTED, *transfer.HELD_OUT)
    return {size: record + frame / size + bent * (size in transfer.HELD_OUT) for size in sizes}


def test_a_cost_model_that_is_right_is_not_missed() -> None:
    found = transfer.shown([(micros(0.4, 12.0), micros(0.5, 9.0))])
    assert Verdict.MISSED not in verdicts(found).values()
    assert found[-1].value == pytest.approx(0.0, abs=0.1)


def test_costs_that_no_line_explains_are_missed() -> None:
    told = verdicts(transfer.shown([(micros(0.4, 12.0, bent=0.3), micros(0.5, 9.0))]))
    assert told["T2 mean error on frames not fitted"] is Verdict.MISSED
    assert told["T2 worst error on frames not fitted"] is Verdict.MISSED


def test_what_was_fitted_is_what_costs_were() -> None:
    record, frame = transfer.fitted({size: 0.4 + 12.0 / size for size in transfer.FITTED})
    assert (record * 1e6, frame * 1e6) == pytest.approx((0.4, 12.0))


def test_the_cost_model_adds_source_and_sink_up() -> None:
    assert transfer.predict((1e-6, 10e-6), (2e-6, 20e-6), 10) == pytest.approx(6e-6)


# P1

LOG = Log(Moments(0.003, 1e-6), Moments(0.002, 1e-6))
CASE = Setup((12.0,), 0.4)


def measured(factor: float, tail: float = 1.0) -> Measured:
    """Latencies as the model says, times a factor; the slowest hundredth is as much slower again."""
    says = latencies.predicted(CASE, {"head": 0.012}, LOG)
    slow = [moments.likely(says, 0.99) * factor * tail] * 20
    middle = [(1000 * says.mean - 20 * moments.likely(says, 0.99)) / 980 * factor] * 980
    return Measured(middle + slow, {"head": 0.012}, 0, Lateness(0.0, 0.0, 0.0))


def test_latencies_as_predicted_are_reached() -> None:
    told = verdicts(latencies.shown({CASE: [measured(1.0)]}, LOG))
    assert {name: told[name] for name in JUDGED} == dict.fromkeys(JUDGED, Verdict.REACHED)


WRONG = {
    "a mean that is off": (1.3, 1.0, "P1 cases with the mean within 10%"),
    "a tail that is off": (1.0, 1.4, "P1 cases with p99 within 15%"),
    "a bound below the truth": (1.0, 20.0, "P1 bounds that are not below the truth"),
}


JUDGED = [name for _, _, name in WRONG.values()]


@pytest.mark.parametrize("case", WRONG)
def test_latencies_that_are_not_as_predicted_are_missed(case: str) -> None:
    factor, tail, name = WRONG[case]
    assert verdicts(latencies.shown({CASE: [measured(factor, tail)]}, LOG))[name] is Verdict.MISSED


def test_a_generator_that_was_late_makes_it_void() -> None:
    late = Measured([0.1] * 100, {"head": 0.012}, 0, Lateness(0.001, 0.1, 0.2))
    told = verdicts(latencies.shown({CASE: [late]}, LOG))
    assert {name: told[name] for name in JUDGED} == dict.fromkeys(JUDGED, Verdict.VOID)


def test_events_come_as_often_as_they_should_and_take_as_long() -> None:
    for case in (Setup((12.0, 2.0), 0.5, random=True), Setup((12.0,), 0.5, clock=True)):
        plan = latencies.planned(case, case.rate, 60.0)
        assert len(plan) / plan[-1].at == pytest.approx(case.rate, rel=0.05)
        assert sum(one.waits[0] for one in plan) / len(plan) == pytest.approx(0.012, rel=0.05)
        counts = [sum(one.partition == number for one in plan) for number in range(4)]
        assert max(counts) - min(counts) < 0.15 * len(plan)


def test_the_model_is_asked_about_queues_and_edges() -> None:
    quiet = latencies.predicted(Setup((12.0,), 0.01), {"head": 0.012}, Log(ZERO, ZERO))
    busy = latencies.predicted(Setup((12.0,), 0.5), {"head": 0.012}, Log(ZERO, ZERO))
    two = latencies.predicted(Setup((12.0, 12.0), 0.01), {"head": 0.012, "tail": 0.012}, LOG)
    assert quiet.mean == pytest.approx(0.012, rel=0.02)
    assert busy.mean == pytest.approx(0.012 + 0.006, rel=0.02)  # M/D/1 at a half
    assert two.mean == pytest.approx(0.024 + 0.005, rel=0.02)


# P2


def climbed(*p99s: float, **of_last: Any) -> Climb:
    """Steps of 100, 200, … records per second that take so long; the last one is the one that goes on."""
    told = itertools.chain((Step(p99) for p99 in p99s[:-1]), itertools.repeat(Step(p99s[-1], **of_last)))
    tried = iter(told)
    return plans.highest((100.0 * number for number in itertools.count(1)), lambda _: next(tried), lambda _: None)


def test_the_highest_rate_is_that_before_one_that_is_tried_in_vain() -> None:
    assert climbed(0.1, 0.2, 0.6, 0.6) == Climb(200.0)
    assert climbed(0.1, 0.6, 0.3, 0.5, 0.6) == Climb(300.0), "one bad step may be somebody else"
    assert climbed(0.6) == Climb(0.0)


def test_a_climb_that_is_wrong_or_ends_at_a_late_generator_does_not_count() -> None:
    assert climbed(0.1, math.inf, problem="0 lost, 1 wrong").problem == "0 lost, 1 wrong"
    assert climbed(0.1, 0.6, late=0.2) == Climb(100.0, "the generator was late")
    assert climbed(0.1, 0.8, late=0.2) == Climb(100.0), "it would not have been kept either way"


def test_what_is_planned_is_judged_against_the_best_rule_of_each_round() -> None:
    def ratio(planned: float) -> Figure:
        rules = dict(zip(plans.RULES, (100.0, 200.0, 400.0, 0.0), strict=True))
        climbs = {name: [Climb(rate)] for name, rate in {plans.PLANNED: planned, **rules}.items()}
        found = {one.name: one for one in plans.shown("work", climbs)}
        assert found["P2 work: against the rule in the middle"].value == planned / 150
        return found["P2 work: planned against the best rule"]

    assert (ratio(500.0).value, ratio(500.0).verdict) == (1.25, Verdict.REACHED)
    assert ratio(499.0).verdict is Verdict.MISSED


def test_a_round_in_which_no_rule_keeps_the_bound_has_no_ratio() -> None:
    rules = {name: [Climb(0.0), Climb(100.0)] for name in plans.RULES}
    found = {one.name: one for one in plans.shown("work", {plans.PLANNED: [Climb(300.0), Climb(200.0)], **rules})}
    assert found["P2 work: planned against the best rule"].value == 2.0
    assert found["P2 work: against the rule in the middle"].value == 2.0


def test_a_rule_that_did_not_count_makes_the_ratio_void() -> None:
    climbs = {name: [Climb(100.0)] for name in (plans.PLANNED, *plans.RULES)} | {"1 s": [Climb(1.0, "1 lost, 1 wrong")]}
    assert verdicts(plans.shown("work", climbs))["P2 work: planned against the best rule"] is Verdict.VOID


# D8

COSTS = ranges.Costs(1.2e-6, 1.0e-6, 0.9e-6, 0.35e-6, 0.03)


def test_all_sets_are_tried_and_none_is_better_than_the_best() -> None:
    for found in itertools.islice(ranges.every(COSTS), 0, 135, 9):
        least = ranges.takes(found.gains, found.rate, found.best, COSTS)
        for some in ([0], [1], [0, 1], [1, 2, 3], [0, 1, 2, 3], []):
            assert least <= ranges.takes(found.gains, found.rate, frozenset(some), COSTS) or least == float("inf")


def test_the_best_is_within_five_per_cent_of_itself_and_what_does_nothing_is_not() -> None:
    gains, rate = (8.0, 0.625, 1.0, 0.1), 90_000.0
    best = ranges.tried(gains, rate, COSTS).best
    assert best
    assert ranges.near(gains, rate, best, best, COSTS)
    assert not ranges.near(gains, rate, frozenset(), best, COSTS)


def test_a_range_that_is_always_empty_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switching, "switch_range", lambda *_: ())
    (found,) = ranges.shown([COSTS])
    assert verdicts(found)["D8 what is chosen is within 5 % of the best"] is Verdict.MISSED


def test_a_record_takes_what_its_operators_and_their_queues_take() -> None:
    cheap = ranges.Costs(1e-3, 0.0, 1e-3, 0.0, 0.1)
    assert ranges.takes((1.0,), 500.0, frozenset(), cheap) == pytest.approx(2e-3)  # M/M/1 at a half
    assert ranges.takes((1.0,), 1001.0, frozenset(), cheap) == float("inf")
    # T = 0.1/(1 - 0.5), and half of it, the schedule, and V·T·C.
    assert ranges.takes((1.0,), 500.0 * ranges.CORES, frozenset({0}), cheap) == pytest.approx(0.1 + 0.1 + 0.1)


# F1 and F2


@pytest.mark.parametrize("make", MADE)
def test_a_topology_is_a_job_with_functions_that_give_what_they_should(make: object, tmp_path: Path) -> None:
    topology: Topology = make()  # type: ignore[operator]
    verdict = acceptance.accept(topology.document())
    assert verdict.accepted, verdict.message
    module = loaded(topology, tmp_path)
    vars(module)["time"] = SimpleNamespace(
        sleep=lambda _: None
    )  # the name in this module, and not what all others call
    for name, gain in topology.gains().items():
        rows = [row for number in range(3000) for row in getattr(module, name)({"id": number * 7 + 1})]
        assert len(rows) / 3000 == pytest.approx(gain, rel=0.1)


def loaded(topology: Topology, folder: Path) -> ModuleType:
    (folder / "waits.py").write_text(topology.code())
    spec = importlib.util.spec_from_file_location("waits_of_a_test", folder / "waits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_best_counts_are_those_that_trying_all_finds() -> None:
    topology = topologies.linear()
    spans = {**topology.waits(), "op1": 0.001}
    ours, rate = next(profiles.ranked(topology, spans))
    counts = range(1, topology.slots)
    every = (
        topologies.able(topology, dict(zip(spans, some, strict=True)), spans)
        for some in itertools.product(counts, repeat=len(spans))
        if sum(some) <= topology.slots
    )
    assert rate == pytest.approx(max(every))
    assert sum(ours.values()) <= topology.slots


def test_partitions_that_can_not_be_shared_out_evenly_count() -> None:
    assert topologies.held_by(24, 8) == 8
    assert topologies.held_by(24, 5) == pytest.approx(4.8)
    assert topologies.held_by(24, 30) == 24


def test_a_profile_that_stays_short_of_the_best_is_missed() -> None:
    assert set(verdicts(profiles.judged_near("linear", [0.97], [4.0])).values()) == {Verdict.REACHED}
    assert set(verdicts(profiles.judged_near("linear", [0.9], [5.0])).values()) == {Verdict.MISSED}


def rates(profiled: float) -> Mapping[str, float]:
    return {"profiled": profiled, "threshold": 80.0, "stela": 100.0}


def test_a_profile_that_is_no_better_than_its_rivals_is_missed() -> None:
    name = "F2 word count: over the better rival"
    assert verdicts(profiles.judged_gain("word count", [rates(140.0)]))[name] is Verdict.REACHED
    assert verdicts(profiles.judged_gain("word count", [rates(101.0)]))[name] is Verdict.MISSED


def _round(tasks: int, rate: float, *, stressed: bool = True) -> Any:
    deployment = Deployment({"op": tasks})
    return SimpleNamespace(
        stressed=stressed, move=SimpleNamespace(deployment=deployment), measurement=SimpleNamespace(rate=rate)
    )


def test_what_is_transferred_fills_all_of_its_frames() -> None:
    assert [record_transfer.whole(70_000, 30), record_transfer.whole(100.9, 10), record_transfer.whole(3, 5)] == [
        69_990,
        100,
        5,
    ]


def test_rounds_are_counted_until_one_has_enough_by_what_was_measured_beside_the_best() -> None:
    state: Any = SimpleNamespace(rounds=[_round(1, 900.0, stressed=False), _round(1, 100.0), _round(2, 190.0)])

    assert profiles.rounds_until(state, 95.0, {}) == 1
    assert profiles.rounds_until(state, 195.0, {}) == 3
    assert profiles.rounds_until(state, 195.0, {frozenset({("op", 2)}): 198.0}) == 2
