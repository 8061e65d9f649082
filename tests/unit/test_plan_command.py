"""`spillway plan` at one rate: the golden row, what it prints, its exit codes, and what it says to a wrong question."""

# ruff: noqa: E501 - a table reads best with a case in each line

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from typer.testing import CliRunner, Result

import plans
from spillway.cli.main import app
from spillway.cli.planning import sheets, sizes
from spillway.controllers.planning import jobs
from spillway.controllers.planning.problem import Chaining
from spillway.model.operators import Paradigm

FEASIBLE, INFEASIBLE, UNREADABLE = 0, 1, 2
NAMES = [path.stem for path in plans.EXAMPLES]
FILES = {path.stem: str(path) for path in plans.EXAMPLES}
# What programs depend on: the names and kinds of a plan in JSON.
PLAN = {"feasible": bool, "latency": dict, "slots": int, "executor_cores": int, "operators": list, "reasons": list}
LATENCY = {"quantile": float, "bound_ms": float, "predicted_ms": (float, type(None))}
OPERATOR = {
    "name": str,
    "segment": str,
    "paradigm": str,
    "parallelism": int,
    "frame": (int, type(None)),
    "rate_in": float,
    "rate_out": float,
    "capacity": (float, type(None)),
    "utilisation": float,
    "bottleneck": bool,
}


def plan(*arguments: str, stdin: str = "") -> Result:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["plan", *arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def answer(*arguments: str) -> Any:
    result = plan(*arguments, "-o", "json")
    assert result.exit_code in (FEASIBLE, INFEASIBLE), result.output
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def edited(name: str, tmp_path: Path, **spec: Any) -> str:
    """A copy of an example with other fields of its spec."""
    document = yaml.safe_load(Path(FILES[name]).read_text())
    document["spec"] |= spec
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def misses(found: dict[str, Any], shape: dict[str, Any]) -> list[str]:
    """The fields that are not there, or not of their kind; a bool is no number."""
    return [
        name
        for name, kind in shape.items()
        if name not in found
        or not isinstance(found[name], kind)
        or (kind is not bool and isinstance(found[name], bool))
    ]


# The golden row


def test_linear_road_at_half_a_million_records_gets_the_row_of_the_thesis(tmp_path: Path) -> None:
    file = edited("linear-road", tmp_path, policy={"headroom": 0})
    found = answer(file, "--rate", "500000", "--chaining", "never")
    rows = [(row["name"], row["parallelism"], row["frame"]) for row in found["operators"]]
    assert rows == [
        ("spout", 1, 15),
        ("parse", 2, 387),
        ("agg", 2, 1),
        ("block", 1, None),
        ("mv", 1, 1),
        ("toll", 1, None),
    ]
    assert (found["feasible"], found["slots"], found["executor_cores"]) == (True, 8, 0)
    assert {row["segment"] for row in found["operators"]} == {row["name"] for row in found["operators"]}


def test_with_headroom_linear_road_needs_more_than_with_none(tmp_path: Path) -> None:
    room = {"workers": {"max": 20}}
    kept = answer(edited("linear-road", tmp_path, execution=room), "--rate", "500k", "--chaining", "never")
    without = answer(
        edited("linear-road", tmp_path, execution=room, policy={"headroom": 0}), "--rate", "5e5", "--chaining", "never"
    )
    assert kept["slots"] > without["slots"] == 8


# JSON


@pytest.mark.parametrize("rate", ["1000", "100000"])
@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_planned(name: str, rate: str) -> None:
    found = answer(FILES[name], "--rate", rate)
    job = plans.example(name)
    assert misses(found, PLAN) == []
    assert misses(found["latency"], LATENCY) == []
    assert [miss for row in found["operators"] for miss in misses(row, OPERATOR)] == []
    names = [row["name"] for row in found["operators"]]
    order = [*(stream.name for stream in job.spec.streams), *(operator.name for operator in job.spec.operators)]
    assert set(names) >= {operator.name for operator in job.spec.operators}
    assert len(names) == len(set(names))
    assert set(names) <= set(order)
    for operator in job.spec.operators:
        for read in {*operator.reads} & {*names}:
            assert names.index(read) < names.index(operator.name), "each after what it reads"
    assert found["feasible"], found["reasons"]
    assert found["latency"]["predicted_ms"] <= found["latency"]["bound_ms"]
    assert found["slots"] >= 1
    assert all(row["utilisation"] <= 0.8 + 1e-9 for row in found["operators"]), "a fifth is kept free"
    assert all(isinstance(reason, str) and reason for reason in found["reasons"])


def test_operators_of_one_segment_are_as_full_as_it_is() -> None:
    rows = answer(FILES["ysb"], "--rate", "10k")["operators"]
    views, fields, joined, counts = rows
    assert views["segment"] == fields["segment"] == joined["segment"] != counts["segment"]
    assert views["utilisation"] == fields["utilisation"]
    assert fields["rate_in"] / fields["capacity"] == pytest.approx(fields["utilisation"])
    assert (views["frame"], fields["frame"], counts["frame"]) == (None, None, None)
    assert joined["frame"] >= 1, "only where a frame leaves the segment"


def test_a_shape_that_is_wrong_would_be_noticed() -> None:
    assert misses({"name": 1, "bottleneck": 1, "parallelism": True}, OPERATOR) == list(OPERATOR)


def test_what_is_infinite_is_null(tmp_path: Path) -> None:
    found = answer(
        edited("grep", tmp_path, execution={"workers": {"max": 1}, "executors": {"min": 0, "max": 0}}), "--rate", "100M"
    )
    assert found["feasible"] is False
    assert found["latency"]["predicted_ms"] is None
    assert any(row["bottleneck"] for row in found["operators"])
    assert 0 < found["up_to"] < 1


# Exit codes and reasons


def test_a_plan_that_is_feasible_is_exit_code_0() -> None:
    assert plan(FILES["ysb"], "--rate", "10000").exit_code == FEASIBLE


def test_a_bound_that_can_not_be_reached_is_exit_code_1_and_says_so(tmp_path: Path) -> None:
    result = plan(edited("ysb", tmp_path, latency={"bound": "1ms", "quantile": 0.99}), "--rate", "1000")
    assert result.exit_code == INFEASIBLE
    assert "not feasible" in result.stdout.splitlines()[0]
    assert "1 ms" in result.stdout


def test_a_rate_beyond_the_room_is_exit_code_1_and_says_which_field_to_raise() -> None:
    result = plan(FILES["ysb"], "--rate", "100M")
    assert result.exit_code == INFEASIBLE
    assert "workers.max" in result.stdout


def test_a_selectivity_of_0_is_planned(tmp_path: Path) -> None:
    operators = yaml.safe_load(Path(FILES["ysb"]).read_text())["spec"]["operators"]
    operators[0]["costs"] = {"selectivity": 0}
    found = answer(edited("ysb", tmp_path, operators=operators), "--rate", "10k")
    assert found["feasible"]
    assert [row["rate_in"] for row in found["operators"]] == [10_000, 0, 0, 0]


WRONG: dict[str, tuple[list[str], str]] = {
    "no rate at all": (["ysb"], "nothing is said about events: give --rate for all streams, or --source events=RATE"),
    "a rate of 0": (["ysb", "--rate", "0"], "no records at all: a plan needs a rate above 0"),
    "a negative rate": (["ysb", "--rate", "-5"], "'-5' is no rate"),
    "no number": (["ysb", "--rate", "many"], "'many' is no rate; write records per second from 0 to 10^12"),
    "NaN": (["ysb", "--rate", "nan"], "'nan' is no rate"),
    "infinity": (["ysb", "--rate", "inf"], "'inf' is no rate"),
    "more than there is": (["ysb", "--rate", "1e13"], "'1e13' is no rate"),
    "more digits than a number has": (["ysb", "--rate", "9" * 400], "is no rate"),
    "nothing": (["ysb", "--rate", ""], "'' is no rate"),
    "a text that paints": (["ysb", "--rate", "\x1b[31m"], r"'\x1b[31m' is no rate"),
    "an unknown source": (["ysb", "--source", "event=5"], "no stream or table is called 'event', did you mean 'events'?"),
    "a source like no other": (["ysb", "--source", "zzz=5"], "no stream or table is called 'zzz'; there are events, campaigns"),
    "a source without a rate": (["ysb", "--source", "events"], "'events' has no rate; write NAME=RATE, such as events=1000"),
    "a source twice": (["ysb", "--source", "events=1", "--source", "events=2"], "'events' is there twice"),
    "a source with a wrong rate": (["ysb", "--source", "events=x"], "'x' is no rate"),
    "only one of two streams": (["windowed-join", "--source", "ads=1"], "nothing is said about sessions"),
    "a way of chaining that there is not": (["ysb", "--rate", "1", "--chaining", "some"], "'some' is not one of"),
    "a picture of another kind": (["ysb", "--rate", "1", "--plot", "plan.gif"], "'plan.gif' is neither .svg nor .png"),
}  # fmt: skip


def unboxed(text: str) -> str:
    """A message of typer in one line, whatever it was broken at."""
    return " ".join(text.split())


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_question_is_exit_code_2_and_a_sentence(sentence: str) -> None:
    (name, *options), words = WRONG[sentence]
    result = plan(FILES[name], *options)
    assert result.exit_code == UNREADABLE
    assert words in unboxed(result.stderr)
    assert result.stdout == ""


@pytest.mark.parametrize("text", ["500000", "500_000", "5e5", "500k", "0.5M", " 500000.0 "])
def test_a_rate_may_be_written_as_people_write_it(text: str) -> None:
    assert answer(FILES["grep"], "--rate", text)["operators"][0]["rate_in"] == 500_000


def test_a_source_comes_before_the_rate_of_all() -> None:
    found = answer(FILES["windowed-join"], "--rate", "1000", "--source", "ads=0")
    rates = {row["name"]: row["rate_in"] for row in found["operators"]}
    assert (rates["sessions"], rates["ads"], rates["joined"]) == (1000, 0, 1000)


def test_a_table_can_have_a_rate() -> None:
    found = answer(FILES["enrichment"], "--rate", "1000", "--source", "customers=500")
    assert {row["name"]: row["rate_in"] for row in found["operators"]}["enriched"] == 1500


# Files


def test_a_file_that_is_not_there_is_exit_code_2() -> None:
    result = plan("gone.yaml", "--rate", "1")
    assert (result.exit_code, result.stderr) == (UNREADABLE, "gone.yaml: can't be read: No such file or directory\n")


def test_mistakes_of_a_manifest_are_those_of_validate(tmp_path: Path) -> None:
    file = edited("ysb", tmp_path, latency={"bound": "500", "quantile": 2})
    validated = CliRunner().invoke(app, ["validate", file])
    result = plan(file, "--rate", "1")
    assert (result.exit_code, result.stderr, result.stdout) == (UNREADABLE, validated.stdout, "")
    assert result.stderr.count("\n") == 2


MANIFESTS = {
    "empty": ("", "holds no StreamJob; a plan is of one"),
    "another kind": ("apiVersion: v1\nkind: ConfigMap\n", "holds no StreamJob; a plan is of one"),
    "two jobs": (Path(FILES["ysb"]).read_text() + "---\n" + Path(FILES["grep"]).read_text(), "holds 2 StreamJobs; a plan is of one"),
    "no YAML": ("a: *b", "alias *b has no anchor before it (line 1)"),
    "a scalar": ("text", "expected a StreamJob, found 'text' (line 1)"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", MANIFESTS)
def test_what_is_no_job_is_exit_code_2(sentence: str) -> None:
    text, words = MANIFESTS[sentence]
    result = plan("-", "--rate", "1", stdin=text)
    assert (result.exit_code, result.stderr) == (UNREADABLE, f"<stdin>: {words}\n")


def test_a_config_map_beside_the_job_is_passed_over() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\n---\n" + Path(FILES["grep"]).read_text()
    assert plan("-", "--rate", "1", stdin=text).exit_code == FEASIBLE


# For people


def sheet(name: str, rate: float, width: int = 80, *, encoding: str = "utf-8", **made: Any) -> str:
    """A plan as it is printed, without a planner, so that only what is shown can change it."""
    job = plans.example(name)
    problem = jobs.problem(job, {stream.name: rate for stream in job.spec.streams}, chaining=Chaining.NEVER)
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding=encoding)
    rates = {stream.name: rate for stream in job.spec.streams}
    head = sheets.Asked(name, rates, problem.promise, problem.headroom, jobs.assumed(job))
    sheets.show(plans.planned(problem, **made), head, sheets.console(stream, width=width))
    stream.flush()
    return written.getvalue().decode(encoding)


def test_the_segments_at_80_columns() -> None:
    assert sheet("linear-road", 300_000).splitlines()[:11] == [
        "linear-road: 300 k/s, 99 % within 1 s: feasible with 7 slots",
        "",
        "  segment  runs    on       frame       in  utilisation",
        "  spout    record  1 slot       3  300 k/s  ██████▋·····   56 %",
        "  parse    record  2 slots     10  300 k/s  ███████████▏   93 %",
        "▶ agg      record  1 slot       1  297 k/s  ███████████▉   99 %",
        "  block    record  1 slot       -   89.1/s  ············   <1 %",
        "  mv       record  1 slot       1   89.1/s  ············   <1 %",
        "  toll     record  1 slot       -   89.1/s  ············   <1 %",
        "▶ the fullest, and the first to need more when the load grows",
        "",
    ]


def test_the_reasons_at_80_columns() -> None:
    lines = sheet("linear-road", 300_000).splitlines()[11:]
    assert lines[0].startswith("latency  ")
    assert lines[0].endswith(" for 99 %, 1 s allowed")
    assert lines[1].startswith("         ╌")
    assert len(lines[1]) == 80
    assert lines[1].endswith("··│"), "the bound is where the line ends"
    assert "         the slowest way: spout → parse → agg → mv → toll" in lines
    why = lines.index("why      Each operator has slots of its own, as few as it needs.")
    assert lines[why + 1 :] == [
        "         not fewer slots: they would not keep up",
        "",
        "assumed  the log takes 1.1 ms from one segment to the next",
        "         a micro-batch takes 30 to 60 ms beside its records, and a core does as",
        "         much as a slot",
    ]


def test_with_more_room_there_is_more_to_see() -> None:
    lines = sheet("linear-road", 300_000, 140).splitlines()
    assert lines[2].split() == ["segment", "runs", "on", "frame", "in", "out", "utilisation"]
    assert max(map(len, lines)) == sheets.WIDEST


def test_a_bottleneck_is_marked() -> None:
    lines = sheet("linear-road", 500_000, slots={"parse": 1}).splitlines()
    assert lines[0] == "linear-road: 500 k/s, 99 % within 1 s: not feasible"
    assert [line for line in lines if line.startswith("▶")] == [
        "▶ parse    record  1 slot      69  500 k/s  ████████████  200 %",
        "▶ bottleneck: more comes than it can do (cpu)",
    ]
    assert "latency  grows without end, because more comes than gets through; 1 s allowed" in lines
    assert "         records take longer than they may" in lines


def test_batches_run_on_cores_and_have_phases_of_their_own() -> None:
    text = sheet("word-count", 10_000, paradigms={"words": Paradigm.BATCH})
    assert "  words       batch   1 core " in text
    assert "▚ batch " in text
    assert "▞ schedule 45 ms" in text


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_longer_than_the_screen_or_ends_in_blanks(name: str, width: int) -> None:
    for line in sheet(name, 20_000, width).splitlines():
        assert len(line) <= width
        assert line == line.rstrip()


def test_a_locale_without_our_signs_gets_others() -> None:
    text = sheet("word-count", 10_000, encoding="ascii", paradigms={"words": Paradigm.BATCH})
    assert text.isascii()
    assert "> counts " in text
    assert "#..........." in text
    assert "the slowest way: lines > words > real-words > counts" in text


def test_a_pipe_gets_no_colours() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("spillway")), "plan", FILES["ysb"], "--rate", "10k"],
        capture_output=True,
        check=True,
    )
    assert b"\x1b" not in done.stdout
    assert done.stdout.decode().startswith("ysb: 10 k/s, 99 % within 500 ms: feasible with 1 slot\n")


def test_what_is_assumed_is_told() -> None:
    text = plan(FILES["ysb"], "--rate", "10k").stdout
    assert "assumed  typical costs of views, fields, joined, counts; declare `costs`" in text
    assert "typical costs" not in plan(FILES["linear-road"], "--rate", "10k").stdout


# Pictures


@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_plan_is_drawn(tmp_path: Path, kind: str, begins: bytes) -> None:
    path = tmp_path / f"plan.{kind}"
    assert plan(FILES["ysb"], "--rate", "10k", "--plot", str(path)).exit_code == FEASIBLE
    assert path.read_bytes().startswith(begins)


def test_the_same_plan_is_the_same_picture_and_an_overloaded_one_too(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        assert plan(FILES["ysb"], "--rate", "100M", "--plot", str(tmp_path / name)).exit_code == INFEASIBLE
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_that_can_not_be_written_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "plan.svg"
    result = plan(FILES["ysb"], "--rate", "10k", "--plot", str(path))
    assert (result.exit_code, result.stderr) == (UNREADABLE, f"{path}: can't be written: No such file or directory\n")


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = plan(FILES["ysb"], "--rate", "10k", "--plot", str(tmp_path / "plan.svg"))
    assert result.exit_code == UNREADABLE
    assert result.stderr == "drawing needs matplotlib, which is not installed: pip install 'spillway[plot]'\n"


# Numbers for people

RATES = {
    0.0: "0/s",
    0.4: "0.4/s",
    12.34: "12.3/s",
    999.4: "999/s",
    999.6: "1 k/s",
    12_345: "12.3 k/s",
    5e5: "500 k/s",
    1.5e6: "1.5 M/s",
    2e9: "2 G/s",
}
TIMES = {
    0.0: "0 ms",
    4.1e-6: "4.1 µs",
    5e-10: "0.5 ns",
    0.0425: "42.5 ms",
    0.9996: "1 s",
    1.0: "1 s",
    90: "1.5 min",
    3600: "1 h",
    math.inf: "never",
}
SHARES = {0.0: "0 %", 0.004: "<1 %", 0.5: "50 %", 1.0: "100 %", 2.5: "250 %", 99.0: "99 times", 1e6: "far too much"}


def test_numbers_have_three_digits_and_a_unit() -> None:
    assert {value: sizes.rate(value) for value in RATES} == RATES
    assert {value: sizes.duration(value) for value in TIMES} == TIMES
    assert {value: sizes.share(value) for value in SHARES} == SHARES
    assert [sizes.quantile(of) for of in (0.5, 0.99, 0.999)] == ["50 %", "99 %", "99.9 %"]
    assert [sizes.of_all(of) for of in (1.0, 0.99999, 0.5)] == ["100 %", "99.99 %", "50 %"]
    assert [sizes.count(n, "slot") for n in (0, 1, 2)] == ["0 slots", "1 slot", "2 slots"]


def test_the_command_is_listed() -> None:
    assert "plan" in typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_the_pages_show_what_is_printed() -> None:
    top = Path(__file__).parents[2]
    page, readme = (top / "docs/how-to/plan-a-job.md").read_text(), (top / "README.md").read_text()
    shown = page.partition("$ spillway plan examples/ysb.yaml --rate 10000\n")[2].partition("```")[0]
    assert plan(FILES["ysb"], "--rate", "10000").stdout == shown
    begins = readme.partition("$ spillway plan examples/linear-road.yaml --rate 500k\n")[2].partition("…\n```")[0]
    assert begins
    assert plan(FILES["linear-road"], "--rate", "500k").stdout.startswith(begins)
