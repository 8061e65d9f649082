"""`spillway bench`: what is computed from what was seen, and that what may not count doesn't."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import programs
from spillway.bench.dual import courses, judging, keeping, machine, plots, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.histograms import Histogram
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Load, Phase
from spillway.bench.dual.plots import Line
from spillway.bench.dual.tails import Results
from spillway.bench.engines import Maker
from spillway.bench.engines.switches import Heard
from spillway.bench.models import __main__ as models
from spillway.bench.record import __main__ as record
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure, Verdict
from spillway.bench.record.schedule import Lateness
from spillway.bench.trials import columns, comparing, own, report, single, sustained, traces, wanted
from spillway.bench.trials.columns import Made, Source
from spillway.bench.trials.sustained import Check, Limits, Reason, Search
from spillway.bench.verifier.verdict import OutputVerdict, Sample
from spillway.bench.verifier.verdict import Verdict as Judgement
from spillway.bench.workloads import words
from spillway.bench.workloads.work import Key, Keys, Numbers
from spillway.cli.main import app
from spillway.model.kafka import Table
from spillway.simulation.traces import Shape, Trace

PARTS: dict[str, Mapping[str, object]] = {"spillway.bench.models": models.PARTS, "spillway.bench.record": record.PARTS}
START = 1_000.0
IN_TIME = Lateness(0.0, 0.001, 0.002)


def run(latency: float = 10.0, **changes: object) -> Run:
    """A run of ten seconds at a hundred records a second, all of the same age."""
    dues = START + np.arange(1_000) / 100
    late = np.full(1_000, latency)
    judged = Judged(0, 0, 0, 1_000, 1_000, dues, late, dues, late)
    looks = [courses.Look(START, 0, 1.0), courses.Look(START + 11, 1_000, 3.0)]
    load = Load(START, (Phase("load", 100.0, 10.0),))
    made = Run("D", "lines", judged, looks, load, START, 1_000, IN_TIME, Heard(), used={"worker": 2.0})
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


# Histograms


@pytest.mark.parametrize("share", [0.001, 0.5, 0.9, 0.99, 0.999, 1.0])
def test_a_quantile_of_a_histogram_is_that_of_its_values_within_a_thousandth(share: float) -> None:
    values = 10 ** np.random.default_rng(1).uniform(0, 5, 20_000)
    right = figures.quantile(values.tolist(), share)

    assert right <= Histogram.of(values).quantile(share) <= right * 1.001 + 0.1


def test_histograms_of_two_runs_are_that_of_both_together() -> None:
    values = np.random.default_rng(2).exponential(20, 5_000)
    both = Histogram.of(values[:1_000]) + Histogram.of(values[1_000:])

    assert (both.counts == Histogram.of(values).counts).all()
    assert both.quantile(1.0) == values.max()
    assert both.mean == pytest.approx(values.mean())


def test_a_histogram_that_was_kept_says_the_same() -> None:
    found = Histogram.of(np.array([1.0, 2.0, 300.0]))

    again = Histogram.read(json.loads(json.dumps(found.told())))

    assert [again.quantile(share) for share in (0.3, 0.9, 1.0)] == [found.quantile(share) for share in (0.3, 0.9, 1.0)]


def test_a_histogram_of_nothing_has_no_quantile() -> None:
    assert math.isnan(Histogram.of(np.zeros(0)).quantile(0.5))


# Event-time latency of results


def results(*told: tuple[int, float], amounts: list[float] | None = None) -> Results:
    at = [int((START + at) * 1000) for _, at in told]
    some = None if amounts is None else np.array(amounts)
    return Results(np.array([count for count, _ in told]), np.array(at), some)


def test_a_result_is_as_old_as_the_newest_message_that_it_is_made_of() -> None:
    dues = START + np.array([0.0, 1.0, 2.0])
    found = judging.judged({"a": results((1, 0.1), (3, 2.5))}, {"a": np.array([0, 1, 2])}, dues)

    assert found.ages == pytest.approx([101, 501])  # Equations 1 and 2: 2.5 s less the 2.0 of the third message
    assert found.latencies == pytest.approx([101, 1501, 501])  # the second one waited for it for longer
    assert found.since(START + 0.5).ages == pytest.approx([501])


def test_the_yahoo_benchmark_counts_from_the_end_of_a_window_to_its_last_result() -> None:
    told: dict[Key, Results] = {("a", 0): results((1, 0.1), (2, 10.25)), ("b", 0): results((1, 9.0))}
    expected: dict[Key, Numbers] = {key: np.array([0, 1]) for key in told}
    found = judging.judged(told, expected, START + np.zeros(2), None, lambda key: (START + 10) * 1000)

    assert found.closed == pytest.approx([START + 10, START + 10])
    assert sorted(found.after) == pytest.approx([-999, 251])


@pytest.mark.parametrize(("amount", "wrong"), [(20.0, 0), (20.0 + 1e-12, 0), (20.1, 1), (math.nan, 1)])
def test_a_wrong_mean_is_found_once_all_of_its_messages_are_in_it(amount: float, wrong: int) -> None:
    told: dict[Key, Results] = {"a": results((1, 0.1), (2, 0.2), amounts=[7.0, amount])}
    found = judging.judged(told, {"a": np.array([0, 1])}, START + np.zeros(2), lambda numbers: 20.0)

    assert found.wrong == wrong


# Sustainable throughput


def test_limits_are_a_second_of_the_rate_and_two_batches_at_least() -> None:
    assert Limits.of(1_000.0) == Limits(1_000.0, 15_000.0)
    assert Limits.of(1_000.0, batch=2.0) == Limits(4_000.0, 60_000.0)


def looked(queues: list[float], limits: Limits) -> list[Reason]:
    check = Check(limits)
    return [check.look(queue) for queue in queues]


def test_algorithm_1_tolerates_a_queue_for_a_while_and_no_longer() -> None:
    limits = Limits(10.0, 150.0)

    assert looked([5.0, 9.0, 0.0] * 10, limits) == [Reason.SUSTAINED] * 30
    assert looked([20.0] * 14 + [5.0] + [20.0] * 14, limits) == [Reason.SUSTAINED] * 29  # back-pressure begins anew
    assert looked([20.0] * 15, limits) == [Reason.SUSTAINED] * 14 + [Reason.PRESSURE]
    assert looked([151.0], limits) == [Reason.LONG]


def queues(grows: float, saw: float = 0.0) -> list[tuple[float, float]]:
    dice = programs.seeded(1)
    return [(float(t), 50 + grows * t + saw * dice.random()) for t in range(1, 21)]


def test_a_queue_that_rises_is_not_sustained_though_it_never_is_long() -> None:
    limits = Limits.of(1_000.0)

    assert sustained.judged(1_000.0, limits, queues(grows=30.0)) is Reason.RISES
    assert sustained.judged(1_000.0, limits, queues(grows=0.0)) is Reason.SUSTAINED
    assert sustained.judged(1_000.0, limits, queues(grows=0.0, saw=200.0)) is Reason.SUSTAINED


@pytest.mark.parametrize("able", [3.0, 900.0, 1_000.0, 7_300.0, 100_000.0])
def test_a_search_finds_what_a_system_is_able_to(able: float) -> None:
    search, tried = Search(1_000.0), []
    while (rate := search.following()) is not None:
        tried.append(rate)
        search.told(rate, sustained=rate <= able)

    assert able / 1.11 <= search.sustained <= able
    assert len(tried) < 16


def test_a_system_that_sustains_nothing_is_not_searched_for_ever() -> None:
    search = Search(1_000.0)
    while (rate := search.following()) is not None:
        search.told(rate, sustained=False)

    assert search.sustained == 0


# Traces


@pytest.mark.parametrize(
    ("name", "rates", "mean"),
    [
        ("constant", [100.0], 100),
        ("burst", [100.0, 600.0], 200),
        ("on-off", [100.0], 50),
        ("step", [100.0, 1_000.0], 415),
        ("diurnal", [100.0, 1_000.0], 530),
        ("zipf", [100.0], 100),
        ("single-key", [100.0], 100),
    ],
)
def test_a_trace_has_the_length_and_the_records_that_it_should_have(name: str, rates: list[float], mean: float) -> None:
    given = traces.made(name, rates, 20.0)

    assert given.seconds == pytest.approx(20)
    assert given.rate == pytest.approx(mean, rel=0.15)
    assert len(Load(START, tuple(given.phases)).dues()) == sum(phase.count for phase in given.phases)
    assert given.keys is {"zipf": Keys.ZIPF, "single-key": Keys.ONE}.get(name, Keys.USUAL)


def test_a_file_of_rates_is_cut_to_the_seconds_that_are_asked_for() -> None:
    given = traces.of_trace("x.csv", Trace((0.0, 10.0, 100.0), {"rate": (0.0, 100.0, 100.0)}, Shape.LINES), 20.0)

    assert given.seconds == pytest.approx(20)
    assert sum(phase.rate * phase.seconds for phase in given.phases) == pytest.approx(500 + 1000)


@pytest.mark.parametrize(
    ("name", "rates"), [("sawtooth", [1.0]), ("constant", []), ("burst", [1.0]), ("constant", [0.0])]
)
def test_a_trace_that_is_none_is_refused(name: str, rates: list[float]) -> None:
    with pytest.raises(ValueError, match=r"trace|rate"):
        traces.made(name, rates, 10.0)


# One run


def by_name(found: list[Figure], end: str) -> Figure:
    return next(one for one in found if one.name.endswith(end))


def test_a_run_says_its_latencies_and_what_each_part_took() -> None:
    found = single.shown(run(), traces.made("constant", [100.0], 10.0))

    assert by_name(found, "latency of records, p99").value == pytest.approx(10, abs=0.2)
    assert by_name(found, "processor time, worker").value == pytest.approx(2_000)
    assert {one.verdict for one in found} <= {Verdict.SHOWN, Verdict.REACHED}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lateness": Lateness(0.0, 0.006, 0.01)}, "generator late"),
        ({"judged": dataclasses.replace(run().judged, lost=1)}, "1 lost"),
        ({"judged": dataclasses.replace(run().judged, wrong=2)}, "2 wrong"),
        ({"failure": "it ended"}, "it ended"),
    ],
)
def test_a_generator_that_is_late_or_a_wrong_result_is_no_figure(changes: dict[str, object], why: str) -> None:
    bad = run(**changes)  # type: ignore[arg-type]
    found = single.shown(bad, traces.made("constant", [100.0], 10.0))

    assert why in bad.problem
    assert by_name(found, "latency of records, p50").verdict is Verdict.VOID
    assert by_name(found, "records were done").verdict is Verdict.VOID


def test_what_comes_before_it_has_settled_does_not_count() -> None:
    slow = run()
    late = np.where(slow.judged.dues < START + 3, 5_000.0, 10.0)
    settled = dataclasses.replace(slow, judged=dataclasses.replace(slow.judged, latencies=late), settled=START + 3)

    assert settled.late.max() == 10
    assert len(settled.late) == 700


# Comparing


def test_a_system_that_is_as_good_as_itself_may_be_compared() -> None:
    runs = {"D": [run(10), run(11), run(9)], "D again": [run(10), run(11.1), run(9.1)]}
    same = comparing.same_as_itself(runs, comparing.PACED)

    assert {one.verdict for one in same} == {Verdict.REACHED}
    assert not any(comparing.void_by(same).values())


def test_ratios_of_what_cannot_be_told_apart_are_void() -> None:
    same = comparing.same_as_itself({"D": [run(10)] * 3, "D again": [run(12)] * 3}, comparing.PACED)
    void = comparing.void_by(same)
    found = comparing.shown("x", {"D": [run(10)] * 3, "SS": [run(100)] * 3}, comparing.PACED, void)

    assert void == {"p50": True, "p99": True, "processor time": False}
    assert by_name(found, "D / SS, p50").verdict is Verdict.VOID
    assert by_name(found, "D / SS, p50").value == pytest.approx(0.1)
    assert by_name(found, "D / SS, processor time").verdict is Verdict.SHOWN


@pytest.mark.parametrize("under_load", [True, False])
def test_one_is_compared_with_itself_before_it_is_with_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, under_load: bool
) -> None:
    asked: list[list[str]] = []

    def measured(what: str, makers: dict[str, Maker], *_: object) -> dict[str, list[Run]]:
        asked.append([what, *(maker.name for maker in makers.values())])
        return {name: [run()] * 3 for name in makers}

    monkeypatch.setattr(turns, "measured", measured)
    monkeypatch.setattr(machine, "looked", list)
    given = traces.made("constant", [100.0], 10.0) if under_load else None
    found = comparing.compared(words.WORDS, ["D", "SS"], given, 5.0, 3, lambda _: None, Keeper(tmp_path))

    assert asked == [["a-a", "D", "D"], ["compare", "D", "SS"]]
    assert by_name(found, f"D / SS, {'p50' if under_load else 'throughput'}").value == 1


def test_a_system_whose_output_is_wrong_is_not_compared() -> None:
    bad = run(judged=dataclasses.replace(run().judged, lost=1))
    found = comparing.shown(
        "x", {"D": [run()], "SS": [bad]}, comparing.PACED, dict.fromkeys(("p50", "p99", "processor time"), False)
    )

    assert by_name(found, "D / SS, p50").verdict is Verdict.VOID
    assert by_name(found, "SS, p50").verdict is Verdict.VOID
    assert by_name(found, ": D, p50").verdict is Verdict.SHOWN


# A user's own job


def source(**changes: object) -> Source:
    return dataclasses.replace(Source("s", "id string, n int, at timestamp", False, "at"), **changes)  # type: ignore[arg-type]


def test_records_are_made_of_columns_and_have_the_time_at_which_they_are_due() -> None:
    text = "a string, b int, c double, d boolean, e timestamp, f array<string>, g decimal(5,2), h date, i binary"
    stream, message = Made([source(columns=text, timestamp="e")]).message(3, START)
    event = json.loads(message)

    assert stream == 0
    assert event["e"] == START * 1000
    assert list(event) == list("abcdefghi")


def test_streams_get_messages_in_turn_and_one_key_is_one() -> None:
    made = Made([source(), source(raw=True)], Keys.ONE)
    some = [made.message(number, START) for number in range(10)]

    assert [stream for stream, _ in some] == [0, 1] * 5
    assert {json.loads(value)["id"] for stream, value in some if stream == 0} == {"id-0"}


def test_lines_that_were_given_come_over_and_over_at_the_time_at_which_they_are_due() -> None:
    made = Made([source(lines=(b'{"id": "x", "at": 1}', b"no json"))])

    assert json.loads(made.message(2, START)[1]) == {"id": "x", "at": START * 1000}
    assert made.message(3, START)[1] == b"no json"


def test_a_verdict_of_the_verifier_is_judged_like_any_run() -> None:
    output = OutputVerdict("o", "append", 4)
    verdict = Judgement(False, "", "at-least-once", lost=1, wrong=2, reordered=3, outputs=(output,))
    found = own.told(verdict, [Sample(2_000, 7.0), Sample(1_000, 5.0)])

    assert (found.lost, found.wrong, found.expected) == (1, 5, 4)
    assert found.dues == pytest.approx([1.0, 2.0])
    assert found.ages == pytest.approx([6.0, 8.0])


# Reports


def kept(folder: Path) -> Path:
    keeper = Keeper(folder)
    for system in ("D", "SS <1 s>"):
        keeper.keep("compare", run(system=system))
    keeper.told("search", {"work": "lines", "system": "D", "rate": 9.0, "problem": "", "steps": [], "confirmed": None})
    found = [
        figures.of("D6 word count: D / SS", [1.2], "times", least=0.95),
        figures.of("D1 word count: D, p50", [20.0], "ms", most=10.0),
        figures.of("D2 x: D / B, mean", [0.4], "times", most=0.5, void=True),
    ]
    keeper.closed("compare", found, {"cores": 2, "versions": {"spillway": "0.1.0"}})
    return folder


def test_a_report_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    page = report.page([report.read(kept(tmp_path / "one"))])

    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in page
    assert page.count("<svg") == 2
    assert "prefers-color-scheme:dark" in page
    assert "SS &lt;1 s&gt;" in page
    assert "cores 2" in page


def test_what_a_command_measures_alone_is_kept_for_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = argparse.Namespace(what="transfer", keep=tmp_path / "one", output="table")
    with pytest.raises(SystemExit) as ended:
        keeping.end(asked, [figures.of("T1 frames of 1000 against frames of 1", [19.0], "times", least=20.0)])

    assert ended.value.code == 1
    assert "missed" in capsys.readouterr().out
    (line,) = [one for one in wanted.compared(report.read(tmp_path / "one").figures) if one.wanted.id == "T1"]
    assert line.state is wanted.State.MISSED


def test_a_report_says_what_is_reached_missed_void_and_not_measured(tmp_path: Path) -> None:
    lines = {line.wanted.id: line.state for line in wanted.compared(report.read(kept(tmp_path / "one")).figures)}

    assert (lines["D6"], lines["D1"], lines["D2"], lines["S1"]) == ("reached", "missed", "void", "not measured")


def test_one_that_is_missed_says_more_than_all_that_are_reached() -> None:
    some = [figures.of("D1 a", [1.0], "", most=value) for value in (2.0, 0.5, 3.0)]

    assert {line.wanted.id: line.state for line in wanted.compared(some)}["D1"] == "missed"


def test_a_folder_without_a_measurement_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "report", str(tmp_path), "--output", str(tmp_path / "r.html")])

    assert result.exit_code == 2
    assert "no figures" in result.output


def test_shares_are_drawn_rising_to_the_right() -> None:
    found = report.by_share("D", [{"latencies": Histogram.of(np.random.default_rng(3).exponential(9, 5_000)).told()}])
    picture = ET.fromstring(plots.shares("x", [found, Line("none", [])]))  # noqa: S314 - our own
    line = next(element for element in picture.iter() if element.tag.endswith("polyline"))
    points = [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]

    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert max(share for share, _ in found.points) <= 0.998  # of 5000 values ten are beyond


# The command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "line"], "did you mean 'lines'?"),
        (["run", "lines", "--system", "X"], "no system is called 'X'"),
        (["run", "tolls", "--system", "SS"], "does not know Linear Road tolls"),
        (["run", "lines", "--trace", "saw:1"], "there is no trace 'saw'"),
        (["run", "pairs", "--trace", "zipf:10"], "can't be drawn otherwise"),
        (["run", "lines", "--seconds", "5", "--settle", "5"], "nothing is left"),
        (["run", "lines", "--records", "x.txt"], "give a manifest"),
        (["run", "none.yaml"], "can't be read"),
        (["search", "examples/grep.yaml", "--system", "SS"], "runs as R, B or D"),
        (["search", "lines", "--from", "0"], "above 0"),
        (["compare", "lines", "--systems", "R"], "needs two systems"),
    ],
)
def test_what_cannot_be_measured_is_said_at_once(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["bench", *arguments], env={"COLUMNS": "200"})

    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


def test_the_list_has_workloads_systems_and_traces() -> None:
    told = json.loads(CliRunner().invoke(app, ["bench", "list", "-o", "json"]).stdout)

    assert {"lines", "ads", "averages", "pairs", "q8"} <= told["workloads"].keys()
    assert {"R", "B", "D", "SS", "bytewax", "quix", "pyflink"} <= told["systems"].keys()
    assert "constant:RATE" in told["traces"]


def test_who_is_compared_may_be_named_one_after_the_other() -> None:
    result = CliRunner().invoke(app, ["bench", "compare", "lines", "--systems", "R", "B", "X"], env={"COLUMNS": "200"})

    assert "no system is called 'X'" in result.output


def test_makers_go_by_the_name_of_their_system() -> None:
    assert Maker("SS", words.WORDS).bound == "500ms"


def test_a_line_of_columns_for_a_table_has_its_key() -> None:

    table = Table.model_validate_json(
        json.dumps({"name": "t", "topic": "t", "key": ["id"], "columns": "id string, n int"})
    )
    ((key, value), *rest) = columns.rows(table)

    assert key == b"id-0"
    assert json.loads(value) == {"id": "id-0", "n": 0}
    assert len(rest) == columns.DIFFERENT - 1


@pytest.mark.parametrize("one", wanted.ALL, ids=lambda one: one.id)
def test_what_measures_a_wanted_figure_is_there(one: wanted.Wanted) -> None:
    command, _, parts = one.by.partition(" ")
    if command.startswith("spillway.bench."):
        assert importlib.util.find_spec(command) is not None
    if command in PARTS:
        assert set(parts.split(", ")) <= PARTS[command].keys()
    if one.id in models.PARTS:
        assert one.by == f"spillway.bench.models {one.id}"
