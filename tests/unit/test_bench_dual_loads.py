"""Loads, capacities, switches and pictures of the comparison: what is computed from what was seen."""

from __future__ import annotations

import dataclasses
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from spillway.bench import engines
from spillway.bench.dual import (
    bursts,
    capacity,
    courses,
    high,
    low,
    plots,
    threshold,
    throughput,
)
from spillway.bench.dual.capacity import Step
from spillway.bench.dual.courses import Run
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.loads import Load, Phase
from spillway.bench.dual.plots import Line
from spillway.bench.engines import Maker, others, switches
from spillway.bench.engines.switches import Heard, Switch
from spillway.bench.record import reports
from spillway.bench.record.figures import Verdict
from spillway.bench.record.schedule import Lateness
from spillway.bench.record.systems import EndedError
from spillway.bench.workloads import words
from spillway.model.observation import Move, MoveKind
from spillway.model.operators import Paradigm

LOAD = Load(100.0, (Phase("low", 2.0, 2.0), Phase("burst", 10.0, 1.0), Phase("low again", 2.0, 8.0)), first=7)


def judged(dues: np.ndarray, latencies: np.ndarray) -> Judged:
    return Judged(0, 0, 0, len(dues), len(dues), dues, latencies)


def test_messages_are_due_at_the_rate_of_their_phase() -> None:
    dues = LOAD.dues()

    assert len(dues) == LOAD.count == 4 + 10 + 16
    assert dues[:5] == pytest.approx([100.0, 100.5, 101.0, 101.5, 102.0])
    assert dues[13:15] == pytest.approx([102.9, 103.0])
    assert LOAD.end == 111.0


def test_a_capacity_is_what_is_done_at_the_first_load_that_is_too_much() -> None:
    able, steps = 9_000.0, list[Step]()
    while (rate := capacity.following(steps)) is not None:
        steps.append(Step(rate, min(rate, able)))

    assert [step.offered for step in steps] == [2_000, 4_000, 8_000, 16_000, 16_000, 16_000]
    assert capacity.found(steps) == able


def test_a_load_that_is_too_much_once_is_tried_again_and_then_goes_on() -> None:
    steps = [Step(2_000, 900)]  # something was compiled meanwhile
    assert capacity.following(steps) == 2_000
    steps.append(Step(2_000, 2_000))
    assert capacity.following(steps) == 4_000


def test_a_search_ends_though_nothing_is_too_much() -> None:
    steps = list[Step]()
    while (rate := capacity.following(steps)) is not None:
        steps.append(Step(rate, rate))

    assert len(steps) == capacity.MOST


def test_what_is_done_is_counted_by_when_it_was() -> None:
    assert capacity.done_between(np.arange(0.0, 10.0, 0.1), 2.0, 4.0) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("record", "batch", "wanted"), [(1000, 4000, 1300), (1000, 1600, 1200), (1000, 1200, None), (1000, 500, None)]
)
def test_the_high_load_is_beyond_record_by_record_and_within_batches(
    record: float, batch: float, wanted: float | None
) -> None:
    assert high.chosen(record, batch) == (wanted if wanted is None else pytest.approx(wanted))


def test_bursts_are_beyond_record_by_record_and_within_batches() -> None:
    rates = {phase.name: phase.rate for phase in bursts.phases(1000.0, 4000.0, 90.0)}

    assert rates["low"] == rates["low again"] == rates["low at last"] == pytest.approx(100)
    assert rates["burst"] == pytest.approx(1300)
    assert rates["higher burst"] == pytest.approx(2000)
    assert sum(phase.seconds for phase in bursts.phases(1000.0, 4000.0, 90.0)) == pytest.approx(90)


def test_a_rate_around_the_threshold_is_below_and_above_in_turn() -> None:
    found = threshold.phases(1000.0, 20.0)

    assert [phase.rate for phase in found] == pytest.approx([950, 1050, 950, 1050])
    assert sum(phase.seconds for phase in found) == 20


def decision(at: float, to: str | None, part: str = "switching") -> dict[str, object]:
    return {"at": at, "part": part, "reason": "Some", "sentence": "so"} | ({"to": to} if to else {})


def test_at_the_threshold_those_switches_count_that_are_decided_while_the_load_lasts() -> None:
    heard = Heard()
    heard.decided([decision(100.5, "batch"), decision(105.0, "record"), decision(LOAD.end + 1, "batch")])
    run = courses.failed(Maker("D", words.WORDS), LOAD.phases, "")
    (figure,) = threshold.shown(words.WORDS, 1.0, [dataclasses.replace(run, load=LOAD, begin=100.0, heard=heard)])

    assert (figure.value, figure.verdict) == (2, Verdict.MISSED)


def test_only_decisions_to_switch_are_switches_and_each_is_counted_once() -> None:
    heard = Heard()
    for _ in range(2):
        heard.decided([decision(1.0, None), decision(2.0, "batch"), decision(2.5, "batch", "assignment")])
    heard.decided([decision(9.0, "record")])
    heard.batches = {1.5, 2.4, 3.0}

    found = heard.switches()
    assert [(one.at, one.to) for one in found] == [(2.0, Paradigm.BATCH), (9.0, Paradigm.RECORD)]
    assert found[0].first == pytest.approx(0.4)
    assert found[1].first is None
    assert heard.switches(since=5.0) == found[1:]


def test_pauses_are_those_of_switches() -> None:
    def move(at: float, kind: MoveKind, pause: float | None) -> Move:
        return Move(at, kind, "words/0", "w0.0", "batch", pause, "")

    heard = Heard()
    heard.moved([move(1.0, MoveKind.SWITCH, 20.0), move(2.0, MoveKind.RESIZE, 30.0), move(3.0, MoveKind.SWITCH, None)])
    heard.moved([move(1.0, MoveKind.SWITCH, 20.0)])

    assert heard.pauses() == [20.0]


def test_switches_are_counted_by_the_edge_that_they_follow() -> None:
    found = [Switch(at, Paradigm.BATCH, "", "") for at in (1.0, 12.0, 13.0, 25.0)]

    assert switches.by_edge(found, [10.0, 20.0, 30.0]) == [1, 2, 1, 0]
    assert bursts.edges(LOAD) == [102.0, 103.0]


def test_normal_is_when_it_stays_so() -> None:
    dues = np.arange(100.0, 111.0, 0.1)
    late = np.where((dues >= 102.0) & (dues < 104.2) | (dues > 105.0) & (dues < 105.2), 900.0, 20.0)

    assert bursts.settled(judged(dues, late), 103.0, 500.0, LOAD) == pytest.approx(2.5)
    assert bursts.settled(judged(dues, late), 106.0, 500.0, LOAD) == 0.0
    assert math.isnan(bursts.settled(judged(dues, late), 103.0, 10.0, LOAD))


LINES = [Line("R & D", [(0.5, 10.0), (1.5, 2000.0)], [(1.0, True), (1.4, False)]), Line("B", [(0.5, 300.0)])]


def test_a_picture_has_a_line_for_each_run_and_a_mark_for_each_switch() -> None:
    drawn = plots.drawn("D3 <words>", LINES, [(1.0, 100.0), (1.0, 200.0)], bound=500.0)

    picture = ET.fromstring(drawn)  # noqa: S314 - our own
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert tags.count("polyline") == 2
    assert sum(element.get("class") == "switch" for element in picture.iter()) == 2
    assert {"D3 <words>", "R & D to batches", "R & D to record by record"} <= {
        element.text for element in picture.iter() if element.text
    }


def test_a_higher_latency_is_drawn_higher_and_all_of_it_on_the_paper() -> None:
    picture = ET.fromstring(plots.drawn("", LINES, [(2.0, 100.0)]))  # noqa: S314 - our own
    line = next(element for element in picture.iter() if element.tag.endswith("polyline"))
    (_, low), (_, above) = (map(float, point.split(",")) for point in (line.get("points") or "").split())

    assert plots.TOP <= above < low <= plots.FLOOR


def test_a_picture_of_nothing_is_a_picture() -> None:
    assert ET.fromstring(plots.drawn("", [], [])) is not None  # noqa: S314 - our own


def test_a_system_that_is_not_installed_is_left_out_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []
    monkeypatch.setattr(others, "PEERS", tmp_path / "none")

    assert engines.there(["R", "bytewax", "D"], words.WORDS, said.append) == ["R", "D"]
    assert "bytewax" in said[0]


def test_a_run_that_came_to_nothing_has_no_figure() -> None:
    tried: list[int] = []

    def never() -> Run:
        tried.append(1)
        message = "it ended"
        raise EndedError(message)

    maker = Maker("R", words.WORDS)
    run = courses.counted(never, maker, LOAD.phases, lambda _: None)

    failed = courses.failed(maker, bursts.phases(1000.0, 4000.0, 60.0), "it ended")
    assert len(tried) == courses.TRIES
    assert run.problem == "it ended"
    verdicts = {
        figure.verdict
        for figure in (
            *throughput.shown(words.WORDS, {"R": [run], "B": [run], "D": [run]}),
            *high.shown(words.WORDS, 1.0, {"R": [run], "B": [run], "D": [run]}),
            *low.shown(words.WORDS, 1.0, {"R": [run], "D": [run]}),
            *threshold.shown(words.WORDS, 1.0, [run]),
            *(one for one in bursts.shown(words.WORDS, [failed]) if one.wanted),
        )
    }
    assert verdicts == {Verdict.VOID}
    assert reports.plain(run.told())["problem"] == "it ended"


def test_a_generator_that_was_late_is_tried_again() -> None:
    tried: list[int] = []

    def late() -> Run:
        tried.append(1)
        lateness = Lateness(0.0, 1.0 if len(tried) < 2 else 0.001, 1.0)
        return dataclasses.replace(courses.failed(Maker("R", words.WORDS), LOAD.phases, ""), lateness=lateness)

    assert not courses.counted(late, Maker("R", words.WORDS), LOAD.phases, lambda _: None).problem
    assert len(tried) == 2
