"""What a driver makes of the reports of slots: loads, rates, arrivals and latencies, and nothing of what is stale."""

from __future__ import annotations

import functools

import msgspec
import pytest
import yaml

import programs
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.messages import Assign, Join, Lead
from spillway.controllers.protocol.values import Owner, Partition
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime.driver import observing
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.reports import KEPT, Reports
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Ages, Flow, Latency, Place, Report, Spent

A, B = Owner("w0.0", 1), Owner("w1.0", 1)
P, Q = Partition("words", 0), Partition("words", 1)


@functools.cache
def _programs() -> dict[str, Program]:
    document = yaml.safe_load((programs.EXAMPLES / "word-count.yaml").read_text())
    spec = Spec.model_validate(document["spec"], strict=False)
    return {one.name: one for one in cutting.cut(spec, programs.together(spec))}


def _state() -> log.State:
    segments = tuple(
        messages.Segment(name, (name,), program.id, Paradigm.RECORD, 2, 1) for name, program in _programs().items()
    )
    said = (
        Lead(1, "d"),
        Join(A.slot, "a"),
        Join(B.slot, "b"),
        messages.Plan(1, 1, "{}", 2, segments),
        Assign(1, P, 1, A, "x", 0, takeover=True),
        Assign(1, Q, 1, B, "x", 0, takeover=True),
    )
    return log.folded(said)


def _report(owner: Owner, up: float, place: Partition, *, rate: float = 1000, busy: float = 0.5) -> Report:
    """After so many seconds of a steady load."""
    ages = Ages(500)
    ages.add(100, int(9 * up))
    ages.add(700, int(up))
    at = int(rate * up)
    place_ = Place(place.segment, place.number, 1, "x", True, at, at, at + 7, busy * up)
    flows = {"words": {"lines": Flow(at, at), "words": Flow(at, 8 * at, 0, at // 64, at // 64 * 2e-6)}}
    flows["words"]["counts.main"] = Flow(8 * at, 8 * at)
    phases = {"words": {"cpu": Spent(at, at * 0.001), "queue": Spent(at, at * 0.002), "network": Spent()}}
    return Report(1, owner.slot, owner.incarnation, "", 0, up, busy * up, 0.7 * up, 100, (place_,), flows, {
        "result": ages.read()
    }, phases)  # fmt: skip


def _seen(reports: Reports, now: float) -> Seen:
    return observing.look(reports, _state(), _programs(), now)


def _steady(start: float = 100.0, seconds: float = 12.0) -> Reports:
    """Two slots with a partition each; reports come each quarter of a second, from the life's second 50 on."""
    reports = Reports()
    for tick in range(int(seconds * 4)):
        up = 50 + tick / 4
        reports.take(_report(A, up, P), start + tick / 4)
        reports.take(_report(B, up, Q, rate=500, busy=0.25), start + tick / 4 + 0.1)
    return reports


def test_the_time_of_a_record_is_told_by_phase_in_the_mean_over_all_lives() -> None:
    found = _seen(_steady(), 112.0).works["words"].phases
    assert list(found) == ["queue", "cpu"], "in the order in which a record goes through them"
    assert list(found.values()) == pytest.approx([2.0, 1.0])


def test_loads_and_rates_are_differences_of_two_reports_of_one_life() -> None:
    seen = _seen(_steady(), 112.0)
    assert seen.loads == {P: pytest.approx(0.5), Q: pytest.approx(0.25)}
    assert seen.busy == {A: pytest.approx(0.5), B: pytest.approx(0.25)}
    assert seen.cpu[A] == pytest.approx(0.7)
    work = seen.works["words"]
    assert work.came == pytest.approx(1500, rel=0.01)
    assert work.left == pytest.approx(12_000, rel=0.01)
    assert work.busy == pytest.approx(0.75)
    assert work.lag == 14
    assert work.working == 2
    assert work.cost == pytest.approx(0.75 / 1500, rel=0.01)
    assert work.flows["words"].cost == pytest.approx(2e-6, rel=0.01)


def test_arrivals_are_how_fast_the_ends_of_a_topic_grow() -> None:
    arrivals = _seen(_steady(), 112.0).arrivals["lines"]
    assert arrivals is not None
    assert arrivals.rate == pytest.approx(1500, rel=0.01)
    assert arrivals.span.total_seconds() == pytest.approx(0.25)
    assert arrivals.at.timestamp() == pytest.approx(111.85)


def test_a_topic_whose_readers_mostly_tell_nothing_has_no_rate() -> None:
    reports = _steady()
    reports.keep([B])  # half of the partitions: the rate is that of the other half, twice
    found = _seen(reports, 112.0).arrivals["lines"]
    assert found is not None
    assert found.rate == pytest.approx(1000, rel=0.01)
    reports.keep([])
    assert _seen(reports, 112.0).arrivals["lines"] is None


def test_latencies_are_of_the_last_ten_seconds() -> None:
    latency, seconds = _seen(_steady(), 112.0).latencies["result"]
    assert seconds == pytest.approx(10.0)
    assert latency.count == pytest.approx(200, abs=4)
    assert latency.within / latency.count == pytest.approx(0.9, abs=0.02)


def test_reports_that_are_stale_count_for_nothing() -> None:
    seen = _seen(_steady(), 112.0 + observing.FRESH)
    assert seen.loads == {P: None, Q: None}
    assert not seen.works
    assert not seen.latencies
    assert not seen.places


def test_a_life_that_the_log_does_not_know_counts_for_nothing() -> None:
    reports = _steady()
    reports.take(_report(Owner(A.slot, 2), 60, P), 111.9)
    assert _seen(reports, 112.0).loads[P] == pytest.approx(0.5)


def test_a_place_under_another_epoch_is_not_the_one_of_the_log() -> None:
    reports = Reports()
    for up in (1.0, 1.25):
        told = _report(A, up, P)
        place = msgspec.structs.replace(told.places[0], epoch=7)
        reports.take(msgspec.structs.replace(told, places=(place,)), up)
    assert P not in _seen(reports, 1.3).places


def test_one_report_says_how_it_is_and_not_how_fast() -> None:
    reports = Reports()
    reports.take(_report(A, 50, P), 100)
    seen = _seen(reports, 100.1)
    assert seen.places[P].position == 50_000
    assert seen.loads[P] is None
    assert seen.busy == {}


def test_a_life_that_has_just_begun_counts_from_nothing() -> None:
    reports = Reports()
    reports.take(_report(A, 1.0, P), 100)
    assert _seen(reports, 100.1).works["words"].came == pytest.approx(1000)


def test_reports_that_come_late_or_twice_are_nothing_new() -> None:
    reports = _steady()
    before = _seen(reports, 112.0)
    reports.take(_report(A, 50.5, P), 111.99)
    reports.take(_report(A, 50 + 47 / 4, P), 111.99)
    assert _seen(reports, 112.0) == before


def test_old_reports_are_forgotten() -> None:
    reports = _steady(seconds=60.0)
    span = reports.span(A, 60)
    assert span is not None
    assert span.seconds <= KEPT


def test_counts_that_go_back_are_no_negative_rate() -> None:
    reports = Reports()
    reports.take(_report(A, 50, P, rate=1000), 100)
    reports.take(_report(A, 51, P, rate=10), 101)
    assert _seen(reports, 101).works["words"].came == 0
    none = observing.added(Latency(), Latency(), Latency(5, 5, 5.0))
    assert none == Latency()
