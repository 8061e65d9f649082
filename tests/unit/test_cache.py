"""What is kept is whole or not there, and is made by one process at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import remains
from spillway.local import cache


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))


def write(folder: Path) -> None:
    (folder / "file").write_text("whole")


def refuse(_folder: Path) -> None:
    pytest.fail("made again")


def folders() -> list[str]:
    return sorted(entry.name for entry in cache.root().iterdir() if entry.name != "locks")


def test_it_is_made_once() -> None:
    first = cache.kept("tool-1.0", write)
    assert cache.kept("tool-1.0", refuse) == first
    assert (first / "file").read_text() == "whole"
    assert folders() == ["tool-1.0"]


def test_another_version_is_another_folder() -> None:
    assert cache.kept("tool-1.0", write) != cache.kept("tool-1.1", write)


def test_what_fails_while_it_is_made_leaves_nothing() -> None:
    def fail(folder: Path) -> None:
        write(folder)
        message = "interrupted"
        raise OSError(message)

    with pytest.raises(OSError, match="interrupted"):
        cache.kept("tool-1.0", fail)
    assert folders() == []


def test_what_a_killed_process_left_half_made_is_not_used_and_is_removed() -> None:
    program = """
import time
from spillway.local import cache
def make(folder):
    (folder / "file").write_text("half")
    print("half", flush=True)
    time.sleep(600)
cache.kept("tool-1.0", make)
"""
    assert remains.told_by_a_parent_that_is_then_killed(program) == ["half"]
    assert len(folders()) == 1
    assert (cache.kept("tool-1.0", write) / "file").read_text() == "whole"
    assert folders() == ["tool-1.0"]


def test_what_is_not_intact_is_made_again() -> None:
    def whole(folder: Path) -> bool:
        return (folder / "file").read_text() == "whole"

    (cache.kept("tool-1.0", write) / "file").write_text("damaged")
    assert whole(cache.kept("tool-1.0", write, intact=whole))
    assert whole(cache.kept("tool-1.0", refuse, intact=whole))


def test_of_many_at_once_one_makes_it_and_all_get_it() -> None:
    program = """
import time
from spillway.local import cache
def make(folder):
    print("made")
    time.sleep(0.3)
    (folder / "file").write_text("whole")
print((cache.kept("tool-1.0", make) / "file").read_text())
"""
    command = [sys.executable, "-c", program]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = "".join(process.communicate()[0] for process in running)
    assert printed.count("made") == 1
    assert printed.count("whole") == 4
