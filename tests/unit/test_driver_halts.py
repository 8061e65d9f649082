"""A partition that does not go on shows in the conditions of its job, with where and why."""

from __future__ import annotations

import msgspec

from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.messages import Assign, Join, Lead
from spillway.controllers.protocol.values import Owner, Partition
from spillway.model.operators import Paradigm
from spillway.runtime.driver import observing, telling
from spillway.runtime.driver.conditions import Reason
from spillway.runtime.driver.reports import Reports
from spillway.runtime.telemetry import Place, Report

A = Owner("w0.0", 1)
P, Q = Partition("words", 0), Partition("words", 1)
STATE = log.folded(
    (
        Lead(1, "d"),
        Join(A.slot, "a"),
        messages.Plan(1, 1, "{}", 2, (messages.Segment("words", ("words",), "x", Paradigm.RECORD, 2, 1),)),
        Assign(1, P, 1, A, "x", 0, takeover=True),
        Assign(1, Q, 1, A, "x", 0, takeover=True),
    )
)


def _reports(*problems: str, ended: str = "") -> Reports:
    reports = Reports()
    places = tuple(Place("words", n, 1, "x", not why, 5, 5, problem=why) for n, why in enumerate(problems))
    reports.take(Report(1, A.slot, A.incarnation, "", 0, 1.0, places=places, problem=ended), 100.0)
    return reports


def test_the_first_halted_partition_is_named_with_its_reason_and_the_others_are_counted() -> None:
    seen = observing.look(_reports("offset 5 is bad", "so is this"), STATE, {}, 100.0)
    found = telling.assigned([P, Q], {P: "could not move"}, 1, telling.halted(seen))

    assert (found.status, found.reason) == (False, Reason.HALTED)
    assert found.message == "words/0 (and 1 more): offset 5 is bad"


def test_partitions_that_go_on_are_not_halted() -> None:
    seen = observing.look(_reports("", ""), STATE, {}, 100.0)

    assert telling.halted(seen) == {}
    assert telling.assigned([], {}, 1, telling.halted(seen)).reason == Reason.WORKING


def test_why_the_life_before_has_ended_is_told_while_nobody_works() -> None:
    reports = _reports(ended="topic 'rows' is gone")
    found = telling.assigned([P], {}, 1, {}, telling.ended(reports, STATE))

    assert found.reason == Reason.STARTING
    assert found.message == "nobody works yet on words/0; w0.0 began anew: topic 'rows' is gone"


def test_what_an_older_slot_tells_has_no_problem() -> None:
    place = msgspec.json.decode(msgspec.json.encode(Place("words", 0, 1, "x", True, 5, 5)))
    del place["problem"]

    assert msgspec.convert(place, Place).problem == ""
