"""Switches that a person asks for: what they are about, and why one is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec
import pytest

from spillway.controllers.protocol.messages import Plan, Segment
from spillway.model.execution import Mode
from spillway.model.observation import VERSION, SwitchAnswer, SwitchOrder
from spillway.model.operators import Paradigm
from spillway.runtime.batch.speed import Line
from spillway.runtime.driver import splitting, switches
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
PART = ("words",)


def judged(name: str, operators: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Only what keeps tables can't."""
    return ("'counts' can't run in batches: it keeps tables", ()) if name == "counts" else ("", tuple(operators))


def split(paradigm: Paradigm = Paradigm.BATCH) -> Plan:
    """The plan with a part of `words` in batches."""
    whole = ("words", "real-words")
    return msgspec.structs.replace(
        PLAN,
        segments=(
            Segment("words", ("words",), "c", paradigm, 2, 1, whole=whole),
            Segment("real-words", ("real-words",), "d", Paradigm.RECORD, 8, 1, whole=whole),
            PLAN.segments[1],
        ),
    )


def asked(
    *operators: str,
    to: Literal["batch", "record"] = "batch",
    dry_run: bool = False,
    plan: Plan | None = PLAN,
    known: dict[str, Batches] | None = None,
    mode: Mode = Mode.APPLY,
    standby: str = "",
) -> tuple[SwitchAnswer, Mapping[str, tuple[str, ...]]]:
    order = SwitchOrder(VERSION, operators, to, dry_run)
    return switches.answer(order, plan, known or KNOWN, judged, mode, standby)


def test_a_whole_segment_moves_where_all_of_its_operators_were_named() -> None:
    answer, change = asked("real-words", "words")
    assert change == {"words": ("words", "real-words")}
    assert answer == SwitchAnswer(VERSION, True, ("words", "real-words"), "batch", "words, real-words move to batches")


def test_a_segment_is_split_where_only_some_of_its_operators_were_named() -> None:
    answer, change = asked("words")
    assert change == {"words": PART}
    assert (answer.done, answer.operators) == (True, PART)
    assert answer.sentence == "words moves to batches; split there: words | real-words"


def test_more_of_a_segment_goes_beside_what_is_there() -> None:
    there = {"words": Batches(can=True, runs=Paradigm.BATCH, line=Line(0.05, 1e5), split=True)}
    answer, change = asked("real-words", plan=split(), known=there)
    assert change == {"words": ("words", "real-words")}
    assert answer.sentence == "real-words moves to batches; one program again: words, real-words"
    assert asked("words", plan=split(), known=there)[0].sentence == "words runs so already"


@pytest.mark.parametrize("named", ["words", "real-words"])
def test_what_is_split_comes_back_as_a_whole(named: str) -> None:
    there = {"words": Batches(can=True, runs=Paradigm.BATCH, split=True)}
    answer, change = asked(named, to="record", plan=split(), known=there)
    assert change == {"words": ()}
    assert answer.operators == PART
    assert answer.sentence == "words moves to record by record; one program again: words, real-words"


def test_what_waits_for_spark_can_be_called_back() -> None:
    waits = {"words": Batches(can=True, runs=Paradigm.RECORD, split=True)}
    answer, change = asked("words", to="record", plan=split(), known=waits, standby="Spark is starting")
    assert (answer.done, change) == (True, {"words": ()})


def test_a_dry_run_says_the_same_and_does_nothing() -> None:
    answer, _ = asked("words", "real-words", dry_run=True)
    assert not answer.done
    assert answer.sentence == "words, real-words would move to batches"


def test_nobody_is_kept_from_batches_that_were_never_measured_but_is_told() -> None:
    answer, _ = asked("words", known={"words": Batches(can=True)})
    assert answer.done
    assert answer.sentence.endswith("nobody has measured yet how fast batches are")


def test_back_is_possible_without_spark() -> None:
    answer, change = asked("words", to="record", known={"words": Batches(False, runs=Paradigm.BATCH)}, standby="gone")
    assert answer.done
    assert change == {"words": ()}


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
            "'words' is pinned to batch; take `paradigm` out of the manifest",
            asked("words", to="record", known={"words": Batches(True, Paradigm.BATCH, Paradigm.BATCH)}),
        ),
    ],
)
def test_what_can_not_be_done_is_refused_with_the_way_out(
    why: str, given: tuple[SwitchAnswer, Mapping[str, tuple[str, ...]]]
) -> None:
    answer, change = given
    assert (answer.done, answer.operators, change, answer.sentence) == (False, (), {}, why)


def test_a_plan_gets_other_paradigms_only_where_they_differ() -> None:
    assert splitting.planned(PLAN, {"words": Paradigm.RECORD}, {}, {}) is None
    changed = splitting.planned(PLAN, {"words": Paradigm.BATCH, "gone": Paradigm.BATCH}, {}, {})
    assert changed is not None
    assert [one.paradigm for one in changed.segments] == [Paradigm.BATCH, Paradigm.RECORD]
