"""`spillway plan --rates`: a job under a load trace, what is printed of it, and what it says to a wrong trace."""

# ruff: noqa: E501 - a table reads best with a case in each line

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import plans
from spillway.cli.main import app
from spillway.cli.planning import courses, questions, rehearsals
from spillway.model.operators import Paradigm
from spillway.simulation.runs import Event, Kind, Row, Run, SegmentRow, Totals

KEPT, NOT_KEPT, UNREADABLE = 0, 1, 2
FILES = {path.stem: str(path) for path in plans.EXAMPLES}
# Calm, a burst that needs more than one slot, and calm again.
BURST = "seconds,rate\n0,20000\n30,20000\n31,600000\n90,600000\n91,20000\n150,20000\n"
CALM = "0,1000\n60,1200\n"


def plan(*arguments: str) -> Result:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["plan", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture(scope="module")
def burst(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("traces"), BURST)


@pytest.fixture(scope="module")
def answered(burst: str) -> Any:
    return answer(FILES["ysb"], "--rates", burst)


def written(tmp_path: Path, text: str | bytes, name: str = "trace.csv") -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def answer(*arguments: str) -> Any:
    result = plan(*arguments, "-o", "json")
    assert result.exit_code in (KEPT, NOT_KEPT), result.output
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


# For programs


def test_a_plan_for_each_stretch_between_two_changes(answered: Any) -> None:
    found = answered
    assert len(found) > 1, "the burst changes something"
    assert found[0]["at"] == 0
    assert found[-1]["until"] == 150
    assert [entry["until"] for entry in found[:-1]] == [entry["at"] for entry in found[1:]], "no gap"
    assert found[0]["changes"] == []
    for entry in found[1:]:
        assert entry["changes"]
        assert entry["reasons"] == [change["sentence"] for change in entry["changes"]]
        for change in entry["changes"]:
            assert change["kind"] in ("switch", "resize", "fault")
            assert entry["at"] < change["at"] <= entry["at"] + 1
    for entry in found:
        assert {"feasible", "latency", "slots", "executor_cores", "operators", "reasons"} <= entry.keys()
        assert {"quantile", "bound_ms", "predicted_ms"} <= entry["latency"].keys()
        assert [row["name"] for row in entry["operators"]] == ["views", "fields", "joined", "counts"]


def test_the_slots_follow_the_load(answered: Any) -> None:
    found = answered
    assert found[0]["slots"] < max(entry["slots"] for entry in found)
    assert max(entry["rate"] for entry in found) == pytest.approx(600_000, rel=0.01)


def test_the_same_trace_gives_the_same_answer(burst: str, answered: Any) -> None:
    assert answer(FILES["ysb"], "--rates", burst) == answered


def test_rates_inside_a_segment_keep_their_proportion(tmp_path: Path) -> None:
    (entry,) = answer(FILES["word-count"], "--rates", written(tmp_path, CALM))
    words = {row["name"]: row for row in entry["operators"]}
    assert words["words"]["rate_in"] == pytest.approx(entry["rate"], rel=0.01)
    assert words["words"]["rate_out"] == pytest.approx(8 * words["words"]["rate_in"])


# For people


def test_a_calm_load_is_kept_and_nothing_is_changed(tmp_path: Path) -> None:
    result = plan(FILES["ysb"], "--rates", written(tmp_path, CALM))
    lines = result.stdout.splitlines()
    assert result.exit_code == KEPT
    assert lines[0] == "ysb over 1 min, 1 k/s to 1.2 k/s, 99 % within 500 ms: kept (100 %)"
    assert "nothing was changed" in lines
    assert [line for line in lines if line.startswith("cost     0.0")]


def test_a_burst_is_told_and_drawn(tmp_path: Path, burst: str) -> None:
    path = tmp_path / "course.svg"
    result = plan(FILES["ysb"], "--rates", burst, "--plot", str(path))
    assert path.read_bytes().startswith(b"<?xml")
    lines = result.stdout.splitlines()
    titles = {line[:9].strip() for line in lines} - {""}
    assert {"rate", "latency", "slots", "changes", "cost", "assumed"} <= titles
    assert [line for line in lines if " resize " in line]
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_load_that_is_too_much_is_exit_code_1(tmp_path: Path) -> None:
    result = plan(FILES["ysb"], "--rates", written(tmp_path, "0,1e7\n20,1e7\n"))
    assert result.exit_code == NOT_KEPT
    assert "not kept" in result.stdout


# Beside others


def test_the_same_load_under_other_policies(tmp_path: Path) -> None:
    path = tmp_path / "compared.png"
    file = written(tmp_path, CALM)
    result = plan(FILES["ysb"], "--rates", file, "--compare", "--plot", str(path))
    lines = result.stdout.splitlines()
    start = lines.index("policy     in time    worst  late  slot-h  core-h  resizes  switches")
    names = ["spillway", "static", "threshold", "keda", "flink", "stela"]
    assert [line.split()[0] for line in lines[start + 1 : start + 7]] == names
    assert path.read_bytes().startswith(b"\x89PNG")
    found = answer(FILES["ysb"], "--rates", file, "--compare")
    assert list(found["policies"]) == names
    assert found["plans"] == answer(FILES["ysb"], "--rates", file), "to be compared changes nothing"
    assert {policy["within"] for policy in found["policies"].values()} == {1.0}, "everybody keeps up with a calm load"


def test_a_join_of_a_stream_and_a_table_can_be_compared_too(tmp_path: Path) -> None:
    found = answer(FILES["enrichment"], "--rates", written(tmp_path, CALM), "--compare")
    assert {policy["within"] for policy in found["policies"].values()} == {1.0}


def test_policies_are_compared_over_time_only() -> None:
    result = plan(FILES["ysb"], "--rate", "1", "--compare")
    assert result.exit_code == UNREADABLE
    assert "give a load with --rates" in " ".join(result.stderr.split())


# Wrong traces

WRONG: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "the trace is empty; it needs lines such as `0,1000` (seconds, records per second)"),
    "only a head": ("seconds,rate\n", "the trace is empty"),
    "only remarks": ("# nothing\n\n", "the trace is empty"),
    "text": ("hello\nworld\n", "line 1: 'hello' has one column; it needs seconds and at least one rate"),
    "a rate that is none": ("0,1\n5,many\n", "line 2: rate is 'many'; it must be a number from 0 to 1e+12"),
    "a negative rate": ("0,-1\n", "line 1: rate is '-1'; it must be a number from 0"),
    "NaN": ("0,1\n1,nan\n", "line 2: rate is 'nan'"),
    "infinity": ("0,inf\n1,1\n", "line 1: rate is 'inf'"),
    "time that goes back": ("0,1\n5,1\n4,1\n", "line 3: 4 s is not after 5 s; times must rise"),
    "a column too many": ("0,1\n5,1,1\n", "line 2: 3 columns, and there should be 2: seconds, rate"),
    "rates without names": ("0,1,2\n", "line 1: 2 rates, and no line before that names their sources"),
    "one point": ("0,1\n", "is 0 s long; a trace needs two points or more, and ends within 24 h"),
    "a week": ("0,1\n604800,1\n", "is 604800 s long; a trace needs two points or more, and ends within 24 h"),
    "bytes that are no text": (b"\xff\xfe\x00", "is not UTF-8; it should be lines of seconds and rates, such as `0,1000`"),
    "what would paint": ("0,\x1b[31m\n", r"line 1: rate is '\x1b[31m'"),
    "nothing but zeros": ("0,0\n60,0\n", "all rates are 0; a plan needs records"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_trace_is_exit_code_2_and_a_sentence(tmp_path: Path, sentence: str) -> None:
    text, words = WRONG[sentence]
    file = written(tmp_path, text)
    result = plan(FILES["ysb"], "--rates", file)
    assert (result.exit_code, result.stdout) == (UNREADABLE, "")
    assert result.stderr.startswith(f"{file}: {words}")
    assert result.stderr.count("\n") == 1


def test_a_trace_that_is_not_there_is_a_sentence() -> None:
    result = plan(FILES["ysb"], "--rates", "gone.csv")
    assert (result.exit_code, result.stderr) == (UNREADABLE, "gone.csv: can't be read: No such file or directory\n")


def test_a_column_of_no_stream_is_a_wrong_option(tmp_path: Path) -> None:
    result = plan(FILES["ysb"], "--rates", written(tmp_path, "seconds,event\n0,1\n1,1\n"))
    assert result.exit_code == UNREADABLE
    assert "no stream or table is called 'event', did you mean 'events'?" in " ".join(result.stderr.split())


# Which rates belong to whom

COLUMNS: dict[str, tuple[str, str | None, list[str], dict[str, tuple[float, float]]]] = {
    "one column is for every stream": ("0,1\n1,2\n", None, [], {"sessions": (1, 2), "ads": (1, 2)}),
    "but for those that have a rate of their own": ("0,1\n1,2\n", None, ["ads=7"], {"sessions": (1, 2), "ads": (7, 7)}),
    "columns by name": ("seconds,ads,sessions\n0,1,3\n1,2,4\n", None, [], {"ads": (1, 2), "sessions": (3, 4)}),
    "the rest has the rate of all": ("seconds,ads\n0,1\n1,2\n", "5", [], {"ads": (1, 2), "sessions": (5, 5)}),
    "a name of a column that is no stream's is that of all": ("seconds,rate\n0,1\n1,2\n", None, [], {"sessions": (1, 2), "ads": (1, 2)}),
    "or one of its own": ("seconds,ads\n0,1\n1,2\n", None, ["sessions=6"], {"ads": (1, 2), "sessions": (6, 6)}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", COLUMNS)
def test_the_rates_of_a_trace(tmp_path: Path, sentence: str) -> None:
    text, rate, sources, expected = COLUMNS[sentence]
    found = rehearsals.trace(Path(written(tmp_path, text)), plans.example("windowed-join"), rate, sources)
    assert dict(found.rates) == expected


def test_a_rate_that_nobody_needs_is_a_mistake(tmp_path: Path) -> None:
    file = Path(written(tmp_path, CALM))
    with pytest.raises(questions.RefusedError, match="leave --rate out"):
        rehearsals.trace(file, plans.example("ysb"), "5", [])


def test_a_stream_of_which_nothing_is_said_is_missed(tmp_path: Path) -> None:
    file = Path(written(tmp_path, "seconds,ads\n0,1\n1,2\n"))
    with pytest.raises(questions.RefusedError, match="nothing is said about sessions"):
        rehearsals.trace(file, plans.example("windowed-join"), None, [])


# Stretches


def run_of(rows: int, *events: float) -> Run:
    segments = {"a": SegmentRow(1, Paradigm.RECORD, 0.0)}
    return Run(
        1.0,
        0.99,
        1.0,
        tuple(Row(float(at), 10.0, 10.0, 0.1, 1.0, None, 1, 0, 0.0, segments) for at in range(rows)),
        tuple(Event(at, Kind.RESIZE, ("a",), {"a": "1"}, {"a": "2"}, "Grow", f"at {at}") for at in events),
        Totals(1, 1, 0, 1.0, True, 1.0, 0.0, len(events), 0, 0.1, 0.0, 0.0),
    )


CUTS = {
    "no change": ((), [(0.0, 10.0, 0)]),
    "a row has the sizes of its end": ((4.0,), [(0.0, 3.0, 0), (3.0, 10.0, 1)]),
    "so a change within it counts for all of it": ((3.2,), [(0.0, 3.0, 0), (3.0, 10.0, 1)]),
    "two in a row are one": ((3.2, 3.9), [(0.0, 3.0, 0), (3.0, 10.0, 2)]),
    "at the very start": ((0.0,), [(0.0, 10.0, 1)]),
    "in the first row": ((0.4,), [(0.0, 10.0, 1)]),
    "at the very end": ((10.0,), [(0.0, 9.0, 0), (9.0, 10.0, 1)]),
}


@pytest.mark.parametrize("sentence", CUTS)
def test_a_run_is_cut_where_something_was_changed(sentence: str) -> None:
    events, expected = CUTS[sentence]
    found = [(s.at, s.until, len(s.events)) for s in courses.stretches(run_of(10, *events))]
    assert found == expected


def test_all_rows_and_events_of_a_run_are_in_one_stretch_each() -> None:
    run = run_of(30, 0.5, 1.5, 1.6, 7.0, 29.9)
    found = list(courses.stretches(run))
    assert tuple(row for stretch in found for row in stretch.rows) == run.rows
    assert tuple(event for stretch in found for event in stretch.events) == run.events
