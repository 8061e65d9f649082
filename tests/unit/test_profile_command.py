"""What `spillway profile` refuses, and what it goes on from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from profiled import LINE, Exact
from spillway.cli.main import app
from spillway.cli.planning.questions import RefusedError
from spillway.cli.profiling import answers, costs, pictures, questions, session, sheets
from spillway.cli.profiling.session import Kept, StateError
from spillway.controllers import acceptance
from spillway.controllers.profiling import machine, prices
from spillway.controllers.profiling.rounds import Settings, State
from spillway.model.streamjob import StreamJob

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = Settings(bound=1.0, frames=(1, 10, 100))


def example(name: str) -> StreamJob:
    found = acceptance.accept(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())).job
    assert found is not None
    return found


def told(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["profile", *options])
    return found.exit_code, found.output


def test_a_file_that_is_no_job_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("kind: StreamJob\n")
    code, said = told(str(tmp_path / "job.yaml"))
    assert code == 2
    assert "job.yaml" in said


def test_a_picture_of_another_kind_is_refused_before_anything_runs() -> None:
    code, said = told(str(EXAMPLES / "grep.yaml"), "--picture", "out.gif")
    assert code == 2
    assert "neither .svg nor .png" in said


RECORDS = {
    "a name that is no stream": (["lnes={file}"], "did you mean 'lines'"),
    "a file that is not there": (["nowhere.txt"], "is no file"),
    "a stream twice": (["{file}", "lines={file}"], "is there twice"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_records_are_refused(case: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    given, why = RECORDS[case]
    with pytest.raises(RefusedError, match=why):
        questions.recordings(example("word-count"), [text.format(file=file) for text in given])


def test_a_file_alone_is_for_the_only_stream(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert questions.recordings(example("word-count"), [str(tmp_path / "a")]) == {"lines": tmp_path / "a"}
    with pytest.raises(RefusedError, match="NAME=FILE"):
        questions.recordings(example("windowed-join"), [str(tmp_path / "a")])


def state() -> State:
    return machine.run(Exact(), machine.begin(LINE, SETTINGS))


def test_what_is_stored_is_read_back(tmp_path: Path) -> None:
    kept = Kept("default/a", "digest", "2 cores", state())
    kept.write(tmp_path / "kept.json")
    assert Kept.read(tmp_path / "kept.json") == kept
    assert Kept.read(tmp_path / "other.json") is None


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1}', '{"version": 9}'])
def test_what_is_no_profile_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(StateError, match="remove it to begin anew"):
        Kept.read(tmp_path / "kept.json")


def test_costs_and_policy_make_no_other_job_and_operators_do() -> None:
    document = yaml.safe_load((EXAMPLES / "word-count.yaml").read_text())
    one = session.digest(example("word-count"))
    document["spec"]["operators"][0]["costs"] = {"cpu": "1us"}
    document["spec"]["policy"] = {"headroom": 0.3}
    same = acceptance.accept(document).job
    assert same is not None
    assert session.digest(same) == one
    document["spec"]["operators"][1]["filter"] = "word <> 'a'"
    other = acceptance.accept(document).job
    assert other is not None
    assert session.digest(other) != one


def profile() -> answers.Profile:
    done = state()
    end = machine.next_step(done)
    assert isinstance(end, machine.Finished)
    found = prices.find(done)
    measured = [one.measurement for one in done.rounds[:3] if one.measurement is not None]
    return answers.Profile("default/a", "2 cores", ("in: 5 records",), end, found, {}, costs.misses(found, measured))


def test_a_profile_is_told_as_text_json_and_a_picture(tmp_path: Path) -> None:
    found = profile()
    text = "\n".join(sheets.told(found))
    assert "best on 2 cores" in text
    for done in found.finished.rounds:
        head, why = sheets.done(done)
        assert head.startswith(f"round {done.number}: in ")
        assert done.sentence in why
    told = json.loads(json.dumps(answers.answer(found), allow_nan=False))
    assert len(told["rounds"]) == len(found.finished.rounds)
    pictures.draw(found, tmp_path / "rounds.svg")
    assert (tmp_path / "rounds.svg").read_text().count("<path") > 10


def test_what_outputs_are_sent_with_is_not_told_twice() -> None:
    """Planning adds s·c_emit for each output, and what was measured has it in its cpu already."""
    job = example("word-count")
    price = prices.Price
    found = [prices.Profiled("counts", price(10e-6), price(0.0), price(4e-6), price(0.5), price(20.0))]
    declared = costs.declared(job, found)["counts"]
    assert declared.cpu is not None
    assert declared.cpu.seconds == pytest.approx(8e-6)
    assert costs.flow(declared) == "{cpu: 8us, fetch: 0ns, emit: 4us, selectivity: 0.5, recordSize: 20}"


def test_frames_to_test_on_are_none_that_were_fitted_on() -> None:
    deployments = costs.held_out(state())
    assert len(deployments) == 2
    assert {size for one in deployments for size in one.frames.values()}.isdisjoint(SETTINGS.frames)
    assert costs.held_out(machine.begin(LINE, SETTINGS)) == []


def test_a_cost_that_predicts_too_little_is_missed_by_that_much() -> None:
    done = state()
    found = prices.find(done)
    wrong = [dataclasses.replace(one, cpu=prices.Price(one.cpu.value / 2)) for one in found]
    measured = [one.measurement for one in done.rounds[:3] if one.measurement is not None]
    assert costs.worst(costs.misses(found, measured))[1] < 0.01
    assert costs.worst(costs.misses(wrong, measured))[0] == pytest.approx(0.5, abs=0.01)
