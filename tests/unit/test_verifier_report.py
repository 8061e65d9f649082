"""What a verdict looks like, for people and for programs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from spillway.bench.verifier import command, report
from spillway.bench.verifier.verdict import Example, Kind, Latency, OutputVerdict, Verdict

EXAMPLE = Example(Kind.LOST, "a", {"k": "a", "n": 2}, None, None, None, "the row is not there")
OUTPUT = OutputVerdict("result", "changelog", 2, 1, lost=1, examples=(EXAMPLE,), latency=Latency.of([1.0, 5.0, 9.0]))
WRONG = Verdict(False, "", "at-least-once", records_in=7, records_out=1, lost=1, outputs=(OUTPUT,))
VOID = Verdict(False, "no stream has any record", "at-least-once")


def shown(verdict: Verdict) -> str:
    text = io.StringIO()
    report.show(verdict, Console(file=text, width=80))
    return text.getvalue()


def test_people_see_numbers_examples_and_a_sentence() -> None:
    lines = shown(WRONG).splitlines()

    assert any(line.split() == ["lost", "1"] for line in lines)
    assert any("5 / 9" in line for line in lines)
    assert "result: lost, key a: the row is not there" in lines
    assert '    expected {"k": "a", "n": 2}' in lines
    assert lines[-1] == "not right: 7 records in, 1 out, at-least-once"


def test_people_are_told_why_nothing_is_said() -> None:
    assert shown(VOID).splitlines() == ["void: no stream has any record"]


@pytest.mark.parametrize(
    ("verdict", "word", "code"),
    [(WRONG, "not right", 1), (VOID, "void", 2), (Verdict(True, "", "exactly-once"), "right", 0)],
)
def test_programs_get_a_word_and_an_exit_code(verdict: Verdict, word: str, code: int) -> None:
    assert json.loads(report.as_json(verdict))["verdict"] == word
    assert verdict.exit_code == code


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.parser().parse_args(["--help"])

    assert "python -m spillway.bench.verifier --job examples/word-count.yaml" in capsys.readouterr().out


@pytest.mark.parametrize(("given", "lead"), [("none", None), ("2.5", 2500), ("first", -(10**15))])
def test_what_is_known_of_tables(given: str, lead: int | None) -> None:
    arguments = command.parser().parse_args(["--job", "job.yaml", "--lead", given])

    assert command.assumptions(arguments).lead == lead
