"""Every decision says why: a reason out of a closed, documented set, a sentence with numbers, inputs, alternatives."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from spillway.controllers import assignment, explain, reference, sizing
from spillway.controllers.explain import Alternative, Explained, Reasons
from spillway.controllers.protocol.values import Partition
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.controllers.switching import decision
from spillway.controllers.switching.measurements import Node, Observation
from spillway.controllers.switching.verdicts import History as Switches
from spillway.model.execution import Policy

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "decisions.md"

DECISIONS: dict[str, Explained] = {
    "assignment": assignment.decide({Partition("ads", 0): 1.0}, assignment.slots(1, 1), {}),
    "sizing": sizing.decide(
        Recommendation(3, NOON), Present(1, 1), Bounds(1, 8), SizePolicy(MINUTE, MINUTE), History(), NOON
    ),
    "switching": decision.decide(Observation((Node("views"),), {}), Policy(), Switches(), NOON),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_says_why_as_data_and_in_one_line(name: str) -> None:
    made = DECISIONS[name]
    data = json.loads(json.dumps(explain.data(made)))

    assert data["reason"] == made.reason
    assert isinstance(made.reason, Reasons)
    assert made.sentence
    assert explain.told(made).startswith(made.sentence.rstrip("."))
    assert "\n" not in explain.told(made)
    assert data["alternatives"] == [{"what": a.what, "whyNot": a.why_not} for a in made.alternatives]


def test_what_lost_is_told_after_the_sentence() -> None:
    made = sizing.decide(
        Recommendation(9, NOON), Present(1, 1), Bounds(1, 8), SizePolicy(MINUTE, MINUTE), History(), NOON
    )

    assert Alternative("9", "max is 8") in made.alternatives
    assert explain.data(made)["alternatives"] == [{"what": "9", "whyNot": "max is 8"}]
    assert explain.told(made) == "from 1 to 8: More is needed than max allows. Rejected: not 9: max is 8."


def test_every_reason_has_its_words_and_its_line_in_the_reference() -> None:
    text = PAGE.read_text()
    for kind in reference.sets():
        assert kind.__doc__
        for reason in kind:
            assert reason.meaning.endswith(".")
            assert f"| `{reason}` | {reason.meaning} |" in text


def test_a_reason_is_its_name_for_programs() -> None:
    reason = sizing.Reason.AT_MAX

    assert (reason, str(reason), reason.value) == ("AtMax", "AtMax", "AtMax")
    assert json.dumps(reason) == '"AtMax"'


def test_the_reference_has_all_rooms_that_decide() -> None:
    rooms = {kind.__module__.split(".")[2] for kind in reference.sets()}

    assert {"assignment", "planning", "scheduling", "sizing", "switching"} <= rooms
