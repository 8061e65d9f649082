"""What a record may do to the process of a batch is bounded; and why Spark can't be started is said, with a way out."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import limited
from spillway.runtime.batch import executors, jvm, machine
from spillway.runtime.batch.jvm import NoSparkError

SPAWN = multiprocessing.get_context("spawn")


def ended(work: Callable[[], None]) -> int | None:
    """How a process of this work ends."""
    process = SPAWN.Process(target=work)
    process.start()
    process.join(20)
    process.kill()
    return process.exitcode


def test_a_process_whose_interpreter_is_held_ends() -> None:
    assert ended(limited.holds) == 1


@pytest.mark.parametrize("work", [limited.sleeps, limited.rests, limited.eats], ids=lambda work: work.__name__)
def test_one_that_waits_or_has_nothing_to_do_or_wants_too_much_memory_does_not(work: Callable[[], None]) -> None:
    assert ended(work) == 0


def test_where_there_is_no_java_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSparkError, match=r"JAVA_HOME, .* has none\. Install Java 17 or newer"):
        jvm.Jvm({}, 1)

    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSparkError, match=r"JAVA_HOME is not set, and PATH has no java\. Install"):
        jvm.Jvm({}, 1)


def test_where_there_is_too_little_memory_it_says_how_much_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(machine, "free", lambda: 500 * machine.MIB)
    with pytest.raises(NoSparkError, match=r"with 2 Python workers needs 882 MiB of memory, and 500 are free"):
        jvm.Jvm({}, 2)


# What PySpark has started is left as it is when it did not answer.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_java_that_is_too_old_or_dies_is_told_by_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    jvm.environment()
    for said, told in {
        "java.lang.UnsupportedClassVersionError: 61.0": "needs Java 17 or newer, and this one is older",
        "Error: Could not reserve enough space for object heap": "not enough memory for Spark",
        "Segmentation fault": "ended before it answered: .*Segmentation fault",
    }.items():
        java.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
        java.chmod(0o755)
        with pytest.raises(NoSparkError, match=told):
            jvm.Jvm({}, 1)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("k8s://https://there", "k8s://https://there"),
    ],
)
def test_a_local_spark_tries_again_too(given: str, used: str) -> None:
    assert executors.retrying(given) == used


def test_memory_and_time_of_a_process_are_found() -> None:
    mine = os.getpid()

    assert mine in machine.tree(mine)
    assert machine.tree(1 << 30) == []
    assert machine.resident(mine) > 10 * machine.MIB
    assert machine.processor_time(mine) > 0
    assert machine.MIB < machine.free() <= machine.total() < machine.UNKNOWN
