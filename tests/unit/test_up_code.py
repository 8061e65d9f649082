"""The user's functions: which files count, how a version is kept, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from spillway.local import code
from spillway.local.code import CodeError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "job"
    found.mkdir()
    (found / "ads.py").write_text("from texts.words import clean\ndef enrich(row):\n    return row\n")
    (found / "texts").mkdir()
    (found / "texts" / "__init__.py").write_text("")
    (found / "texts" / "words.py").write_text("def clean(text):\n    return text.strip()\n")
    (found / "data").mkdir()
    (found / "data" / "other.py").write_text("raise SystemExit")
    (found / "job.yaml").write_text("kind: StreamJob")
    return found


def test_modules_and_packages_of_the_folder_are_copied_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    copy = code.kept(folder, tmp_path / "code")

    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()) == [
        "ads.py", "texts/__init__.py", "texts/words.py",
    ]  # fmt: skip


def test_the_same_code_is_the_same_folder_and_other_code_another(folder: Path, tmp_path: Path) -> None:
    first = code.kept(folder, tmp_path / "code")
    again = code.kept(folder, tmp_path / "code")
    (folder / "texts" / "words.py").write_text("def clean(text):\n    return text\n")
    other = code.kept(folder, tmp_path / "code")

    assert first == again
    assert other != first
    assert "strip" in (first / "texts" / "words.py").read_text()  # who runs the old one still does
    assert [path.name for path in (tmp_path / "code").iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_is_no_job_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MOST_BYTES", 20)
    with pytest.raises(CodeError, match="name it with --code"):
        code.digest(folder)


def test_functions_that_can_be_used_have_no_problems(folder: Path) -> None:
    assert code.problems(folder, ["ads:enrich"]) == {}


def test_each_function_that_cannot_be_used_has_its_problem(folder: Path) -> None:
    (folder / "broken.py").write_text("def f(row:\n")

    found = code.problems(folder, ["ads:enrich", "ads:enrisch", "broken:f"])

    assert sorted(found) == ["ads:enrisch", "broken:f"]
    assert found["ads:enrisch"].endswith("module 'ads' has no 'enrisch'; it has clean, enrich")
    assert "SyntaxError" in found["broken:f"]


def test_code_that_ends_python_is_a_problem_too(folder: Path) -> None:
    (folder / "ads.py").write_text("import os\nos._exit(3)\n")

    assert code.problems(folder, ["ads:enrich"]) == {"ads:enrich": "importing the code ended Python: exit code 3"}
