"""Switches that a person asks for: what they are about, and why one is refused."""

from __future__ import annotations

from typing import Literal

import pytest

from spillway.controllers.protocol.messages import Plan, Segment
from spillway.model.execution import Mode
from spillway.model.operators import Paradigm
from spillway.runtime.batch.speed import Line
from spillway.runtime.driver import plans, switches
from spillway.runtime.driver.observation import VERSION, SwitchAnswer, SwitchOrder
from spillway.runtime.driver.steering import Batches

PLAN = Plan(
    1,
    1,
    "{}",
    8,
    (
        Segment("words", ("words", "real-words"), "a", Paradigm.RECORD, 2, 1),
        Segment("counts", ("counts",), "b", Paradigm.RECORD, 8, 1),
    ),
)
KNOWN = {"words": Batches(can=True, line=Line(0.05, 1e5)), "counts": Batches(can=False)}
CANNOT = {"counts": "it keeps tables"}


def asked(
    *operators: str,
    to: Literal["batch", "record"] = "batch",
    dry_run: bool = False,
    plan: Plan | None = PLAN,
    known: dict[str, Batches] | None = None,
    mode: Mode = Mode.APPLY,
    standby: str = "",
) -> tuple[SwitchAnswer, tuple[str, ...]]:
    order = SwitchOrder(VERSION, operators, to, dry_run)
    return switches.answer(order, plan, known or KNOWN, CANNOT, mode, standby)


def test_a_whole_segment_moves_whichever_of_its_operators_was_named() -> None:
    answer, segments = asked("real-words")
    assert segments == ("words",)
    assert answer == SwitchAnswer(VERSION, True, ("words", "real-words"), "batch", "words, real-words move to batches")


def test_a_dry_run_says_the_same_and_does_nothing() -> None:
    answer, _ = asked("words", dry_run=True)
    assert not answer.done
    assert answer.sentence == "words, real-words would move to batches"


def test_nobody_is_kept_from_batches_that_were_never_measured_but_is_told() -> None:
    answer, _ = asked("words", known={"words": Batches(can=True)})
    assert answer.done
    assert answer.sentence.endswith("nobody has measured yet how fast batches are")


def test_back_is_possible_without_spark() -> None:
    answer, segments = asked("words", to="record", known={"words": Batches(False, runs=Paradigm.BATCH)}, standby="gone")
    assert answer.done
    assert segments == ("words",)


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("there is no operator 'nothing'; there are counts, real-words, words", asked("nothing")),
        ("'counts' can't run in batches: it keeps tables", asked("words", "counts")),
        ("batches can't begin: Spark is starting", asked("words", standby="Spark is starting")),
        ("words runs so already", asked("words", to="record")),
        ("policy.mode is advise, so nothing is switched; set it to apply", asked("words", mode=Mode.ADVISE)),
        ("nothing is planned yet; ask again in a moment", asked("words", plan=None)),
        (
            "'words' is pinned to record; take `paradigm` out of the manifest",
            asked("words", known={"words": Batches(can=True, pinned=Paradigm.RECORD)}),
        ),
    ],
)
def test_what_can_not_be_done_is_refused_with_the_way_out(
    why: str, given: tuple[SwitchAnswer, tuple[str, ...]]
) -> None:
    answer, segments = given
    assert (answer.done, answer.operators, segments, answer.sentence) == (False, (), (), why)


def test_a_plan_gets_other_paradigms_only_where_they_differ() -> None:
    assert plans.switched(PLAN, {"words": Paradigm.RECORD}) is None
    changed = plans.switched(PLAN, {"words": Paradigm.BATCH, "gone": Paradigm.BATCH})
    assert changed is not None
    assert [one.paradigm for one in changed.segments] == [Paradigm.BATCH, Paradigm.RECORD]
