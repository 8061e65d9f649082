"""Which part of a program goes to batches where the whole can't, and what slots then have to keep up with."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spillway.controllers import acceptance
from spillway.controllers.protocol import messages
from spillway.controllers.topics import Topic
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec, StreamJob
from spillway.runtime.batch.speed import Line
from spillway.runtime.driver import plans, splitting, steering
from spillway.runtime.driver.believing import Beliefs
from spillway.runtime.driver.cuts import Cuts
from spillway.runtime.driver.observing import Rates, Seen, Work
from spillway.runtime.driver.splitting import Part
from spillway.runtime.driver.steering import Batches
from spillway.runtime.programs.program import Program

OPERATORS: list[dict[str, Any]] = [
    {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
    {"name": "long", "input": "words", "filter": "length(word) > 3"},
    {"name": "tagged", "input": "long", "select": ["concat(word, '!') as word"], "paradigm": "record"},
    {"name": "upper", "input": "tagged", "select": ["upper(word) as word"]},
    {"name": "counts", "input": "upper", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
]


def job(*others: dict[str, Any], **execution: Any) -> StreamJob:
    """Words of lines; `tagged` has to run record by record. `others` replace operators of the same name."""
    by_name = {one["name"]: one for one in (*OPERATORS, *others)}
    verdict = acceptance.accept(
        {
            "apiVersion": "spillway.dev/v1alpha1",
            "kind": "StreamJob",
            "metadata": {"name": "job"},
            "spec": {
                "kafka": {"bootstrapServers": ["localhost:9092"]},
                "latency": {"bound": "500ms"},
                "streams": [{"name": "lines", "topic": "lines", "format": "raw", "columns": "line string"}],
                "operators": list(by_name.values()),
                "outputs": [
                    {"name": "result", "input": "counts", "topic": "result"},
                    {"name": "copies", "input": "long", "topic": "copies"},
                ],
                "execution": execution,
            },
        }
    )
    assert verdict.job is not None, verdict.message
    return verdict.job


THERE = {name: Topic(name, 3, identity="one") for name in ("lines", "result", "copies")}


def can(program: Program, spec: Spec) -> str:
    """As the engine says it, of a job that delivers exactly once."""
    if any(not state.broadcast for state in program.states):
        return "it keeps tables"
    if program.outputs and spec.execution.delivery == "exactly-once":
        return "its outputs have to be in one transaction with its positions"
    return ""


def looked(given: StreamJob) -> tuple[messages.Plan, Cuts]:
    plan = plans.made(given, {}, THERE, 8, None).plan
    cuts = Cuts(can)
    cuts.look(plan, given.spec)
    return plan, cuts


def test_what_stands_ahead_of_a_pinned_operator_can_go_alone() -> None:
    plan, cuts = looked(job())
    assert [one.operators for one in plan.segments] == [("words", "long", "tagged", "upper"), ("counts",)]
    part = cuts.possible["words"]
    assert (str(part), part.why) == ("words, long | tagged, upper", "'tagged' is pinned to record")
    assert {name: [step.name for step in one.steps] for name, one in part.programs.items()} == {
        "words": ["words", "long"],
        "tagged": ["tagged", "upper"],
    }
    assert cuts.possible.keys() == {"words"}


def test_what_stands_ahead_of_an_output_can_go_where_that_has_to_be_in_a_transaction() -> None:
    _, cuts = looked(job({**OPERATORS[2], "paradigm": "auto"}, delivery="exactly-once"))
    part = cuts.possible["words"]
    assert str(part) == "words | long, tagged, upper"
    assert part.why == "with 'long', its outputs have to be in one transaction with its positions"


def test_nothing_is_split_where_all_can_or_the_first_operator_can_not() -> None:
    assert not looked(job({**OPERATORS[2], "paradigm": "auto"}))[1].possible
    assert not looked(job({**OPERATORS[0], "paradigm": "record"}))[1].possible


@pytest.mark.parametrize(
    ("name", "operators", "sentence"),
    [
        ("words", ["words"], ""),
        ("words", ["upper"], ""),  # it would read an edge, and nothing is said against that
        (
            "words",
            ["words", "long", "tagged"],
            "'tagged' is pinned to record; take `paradigm` out of the manifest; words, long alone can",
        ),
        ("counts", ["counts"], "'counts' can't run in batches: it keeps tables"),
    ],
)
def test_who_asks_is_told_what_can_and_why_not(name: str, operators: list[str], sentence: str) -> None:
    _, cuts = looked(job())
    assert cuts.judged(name, operators) == (sentence, () if sentence else tuple(operators))


def test_a_part_that_can_not_run_by_itself_is_refused() -> None:
    _, cuts = looked(job(delivery="exactly-once"))
    assert cuts.judged("words", ["long"])[0] == (
        "long can't run in batches by itself: its outputs have to be in one transaction with its positions;"
        " words alone can"
    )


def test_parts_of_a_plan_that_is_split_are_those_of_the_whole() -> None:
    given = job()
    plan, cuts = looked(given)
    found = splitting.planned(plan, {"words": Paradigm.BATCH}, {}, cuts.possible)
    assert found is not None
    assert [(one.name, one.operators, one.paradigm, one.partitions) for one in found.segments] == [
        ("words", ("words", "long"), Paradigm.BATCH, 3),
        ("tagged", ("tagged", "upper"), Paradigm.RECORD, 8),
        ("counts", ("counts",), Paradigm.RECORD, 8),
    ]
    before = cuts.possible
    cuts.look(found, given.spec)
    assert cuts.possible == before
    assert cuts.judged("words", ["words"]) == ("", ("words",))


def test_another_manifest_leaves_it_split_and_marked() -> None:
    plan, cuts = looked(job())
    found = splitting.planned(plan, {"words": Paradigm.BATCH}, {}, cuts.possible)
    changed = plans.made(job({**OPERATORS[1], "filter": "length(word) > 4"}), {}, THERE, 8, found).plan
    assert splitting.pieces(changed).keys() == {"words"}
    assert {one.paradigm for one in changed.segments} == {Paradigm.RECORD}
    # Nobody wants batches any more, so it is one again.
    back = splitting.planned(changed, {}, {}, {})
    assert back is not None
    assert [one.operators for one in back.segments] == [one.operators for one in plan.segments]


def test_what_can_not_be_one_any_more_stays_as_segments_of_their_own() -> None:
    plan, cuts = looked(job())
    found = splitting.planned(plan, {"words": Paradigm.BATCH}, {}, cuts.possible)
    keyed = {"name": "tagged", "input": "long", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}}
    upper = {"name": "upper", "input": "tagged", "select": ["word"]}
    changed = plans.made(job(keyed, upper), {}, THERE, 8, found).plan
    assert not splitting.pieces(changed)
    assert [one.operators for one in changed.segments] == [("words", "long"), ("tagged", "upper"), ("counts",)]


# What slots have to keep up with


def work(**spent: float) -> Work:
    """A thousand lines in a second, ten words each, of which half are long; seconds for each record by place."""
    came = {"lines": 1e3, "words": 1e3, "long": 1e4, "tagged": 5e3, "upper": 5e3, "counts.main": 5e3}
    flows = {name: Rates(came[name], came[name], 0.0, 1.0, seconds) for name, seconds in spent.items()}
    return Work(1e3, 5e3, 0.5, 0, 3, flows)


def believed(works: dict[str, Work]) -> tuple[Beliefs, Part]:
    given = job()
    plan, cuts = looked(given)
    found = Beliefs(plans.problem(given, {"lines": 3}), plan)
    found.learn(works, 60.0)
    return found, cuts.possible["words"]


DEAR_HEAD = work(lines=1e-6, words=4e-4, long=1e-6, tagged=1e-6, upper=1e-6, **{"counts.main": 1e-6})
DEAR_REST = work(lines=1e-6, words=1e-6, long=1e-6, tagged=8e-5, upper=1e-6, **{"counts.main": 1e-6})
COUNTS = Work(5e3, 5e3, 0.05, 0, 8, {})


def follows(head: Work) -> tuple[float, float]:
    """Lines per second that a slot can do the rest of, and all of."""
    works = {"words": head, "counts": COUNTS}
    beliefs, part = believed(works)
    seen = Seen(0.0, {}, {}, works, {}, {}, {}, {})
    batches = Batches(can=True, line=Line(0.05, 1e5), part=part)
    return steering.follow("words", batches, beliefs, seen, 1), steering.can("words", beliefs, seen, 1)


def test_slots_follow_where_what_stays_costs_little() -> None:
    rest, all_of_it = follows(DEAR_HEAD)
    assert rest > 5 * all_of_it


def test_slots_do_not_follow_where_what_stays_is_what_costs() -> None:
    rest, all_of_it = follows(DEAR_REST)
    assert rest < 1.2 * all_of_it  # so batches are refused, for they are no faster


def test_once_it_was_split_what_its_pieces_took_is_known_better() -> None:
    works = {"words": DEAR_HEAD, "counts": COUNTS}
    beliefs, part = believed(works)
    guessed = beliefs.rest("words", part)
    beliefs.learn({"tagged": Work(5e3, 5e3, 0.5, 0, 8, {})}, 60.0)
    known = beliefs.rest("words", part)
    assert guessed is not None
    assert known is not None
    through, each = beliefs.through("words"), beliefs.each("words")
    assert through is not None
    assert each is not None
    behind = through[0] - 1 / each
    assert known[0] == pytest.approx(5 * 1e-4 + behind, rel=0.05)
    assert guessed[0] < known[0] / 5


def test_nobody_knows_what_was_never_measured() -> None:
    beliefs, part = believed({})
    assert beliefs.rest("words", part) is None
    seen = Seen(0.0, {}, {}, {}, {}, {}, {}, {})
    assert steering.follow("words", Batches(can=True, part=part), beliefs, seen, 1) == math.inf
    assert steering.follow("words", Batches(can=True), beliefs, seen, 1) == math.inf


def test_what_is_split_is_decided_about_as_one() -> None:
    plan, cuts = looked(job())
    found = splitting.planned(plan, {"words": Paradigm.BATCH}, {}, cuts.possible)
    assert found is not None
    works = {"words": Work(1e3, 0.0, 0.0, 7), "tagged": Work(5e3, 5e3, 0.4), "counts": COUNTS}
    seen = steering.gathered(Seen(0.0, {}, {}, works, {}, {}, {}, {}), found)
    assert seen.works == {"words": Work(1e3, 5e3, 0.4, 7), "counts": COUNTS}
    assert steering.gathered(seen, plan) == seen
