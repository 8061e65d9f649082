"""The plans that a driver writes: segments that stay, what others see of a program, and frames for the load."""

from __future__ import annotations

import dataclasses
import functools
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
import yaml

import programs
from spillway.controllers import acceptance, rollout
from spillway.controllers.planning import planner
from spillway.controllers.pressure import Done
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.topics import Names, Topic
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime.batch import combining
from spillway.runtime.driver import plans, shapes, steering
from spillway.runtime.driver.believing import Beliefs
from spillway.runtime.driver.catalogue import Catalogue
from spillway.runtime.driver.observing import Rates, Seen, Work
from spillway.runtime.driver.plans import Made
from spillway.runtime.driver.steering import Batches
from spillway.runtime.slots import library

NAMES = Names("default.word-count.")
THERE = {"lines": Topic("lines", 3, identity="one"), "word-counts": Topic("word-counts", 2, identity="two")}
EXAMPLES = sorted(path.stem for path in programs.EXAMPLES.glob("*.yaml"))


def _job(example: str = "word-count", **operators: Any) -> StreamJob:
    """An example, with other operators."""
    document = yaml.safe_load((programs.EXAMPLES / f"{example}.yaml").read_text())
    for operator in document["spec"]["operators"]:
        operator |= operators.get(operator["name"].replace("-", "_"), {})
    verdict = acceptance.accept(document)
    assert verdict.job is not None, verdict.message
    return verdict.job


def _made(job: StreamJob, before: messages.Plan | None = None, **topics: Topic) -> Made:
    digests = {operator.python.function: "1" for operator in job.spec.operators if operator.python is not None}
    names = {*plans.inputs(job), *(output.topic for output in job.spec.outputs)}
    there = {name: Topic(name, 3, identity="one") for name in names} | THERE | topics
    return plans.made(job, digests, there, 16, before)


@functools.cache
def _first() -> Made:
    return _made(_job())


def _programs(made: Made) -> dict[str, str]:
    return {segment.name: segment.program for segment in made.plan.segments}


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_plan_has_all_that_its_programs_are_made_of(example: str) -> None:
    made = _made(_job(example))
    written = plans.numbered(made.plan, 3, 7)
    assert (written.leader, written.number) == (3, 7)
    found = {program.name: program.id for program in library.programs(written)}
    assert found == {segment.name: segment.program for segment in written.segments}
    assert {segment.paradigm for segment in written.segments} == {Paradigm.RECORD}


def test_partitions_are_those_of_the_input() -> None:
    assert {one.name: one.partitions for one in _first().plan.segments} == {"words": 3, "counts": 16}
    assert plans.readers(_first().programs) == ["counts"]
    assert plans.tables(_first().programs, NAMES, {"lines": 3}, 16) == {"counts": 16}


def test_a_plan_names_the_topics_that_its_positions_are_in_for_ever() -> None:
    assert _first().plan.topics == (("lines", "one"),)
    anew = _made(_job(), _first().plan, lines=Topic("lines", 3, identity="three"))
    assert anew.plan.topics == (("lines", "one"),)


def test_the_same_operators_stay_in_their_segments() -> None:
    before = msgspec.structs.replace(
        _first().plan,
        segments=tuple(msgspec.structs.replace(one, frame=77) for one in _first().plan.segments),
    )
    changed = _made(_job(real_words={"filter": "length(word) > 2"}), before)
    assert "stay as they are" in changed.sentence
    assert {one.frame for one in changed.plan.segments} == {77}
    assert _programs(changed)["counts"] == _programs(_first())["counts"]
    assert _programs(changed)["words"] != _programs(_first())["words"]
    assert not plans.same(before, changed.plan)
    assert plans.same(before, _made(_job(), before).plan)


def test_a_topic_that_grew_is_another_plan_of_the_same_programs() -> None:
    grown = _made(_job(), _first().plan, lines=Topic("lines", 4, identity="one"))
    assert _programs(grown) == _programs(_first())
    assert not plans.same(_first().plan, grown.plan)


def test_no_operator_is_planned_for_batches() -> None:
    asked = plans.problem(_job(), {"lines": 3})
    assert {one.pinned for one in asked.traits.values()} == {Paradigm.RECORD}
    assert (asked.room.cores, asked.schedule) == (0, None)
    assert asked.partitions == {"lines": 3}


# What others see of a program


def _shapes(made: Made) -> dict[str, rollout.Shape]:
    return {shape.segment: shape for shape in shapes.of(made.programs, NAMES).values()}


def test_who_writes_and_who_reads_see_the_same_form() -> None:
    found = _shapes(_first())
    assert found["words"].input == "lines"
    assert found["words"].writes == found["counts"].reads != {}
    assert found["counts"].input == "default.word-count.edge.counts"
    assert found["counts"].states.keys() == {"counts"}


def _refused(**operators: Any) -> tuple[str, ...]:
    changed = _made(_job(**operators), _first().plan)
    return rollout.refused(_shapes(_first()).values(), _shapes(changed).values())


def test_what_is_stored_depends_on_the_aggregate_and_not_on_how_long_it_is_kept() -> None:
    assert not _refused(real_words={"filter": "length(word) > 2"})
    windowed = {"by": ["word"], "window": {"size": "10s"}, "values": ["count(*) as occurrences"]}
    assert "give the operator another name" in _refused(counts={"aggregate": windowed})[0]
    longer = _job("ysb", counts={"retention": "2h"})
    before = _made(_job("ysb"))
    assert not rollout.refused(_shapes(before).values(), _shapes(_made(longer, before.plan)).values())


# Frames for the load


def _planned(rate: float) -> tuple[Beliefs, Any]:
    beliefs = Beliefs(plans.problem(_job(), {"lines": 3}), _first().plan)
    asked = dataclasses.replace(beliefs.problem, workload=MappingProxyType({"lines": rate}))
    return beliefs, planner.plan(asked).plan


def test_segments_of_the_log_are_planned_as_they_are() -> None:
    _, planned = _planned(1000)
    assert {one.name for one in planned.segments} == {"words", "counts"}


def test_frames_follow_the_load_and_small_differences_dont_count() -> None:
    _, planned = _planned(1000)
    assert plans.retuned(_first().plan, planned) is None
    _, planned = _planned(200_000)
    found = plans.retuned(_first().plan, planned)
    assert found is not None
    assert max(one.frame for one in found.segments) > 1
    assert plans.same(_first().plan, found)
    assert plans.retuned(found, planned) is None


def test_what_a_segment_costs_is_learnt() -> None:
    beliefs, planned = _planned(1000)
    believed = beliefs.each("words")
    assert believed is None  # nothing was planned yet
    beliefs.planned(planned)
    believed = beliefs.each("words")
    assert believed is not None
    dear = Work(10_000.0, 40_000.0, 20_000 / believed, 0, 3, {"real-words": Rates(80_000, 40_000)})
    for _ in range(100):
        beliefs.learn({"words": dear}, 1.0)
    assert beliefs.each("words") == pytest.approx(believed / 2)
    node = next(node for node in beliefs.problem.flow.nodes if node.name == "words")
    assert float(node.outputs[0].selectivity) == pytest.approx(4.0)


def test_what_was_learnt_in_a_burst_is_not_forgotten_in_the_calm_after_it() -> None:
    beliefs, planned = _planned(1000)
    beliefs.planned(planned)
    busy, calm = Work(10_000.0, 10_000.0, 0.5), Work(100.0, 100.0, 0.05)
    for _ in range(50):
        beliefs.learn({"words": busy}, 1.0)
    for _ in range(50):
        beliefs.learn({"words": calm}, 1.0)
    assert beliefs.each("words") == pytest.approx(20_000)
    quicker = Work(10_000.0, 10_000.0, 0.1)
    for _ in range(50):
        beliefs.learn({"words": quicker}, 1.0)
    assert beliefs.each("words") == pytest.approx(100_000, rel=0.01)


def _press(beliefs: Beliefs, name: str, rate: float, *, cost: float, queue: float, since: float = 0.0) -> None:
    """One slot does so much for six seconds, while so much waits, and more and more."""
    for tick in range(30):
        beliefs.press(name, Done(since + 0.2 * tick, rate, 1.0, cost, queue + rate * tick))


def test_slots_that_get_less_done_than_costs_promise_are_planned_as_they_are() -> None:
    beliefs, planned = _planned(10_000)
    beliefs.planned(planned)
    busy = Work(10_000.0, 10_000.0, 0.3, 0, 3, {"real-words": Rates(10_000, 10_000)})
    for _ in range(100):
        beliefs.learn({"words": busy}, 1.0)
    through = beliefs.through("words")
    assert through is not None

    def slots() -> int:
        asked = dataclasses.replace(beliefs.problem, workload=MappingProxyType({"lines": 40_000.0}))
        planned = planner.plan(asked)
        beliefs.planned(planned.plan)
        assert planned.plan is not None
        return planned.plan.slots

    before = slots()
    _press(beliefs, "words", 0.3 / through[0], cost=through[0], queue=50_000.0)
    after = slots()
    assert after >= 2 * before
    assert slots() == after  # that it was planned so is not taken for a cost
    each = beliefs.each("words")
    assert each == pytest.approx(10_000 / 0.3, rel=0.01)


def test_a_segment_that_never_runs_in_batches_is_pressed_by_what_slots_tell_of_its_queue() -> None:
    beliefs, planned = _planned(1000)
    beliefs.planned(planned)
    known = {"counts": Batches(can=False, pinned=Paradigm.RECORD)}
    for tick in range(100):
        works = {"words": Work(100.0, 800.0, 0.05), "counts": Work(800.0, 800.0, 0.1, 5_000 + 300 * tick, 8)}
        seen = Seen(0.2 * tick, {}, {}, works, {}, {}, {}, {})
        steering.press(beliefs, seen, 1, known)
    assert steering.can("counts", beliefs, seen, 1) == pytest.approx(800.0, rel=0.02)


def test_stalls_that_fall_into_few_records_do_not_count_once_more_was_done() -> None:
    beliefs, planned = _planned(1000)
    beliefs.planned(planned)
    stalled = Work(1.0, 8.0, 0.5)  # the very first record: imports, and half a second without a core
    for _ in range(20):
        beliefs.learn({"words": stalled}, 0.2)
    assert beliefs.each("words") == pytest.approx(2.0)
    calm = Work(20.0, 160.0, 0.01)
    beliefs.learn({"words": calm}, 0.2)
    assert (beliefs.each("words") or 0.0) >= 1000.0


def test_what_a_record_costs_includes_what_comes_of_it() -> None:
    beliefs, planned = _planned(1000)
    assert beliefs.through("words") is None  # nothing was planned yet
    beliefs.planned(planned)
    busy = {
        "words": Work(1_000.0, 20_000.0, 0.1, 0, 3, {"real-words": Rates(1_000, 20_000)}),
        "counts": Work(20_000.0, 20_000.0, 0.5, 0, 8, {"result": Rates(20_000, 20_000)}),
    }
    for _ in range(100):
        beliefs.learn(busy, 1.0)
    assert beliefs.problem is not None  # corrected by what was learnt
    found = beliefs.through("words")
    assert found is not None
    seconds, segments = found
    assert segments == {"words", "counts"}
    assert seconds == pytest.approx(0.1 / 1_000 + 20 * 0.5 / 20_000, rel=0.05)
    alone = beliefs.through("counts")
    assert alone is not None
    assert alone[0] == pytest.approx(0.5 / 20_000, rel=0.05)
    assert alone[1] == {"counts"}


def test_idle_segments_teach_nothing() -> None:
    beliefs, planned = _planned(1000)
    beliefs.planned(planned)
    before = beliefs.problem
    beliefs.learn({"words": Work(0.0, 0.0, 0.0), "counts": Work(1.0, 1.0, 1e-6)}, 1.0)
    assert beliefs.problem is before


def test_what_is_left_of_a_plan_before_works_together_with_the_programs_of_that_plan() -> None:
    document = yaml.safe_load((programs.EXAMPLES / "word-count.yaml").read_text())
    document["spec"]["operators"][-1]["name"] = document["spec"]["outputs"][0]["input"] = "totals"
    verdict = acceptance.accept(document)
    assert verdict.job is not None, verdict.message
    both = {1: plans.numbered(_first().plan, 1, 1), 2: plans.numbered(_made(verdict.job).plan, 1, 2)}
    catalogue = Catalogue(NAMES)
    catalogue.learn(log.State(plans=Frozen(both)))

    before, after = (catalogue.program(plan.segments[0].program) for plan in both.values())
    assert before is not None
    assert after is not None
    assert catalogue.beside(before).keys() == {"words", "counts"}
    assert catalogue.beside(after).keys() == {"words", "totals"}
    assert [*combining.aims(before, catalogue.beside(before))] == ["counts.main"]
    tried = dataclasses.replace(before)  # no plan has it
    assert catalogue.beside(tried).keys() == {"words", "totals"}
    assert combining.aims(tried, catalogue.beside(tried)) == {}
