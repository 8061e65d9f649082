"""`spillway validate`: the lines that it prints, its exit codes, and hostile files, which end in a line as well."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from bad_manifests import CASES
from spillway.cli import manifests, terminal
from spillway.cli.main import app

TOP = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((TOP / "examples").glob("*.yaml"))
SPILLWAY = str(Path(sys.executable).with_name("spillway"))
VALID, INVALID, UNREADABLE = 0, 1, 2

JOB = """\
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: small}
spec:
  kafka: {bootstrapServers: ["kafka:9092"]}
  latency:
    bound: 500ms
  streams:
    - name: clicks
      topic: clicks
      columns: "user string, price double"
  operators:
    - name: dear
      input: clicks
      filter: "price > 10"
  outputs:
    - {name: result, input: dear, topic: dear}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: functions}\ndata: {ads.py: 'x = 1'}\n"
GOOD_LINE = "StreamJob small: valid (1 stream, 1 operator, 1 output)"


def validate(*arguments: str, stdin: str | bytes = b"") -> Result:
    result = CliRunner().invoke(app, ["validate", *arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def said(text: str | bytes) -> list[str]:
    """The lines about a manifest on standard input, without the name of the file."""
    result = validate("-", stdin=text)
    lines = result.stdout.splitlines()
    assert all(line.startswith("<stdin>: ") for line in lines), lines
    return [line.removeprefix("<stdin>: ") for line in lines]


def edited(*edits: tuple[str, str]) -> str:
    text = JOB
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


# What is printed


def test_a_valid_job_is_one_line_and_exit_code_0(job: Path) -> None:
    result = validate(str(job))
    assert (result.exit_code, result.stdout, result.stderr) == (VALID, f"{job}: {GOOD_LINE}\n", "")


def test_a_mistake_is_file_place_message_and_line(job: Path) -> None:
    job.write_text(edited(("bound: 500ms", "bound: 500"), ("price > 10", "prise > 10")))
    result = validate(str(job))
    assert result.exit_code == INVALID
    assert result.stdout.splitlines() == [
        f"{job}: spec.latency.bound: 500 is not a duration; write a number and a unit (ns, us, ms, s, m, h),"
        " such as 500ms or 1.5s (line 7)",
        f"{job}: spec.operators[0].filter: unknown column 'prise', did you mean 'price'? (line 15)",
    ]


LINES: dict[str, tuple[list[tuple[str, str]], str]] = {
    "a field is where its name stands": ([("topic: clicks", "topic: a b")], "(line 10)"),
    "a missing field is where its part begins": ([("      topic: clicks\n", "")], "[0].topic: is missing (line 9)"),
    "an unknown field is where it stands": ([("    bound: 500ms", "    bound: 500ms\n    zzz: 1")], "(line 8)"),
    "a missing section is where the spec is": (
        [('  kafka: {bootstrapServers: ["kafka:9092"]}\n', "")],
        "spec.kafka: is missing (line 4)",
    ),
    "an entry of a flow mapping is in its line": ([("topic: dear}", "topic: clicks}")], "(line 17)"),
    "comments and empty lines count": ([("spec:", "\n# here\n\nspec:"), ("500ms", "5")], "(line 10)"),
    "windows line ends count once": ([("\n", "\r\n"), ("500ms", "5")], "(line 7)"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", LINES)
def test_the_line_of_a_mistake(sentence: str) -> None:
    edits, words = LINES[sentence]
    (line,) = said(edited(*edits))
    assert line.endswith(words)


@pytest.mark.parametrize("sentence", CASES)
def test_every_manifest_of_the_table_is_refused_with_its_words(sentence: str) -> None:
    text = yaml.safe_dump(CASES[sentence].manifest, allow_unicode=True)
    lines = said(text)
    assert [line for line in lines if CASES[sentence].validator in line], lines


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_valid(path: Path) -> None:
    result = validate(str(path))
    assert (result.exit_code, result.stdout.count("\n")) == (VALID, 1), result.stdout


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5


# Files and documents


def test_several_files_are_judged_each_for_itself(job: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(edited(("500ms", "5")))
    result = validate(str(job), str(wrong), str(job))
    assert result.exit_code == INVALID
    assert [line.partition(": ")[0] for line in result.stdout.splitlines()] == [str(job), str(wrong), str(job)]


def test_a_file_that_can_not_be_read_is_exit_code_2_and_hides_no_other(job: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    result = validate(str(missing), str(tmp_path), str(job))
    assert result.exit_code == UNREADABLE
    assert result.stdout.splitlines() == [
        f"{missing}: can't be read: No such file or directory",
        f"{tmp_path}: can't be read: Is a directory",
        f"{job}: {GOOD_LINE}",
    ]


def test_a_dash_reads_standard_input() -> None:
    result = validate("-", stdin=JOB)
    assert (result.exit_code, result.stdout) == (VALID, f"<stdin>: {GOOD_LINE}\n")


def test_no_file_at_all_is_a_wrong_call() -> None:
    result = CliRunner().invoke(app, ["validate"])
    assert result.exit_code == 2
    assert "Missing argument" in result.stderr


def test_documents_of_other_kinds_are_passed_over() -> None:
    assert said(f"{CONFIG_MAP}---\n{JOB}---\n{CONFIG_MAP}") == [GOOD_LINE]


def test_every_job_of_a_file_is_judged_with_lines_of_the_file() -> None:
    first, second = said(f"{JOB}---\n{edited(('500ms', '5'))}")
    assert first == GOOD_LINE
    assert second.startswith("spec.latency.bound: 5 is not a duration")
    assert second.endswith(f"(line {len(JOB.splitlines()) + 1 + 7})")


@pytest.mark.parametrize("text", ["", "\n", "---\n", "---\n---\n", "# nothing\n", CONFIG_MAP, "~"])
def test_a_file_without_a_job_is_refused(text: str) -> None:
    result = validate("-", stdin=text)
    assert (result.exit_code, result.stdout) == (INVALID, "<stdin>: holds no StreamJob\n")


def test_a_job_of_another_version_is_not_passed_over() -> None:
    assert said(JOB.replace("v1alpha1", "v9")) == [
        "apiVersion: is 'spillway.dev/v9'; spillway reads 'spillway.dev/v1alpha1' (line 1)"
    ]


def test_a_misspelt_kind_is_not_passed_over() -> None:
    assert said(JOB.replace("kind: StreamJob", "kind: StreamJobs")) == [
        "kind: is 'StreamJobs'; spillway reads 'StreamJob' (line 2)"
    ]


def test_json_is_yaml() -> None:
    assert said(json.dumps(yaml.safe_load(JOB), indent=1)) == [GOOD_LINE]


# For programs


def test_json_output_has_every_result_and_every_mistake(job: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(edited(("500ms", "5")))
    missing = str(tmp_path / "missing.yaml")
    result = validate("-o", "json", str(job), str(wrong), missing)
    assert result.exit_code == UNREADABLE
    good, bad, gone = json.loads(result.stdout)
    counted = "1 stream, 1 operator, 1 output"
    assert good == {
        "file": str(job), "job": "small", "valid": True, "unreadable": False, "summary": counted, "mistakes": []
    }  # fmt: skip
    (mistake,) = bad["mistakes"]
    assert (mistake["path"], mistake["line"]) == ("spec.latency.bound", 7)
    assert mistake["message"].startswith("5 is not a duration")
    assert (bad["job"], bad["valid"], bad["unreadable"], bad["summary"]) == ("small", False, False, "")
    assert (gone["file"], gone["valid"], gone["unreadable"]) == (missing, False, True)


def test_json_output_is_plain_ascii_whatever_the_file_holds() -> None:
    result = validate("-o", "json", "-", stdin=edited(("clicks", '"\\e[31m größe"')))
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert json.loads(result.stdout)[0]["valid"] is False


# Hostile files: the beginning of what is said, in one line or more

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(12)
)
HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "a bomb of aliases": (LAUGHS, "holds more than 100000 values once its aliases are written out (line 6)"),
    "an alias to what it stands in": ("a: &a [*a]", "alias *a has no anchor before it (line 1)"),
    "an alias to nothing": ("a: *b", "alias *b has no anchor before it (line 1)"),
    "lists in lists": ("[" * 100_000, "is nested more than 64 deep (line 1)"),
    "mappings in mappings": ("{a: " * 100_000, "is nested more than 64 deep (line 1)"),
    "indented without end": ("\n".join(" " * i + "a:" for i in range(500)), "is nested more than 64 deep (line 65)"),
    "more values than a manifest has": ("- 1\n" * 200_000, "holds more than 100000 values"),
    "more documents than a file has": ("--- 1\n" * 200_000, "expected a StreamJob, found 1 (line 1)"),
    "a file of many megabytes": (b"#" * (manifests.MAX_BYTES + 1), "is larger than 3 MiB; the API server would refuse"),
    "a number of a million digits": ("9" * 1_000_000, "expected a StreamJob, found '99999999999"),
    "bytes that are no text": (b"\xff\xfe\x00", "is not UTF-8: byte 0xff at position 0 (line 1)"),
    "latin-1": ("a: 1\nb: größe".encode("latin-1"), "is not UTF-8: byte 0xf6 at position 10 (line 2)"),
    "UTF-16": (JOB.encode("utf-16"), "is not UTF-8: byte 0xff"),
    "a zero byte": ("a: \x00", "is not YAML: control characters are not allowed"),
    "a control character": ("a: \x1b[31m", "is not YAML: control characters are not allowed"),
    "a tab for an indent": ("a:\n\tb: 1", "is not YAML: found character that cannot start any token (line 2)"),
    "a quote that does not end": ('a: "b', "is not YAML: found unexpected end of stream"),
    "a tag that makes objects": ("a: !!python/object/apply:os.system [ls]", "tag 'tag:yaml.org,2002:python/object"),
    "a tag on a mapping": ("a: !!python/object:os.x {b: 1}", "tag 'tag:yaml.org,2002:python/object:os"),
    "a tag of one's own": ("a: !secret b", "tag '!secret' is not allowed; write the value without it (line 1)"),
    "a merge key": ("a: &a {b: 1}\nc: {<<: *a}", "merge keys (<<) are not supported; write the fields out (line 2)"),
    "a list as a name": ("? [a]\n: 1", "a list or mapping can't be the name of a field (line 1)"),
    "a number of another base": ("a: 0x1F", "write the number '0x1F' in decimal digits, or in quotes if it is text"),
    "a number in octal": ("a: 0755", "write the number '0755' in decimal digits"),
    "a scalar": ("just text", "expected a StreamJob, found 'just text' (line 1)"),
    "a list": ("- a\n- b", "expected a StreamJob, found a list (line 1)"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", HOSTILE)
def test_a_hostile_file_ends_in_a_line(sentence: str) -> None:
    text, words = HOSTILE[sentence]
    result = validate("-", stdin=text)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"<stdin>: {words}"), lines[0][:300]
    assert result.exit_code == INVALID
    assert len(lines) <= manifests.MAX_DOCUMENTS + 1
    assert max(map(len, lines)) < 300


def test_after_very_many_documents_the_rest_is_not_read() -> None:
    assert said("--- 1\n" * 5000)[-1] == "holds more than 1000 documents (line 1001)"


def test_what_comes_before_a_mistake_in_the_yaml_is_still_judged() -> None:
    lines = said(f"{JOB}---\na: *b\n")
    assert lines[0] == GOOD_LINE
    assert lines[1].startswith("alias *b has no anchor before it")


def before_the_filter(line: str) -> tuple[str, str]:
    return ("      filter", f"      {line}\n      filter")


def after_the_bound(line: str) -> tuple[str, str]:
    return ("bound: 500ms", f"bound: 500ms\n    {line}")


FIELDS: dict[str, tuple[tuple[str, str], str]] = {
    "a field that is there twice": (
        after_the_bound("bound: 5s"),
        "spec.latency.bound: is there twice, first in line 7 (line 8)",
    ),
    "a bare on is true to YAML": (
        before_the_filter("on: 1"),
        "spec.operators[0].on: YAML reads the bare name 'on' as true, and so does kubectl (line 15)",
    ),
    "a bare yes is true to YAML": (
        before_the_filter("yes: 1"),
        "spec.operators[0].yes: YAML reads the bare name 'yes'",
    ),
    "a quoted on is a name": (before_the_filter('"on": 1'), "spec.operators[0].on: unknown field 'on'"),
    "a bare yes as a value is true": (
        ("input: clicks", "input: yes"),
        "spec.operators[0].input: expected text, found True",
    ),
    "an anchor is used as it is": (
        ("topic: clicks", "topic: &t a b"),
        "spec.streams[0].topic: 'a b' is not the name",
    ),
    "a number beyond all numbers": (
        after_the_bound("quantile: 1e999"),
        "spec.latency.quantile: is inf; must be a finite number",
    ),
    "a number out of range": (
        after_the_bound("quantile: 99"),
        "spec.latency.quantile: must be between 0.5 and 0.9999, is 99",
    ),
    "infinity": (after_the_bound("quantile: .inf"), "spec.latency.quantile: expected a number, found '.inf'"),
    "no number": (after_the_bound("quantile: .nan"), "spec.latency.quantile: expected a number, found '.nan'"),
    "a name beyond ASCII": (("name: dear", "name: größe"), "spec.operators[0].name: 'größe' is not a name; use small"),
    "a name in other letters that look the same": (
        ("name: dear", "name: de\u0430r"),
        "spec.operators[0].name: 'de\u0430r' is not a name",
    ),
    "a name that turns the line around": (
        ("name: dear", 'name: "de\u202ear"'),
        r"spec.operators[0].name: 'de\u202ear' is not a name",
    ),
    "a text that paints": (
        ("name: dear", r'name: "\e[31mred"'),
        r"spec.operators[0].name: '\x1b[31mred' is not a name",
    ),
    "a field that paints": (
        before_the_filter(r'"\e[2J": 1'),
        r"spec.operators[0].\x1b[2J: unknown field '\x1b[2J'",
    ),
    "a field that breaks the line": (
        before_the_filter(r'"a\nb": 1'),
        r"spec.operators[0].a\nb: unknown field 'a\nb'",
    ),
    "an expression that paints": (("price > 10", r"price > '\e[31m'"), "spec.operators[0].filter: "),
    "columns that paint": (("user string", r"user \e[31m"), r"spec.streams[0].columns: unknown type '\x1b'"),
    "a job's name that paints": (
        ("name: small", r'name: "\e[31m"'),
        r"metadata.name: '\x1b[31m' is not the name of a job",
    ),
}


@pytest.mark.parametrize("sentence", FIELDS)
def test_a_strange_field_is_told_in_plain_letters(sentence: str) -> None:
    edit, words = FIELDS[sentence]
    lines = said(edited(edit))
    assert [line for line in lines if line.startswith(words)], lines
    assert [line for line in lines if not line.isprintable()] == []


def test_anchors_and_aliases_of_a_manifest_are_followed() -> None:
    anchored = edited(("topic: clicks", "topic: &same clicks"), ("name: clicks", "name: &name clicks"))
    assert said(anchored.replace("input: clicks", "input: *name")) == [GOOD_LINE]


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert said(JOB.encode("utf-8-sig")) == [GOOD_LINE]


def test_dates_and_underscored_numbers_stay_text() -> None:
    (found,) = manifests.read("-", io.BytesIO(b"a: 2020-01-01\nb: 1_000\nc: 12:30:00"))
    assert found.value == {"a": "2020-01-01", "b": "1_000", "c": "12:30:00"}


@pytest.mark.parametrize("text", ["plain", "größe", "a b", "→ …"])
def test_printable_text_is_printed_as_it_is(text: str) -> None:
    assert terminal.clean(text) == text


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "a\nb", "\r", "\x07", "\x9b1m", "\u202e", "\u200b", "\x00", "\udcff", "\u2028"]
)
def test_what_a_terminal_would_obey_is_spelt_out(text: str) -> None:
    cleaned = terminal.clean(text)
    assert cleaned.isprintable()
    assert cleaned.isascii()


# As a command of its own


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM", "PYTHONIOENCODING")
    }
    return subprocess.run(
        [SPILLWAY, *arguments], input=stdin, env={**inherited, **environment}, capture_output=True, check=False
    )


def run_in_terminal(*arguments: str, **environment: str) -> str:
    """What the command prints where standard output is a terminal."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    master, slave = pty.openpty()
    with subprocess.Popen([SPILLWAY, *arguments], stdin=slave, stdout=slave, env={**inherited, **environment}) as child:
        os.close(slave)
        printed = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            printed += part
        assert child.wait() in (VALID, INVALID)
    os.close(master)
    return printed.decode()


def test_a_pipe_gets_no_colours(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(edited(("500ms", "5")))
    result = run("validate", str(wrong), TERM="xterm-256color")
    assert result.returncode == INVALID
    assert b"\x1b" not in result.stdout + result.stderr
    assert result.stdout.startswith(f"{wrong}: spec.latency.bound: 5 is not a duration".encode())


def test_a_terminal_gets_colours(job: Path) -> None:
    assert "\x1b[32mvalid\x1b[0m" in run_in_terminal("validate", str(job), TERM="xterm")
    job.write_text(edited(("500ms", "5")))
    assert f"{job}: \x1b[1mspec.latency.bound\x1b[0m: 5 is" in run_in_terminal("validate", str(job), TERM="xterm")


@pytest.mark.parametrize("environment", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_none_gets_no_colours(job: Path, environment: dict[str, str]) -> None:
    assert run_in_terminal("validate", str(job), **environment) == f"{job}: {GOOD_LINE}\r\n"


def test_a_locale_without_our_letters_is_no_traceback(job: Path) -> None:
    job.write_text(edited(("name: dear", "name: größe→")))
    result = run("validate", str(job), PYTHONIOENCODING="ascii")
    assert result.returncode == INVALID
    assert b"Traceback" not in result.stderr
    assert rb"'gr\xf6\xdfe\u2192' is not a name" in result.stdout


def test_a_name_of_a_file_that_is_no_text_is_no_traceback(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\x1b[31m.yaml"
    Path(os.fsdecode(path)).write_text(JOB)
    result = run("validate", os.fsdecode(path))
    assert result.returncode == VALID, result.stderr
    assert rb"\udcff\x1b[31m.yaml: StreamJob small: valid" in result.stdout


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    many = b"---\n".join([JOB.replace("500ms", "5").encode()] * 900)
    with subprocess.Popen(
        [SPILLWAY, "validate", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        child.stdin.write(many)
        child.stdin.close()
        assert child.stderr.read() == b""


def test_a_line_has_the_same_shape_for_every_case() -> None:
    shape = re.compile(r"(spec|metadata)[\w.\[\]]*: \S.* \(line \d+\)")
    odd = [
        line
        for case in list(CASES.values())[::10]
        for line in said(yaml.safe_dump(case.manifest, allow_unicode=True))
        if not shape.fullmatch(line)
    ]
    assert odd == []
