"""Edits of a manifest and of the functions beside it: noticed once they are written, and judged before they count."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spillway.cli.watching.files import Files
from spillway.local import edits
from spillway.local.edits import Edit, Refusal

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for name in ("sentiment.yaml", "sentiment.py", "grep.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path / "sentiment.yaml"


def changed(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def looked(files: Files) -> Edit | Refusal | None:
    """What is there once nobody writes any more."""
    assert files.look() is None
    return files.look()


def test_what_nobody_touches_is_no_edit(job: Path) -> None:
    files = Files(job, None)

    assert isinstance(files.read(), Edit)
    assert files.look() is None


def test_a_changed_manifest_is_an_edit_once_it_is_written(job: Path) -> None:
    files = Files(job, None)
    files.read()
    changed(job, "quantile: 0.99", "quantile: 0.9")
    assert files.look() is None
    changed(job, "bound: 1s", "bound: 2s")
    assert files.look() is None  # written again meanwhile

    edit = files.look()

    assert isinstance(edit, Edit)
    assert edit.job.spec.latency.quantile == 0.9
    assert edit.document["spec"]["latency"]["bound"] == "2s"
    assert files.look() is None


def test_a_touched_manifest_is_none(job: Path) -> None:
    files = Files(job, None)
    files.read()
    job.write_text(f"{job.read_text()}# a comment\n")

    assert looked(files) is None


def test_a_changed_function_is_an_edit(job: Path) -> None:
    files = Files(job, None)
    first = files.read()
    changed(job.with_suffix(".py"), "def score", "FACTOR = 2\n\n\ndef score")

    edit = looked(files)

    assert isinstance(first, Edit)
    assert isinstance(edit, Edit)
    assert edit.code == first.code == job.parent


def test_a_job_without_functions_has_no_code(job: Path) -> None:
    edit = Files(job.with_name("grep.yaml"), None).read()

    assert isinstance(edit, Edit)
    assert edit.code is None


def test_mistakes_have_their_place(job: Path) -> None:
    files = Files(job, None)
    files.read()
    changed(job, "startswith(word", "startswith(wrd")

    refusal = looked(files)

    assert isinstance(refusal, Refusal)
    assert refusal.lines[0].startswith(f"{job}: spec.operators[2].filter: unknown column 'wrd', did you mean 'word'?")


def test_a_function_that_is_gone_has_the_place_where_it_is_used(job: Path) -> None:
    files = Files(job, None)
    files.read()
    changed(job.with_suffix(".py"), "def score", "def scored")

    refusal = looked(files)

    assert isinstance(refusal, Refusal)
    (line,) = refusal.lines
    assert line.startswith(f"{job}: spec.operators[0].python.function: ")
    assert "has no 'score'" in line


def test_what_was_wrong_and_is_right_again_is_an_edit(job: Path) -> None:
    files = Files(job, None)
    files.read()
    changed(job, "startswith(word", "startswith(wrd")
    looked(files)
    changed(job, "startswith(wrd", "startswith(word")

    assert isinstance(looked(files), Edit)


def test_a_manifest_that_is_gone_is_refused_and_one_that_is_back_is_taken(job: Path) -> None:
    files = Files(job, None)
    files.read()
    text = job.read_text()
    job.unlink()
    gone = looked(files)
    job.write_text(text)

    assert isinstance(gone, Refusal)
    assert gone.lines == (f"{job}: can't be read: No such file or directory",)
    assert isinstance(looked(files), Edit)


def test_what_can_t_change_while_a_job_runs_is_said_with_its_place(job: Path) -> None:
    first = Files(job, None).read()
    changed(job, "name: sentiment\n", "name: feelings\n")
    changed(job, "localhost:9092", "localhost:9093")
    second = Files(job, None).read()

    assert isinstance(first, Edit)
    assert isinstance(second, Edit)
    name, servers = edits.refused(first.job, second.job)
    assert name.startswith("metadata.name: default/feelings is another job")
    assert servers.startswith("spec.kafka.bootstrapServers: can't change")
    assert edits.refused(first.job, first.job) == ()
