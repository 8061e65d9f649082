"""From what slots report to what profiling is told, and how much is fed meanwhile."""

from __future__ import annotations

import itertools

import pytest

from spillway.controllers import acceptance
from spillway.controllers.profiling import measurement
from spillway.controllers.profiling.application import Application
from spillway.local.profiling import jobs, piloting, readings
from spillway.local.profiling.piloting import Pilot
from spillway.local.profiling.readings import History
from spillway.model.streamjob import StreamJob
from spillway.runtime.telemetry import Flow, Latency, Place, Report

MANIFEST = {
    "apiVersion": "spillway.dev/v1alpha1",
    "kind": "StreamJob",
    "metadata": {"name": "words"},
    "spec": {
        "kafka": {"bootstrapServers": ["kafka:9092"]},
        "latency": {"bound": "500ms"},
        "streams": [{"name": "lines", "topic": "lines", "format": "raw", "columns": "line string"}],
        "operators": [
            {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
            {"name": "counts", "input": "words", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
        ],
        "outputs": [{"name": "result", "input": "counts", "topic": "out"}],
        "execution": {"paradigm": "auto", "workers": {"min": 1, "max": 40, "slots": 3}, "delivery": "exactly-once"},
    },
}
BEGIN, SECONDS = 1000.0, 4.0
LINES, WORDS = 100.0, 8  # records per second, and words in each


def job() -> StreamJob:
    found = acceptance.accept(MANIFEST).job
    assert found is not None
    return found


def course(slot: str, segment: str, flows: dict[str, tuple[float, float]], busy: float, frame: float) -> list[Report]:
    """A slot that does the same all the time, as it reports that: its clock is a tenth of a second off the quarter."""
    found = []
    for number in range(int(SECONDS * 4) + 8):
        up = number * 0.25 + 0.1
        came = next(iter(flows.values()))[0]
        found.append(
            Report(
                1, slot, 1, "p", BEGIN - 1 + up, up, busy=busy * up, cpu=busy * up,
                places=(Place(segment, 0, 1, "", True, int(came * up / frame), 0),),
                flows={segment: {label: Flow(int(a * up), int(b * up)) for label, (a, b) in flows.items()}},
                latency={"result": Latency(int(800 * up), 0, 800 * up * 30.0)} if segment == "counts" else {},
            )
        )  # fmt: skip
    return found


def history(*, skewed: bool = False) -> History:
    words = {"lines": (LINES, LINES), "words": (LINES, LINES * WORDS), "counts.main": (0, LINES * WORDS)}
    shares = (0.75, 0.25) if skewed else (0.5, 0.5)
    total = LINES * WORDS
    found = {("w0.0", 1): course("w0.0", "words", words, 0.2, 1)}
    for number, share in enumerate(shares, 1):
        flows = {"counts.main": (total * share, 0.0), "counts": (total * share, total * share)}
        found[f"w{number}.0", 1] = course(f"w{number}.0", "counts", flows, 0.8 * share, 10)
    return found


def measured(told: History) -> measurement.Measurement:
    segments = jobs.segments(job())
    rest = readings.totals(told, segments, BEGIN - 10)
    return readings.measurement(told, segments, (BEGIN, BEGIN + SECONDS), rest, {"words": 7.0})


def test_rates_costs_and_frames_are_read_off_the_counts() -> None:
    found = measured(history())
    words, counts = found.operators["words"], found.operators["counts"]
    assert found.rate == pytest.approx(LINES, rel=0.02)
    assert found.took == pytest.approx(0.030, rel=0.02)
    assert words.processing == pytest.approx(0.2 / LINES, rel=0.02)
    assert counts.processing == pytest.approx(0.8 / (LINES * WORDS), rel=0.02)
    assert words.rate_out == pytest.approx(LINES * WORDS, rel=0.02)
    assert (words.frame_in, counts.frame_out) == (None, None)
    assert words.frame_out == pytest.approx(10, rel=0.03)
    assert counts.frame_in == pytest.approx(10, rel=0.03)
    assert (words.record_size, counts.record_size) == (7.0, 0.0)
    assert counts.sojourn == pytest.approx(counts.processing, abs=0.005)
    assert measurement.wrong(found, application(), {"words": 1, "counts": 2}) == ""


def test_a_hot_slot_shows_as_skew() -> None:
    found = measured(history(skewed=True)).operators["counts"]
    assert found.skew == pytest.approx(1.5, rel=0.02)
    assert found.capacity(2) == pytest.approx(0.6, rel=0.03)


def test_what_waits_on_an_edge_is_part_of_the_sojourn_and_in_flight() -> None:
    told = dict(history())
    told.pop(("w2.0", 1))  # half of what is sent is never taken in
    segments = jobs.segments(job())
    rest = readings.totals(told, segments, BEGIN - 10)
    now = readings.totals(told, segments, BEGIN + 2)
    waits = readings.backlog(segments, now, rest)["counts"]
    assert waits == pytest.approx(LINES * WORDS / 2 * 3, rel=0.05)
    flying = readings.in_flight(segments, now.came["words"] - rest.came["words"] + 40, now, rest)
    assert flying == pytest.approx(40 + waits / WORDS, rel=0.02)
    found = readings.measurement(told, segments, (BEGIN, BEGIN + SECONDS), rest, {})
    assert found.operators["counts"].sojourn > 1


def test_a_life_that_is_over_keeps_what_it_has_counted() -> None:
    told = {life: reports[:8] if life[0] == "w1.0" else reports for life, reports in history().items()}
    segments = jobs.segments(job())
    late = readings.totals(told, segments, BEGIN + 3)
    assert late.came["counts"] == pytest.approx(LINES * WORDS * (0.5 * 1.85 + 0.5 * 4), rel=0.02)


def test_nothing_that_was_reported_is_nothing_that_was_measured() -> None:
    found = readings.measurement({}, jobs.segments(job()), (0.0, 1.0), readings.totals({}, jobs.segments(job()), 0), {})
    assert found.stopped


def application() -> Application:
    return jobs.profiled(MANIFEST, "127.0.0.1:1").application()


def test_each_operator_is_a_task_and_who_reads_a_topic_is_a_source() -> None:
    found = application()
    assert [operator.name for operator in found.sources] == ["words"]
    assert found.operators[1].inputs == ("words",)
    assert {operator.limit for operator in found.operators} == {jobs.PARTITIONS}


def test_the_copy_runs_elsewhere_under_another_name_and_record_by_record() -> None:
    copy = jobs.profiled(MANIFEST, "127.0.0.1:7").job
    assert copy.metadata.name == "words-profile"
    assert copy.spec.kafka.bootstrap_servers == ("127.0.0.1:7",)
    assert (copy.spec.execution.paradigm, copy.spec.execution.delivery) == ("record", "exactly-once")
    assert MANIFEST["metadata"] == {"name": "words"}


def test_a_long_name_stays_one() -> None:
    long = {**MANIFEST, "metadata": {"name": "a" * 40}}
    assert len(jobs.profiled(long, "h:1").job.metadata.name) == 40


def test_as_much_is_fed_as_is_done_once_enough_is_in_flight() -> None:
    assert Pilot().fed(1000, 1000 * piloting.PENDING, 1.0, 0.1) == pytest.approx(1000)
    assert Pilot().fed(1000, 0, 1.0, 0.1) == 2000
    assert Pilot().fed(1000, 10_000, 1.0, 0.1) == 0
    assert Pilot().fed(0, 0, 1.0, 0.1) == 2 * piloting.LEAST  # something has to begin
    assert Pilot().fed(0, 1000, 1.0, 0.1) == 0


def test_what_waits_in_frames_is_no_reason_to_feed_less() -> None:
    """Frames that fill for a second hold more than is done in `PENDING`: fed less and less, nothing would be left."""
    flying = 1000 * (piloting.PENDING + 1.0)
    assert Pilot().fed(1000, flying, 1.0, 0.1) < 200
    assert Pilot(waits=1.0).fed(1000, flying, 1.0, 0.1) == pytest.approx(1000)


def test_a_moment_without_anything_done_is_not_what_can_be_done() -> None:
    pilot = Pilot(1000.0)
    assert pilot.fed(0.0, 0.0, 1.0, 0.1) > 1900
    assert pilot.fed(0.0, 0.0, 1.0, 60.0) == 2 * piloting.LEAST


@pytest.mark.parametrize("late", [0, 5])
@pytest.mark.parametrize("waits", [0.0, 2.0])
def test_a_feed_finds_what_the_narrowest_can_do_and_stays_there(late: int, waits: float) -> None:
    """Also where what is known is half a second old, and where records wait for longer than they are worked on."""
    can, pilot = 5000.0, Pilot(100.0)
    rates, told, done = [100.0] * (1 + round(waits * 10)), [(100.0, 0.0, 0.0)] * (late + 1), 0.0
    queue, sent = 0.0, 0.0
    for _ in range(900):
        sent += rates[-1] * 0.1
        queue += rates[-1 - round(waits * 10)] * 0.1  # what has waited long enough
        now = min(can * 0.1, queue)
        queue, done = queue - now, done + now
        told.append((now / 0.1, sent - done, now / can / 0.1))
        rates.append(pilot.fed(*told[-1 - late], 0.1))
    assert sum(rates[-100:]) / 100 == pytest.approx(can, rel=0.05)
    assert min(rates[-100:]) > 0.5 * can


def test_throughput_is_what_gets_all_the_way() -> None:
    """While a queue grows, heads take in more than that; and less while it shrinks, so they would be fed ever less."""
    told = dict(history())
    told.pop(("w2.0", 1))
    assert measured(told).rate == pytest.approx(LINES / 2, rel=0.03)


def test_rates_that_wander_are_not_settled() -> None:
    assert piloting.settled([100, 104, 99, 101], 0.1)
    assert not piloting.settled([100, 104, 80, 101], 0.1)
    assert not piloting.settled([0, 0, 0, 0], 0.1)


def test_reports_are_read_at_the_same_moment() -> None:
    told = history()
    segments = jobs.segments(job())
    moments = [readings.totals(told, segments, BEGIN + at * 0.05).came["words"] for at in range(40)]
    assert all(b >= a for a, b in itertools.pairwise(moments))
