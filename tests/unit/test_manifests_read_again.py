"""When a file is read again: once somebody has written it, or put another in its place."""

from __future__ import annotations

import os
from pathlib import Path

from spillway.runtime import jobs


def test_what_nobody_touches_stays_the_same(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("a")

    assert jobs.version(file) == jobs.version(file) is not None


def test_another_text_of_the_same_moment_is_noticed_by_its_size(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("a")
    before, at = jobs.version(file), file.stat().st_mtime_ns

    file.write_text("ab")
    os.utime(file, ns=(at, at))

    assert jobs.version(file) != before


def test_another_file_in_its_place_is_noticed_though_it_is_as_old_and_as_large(tmp_path: Path) -> None:
    file, other = tmp_path / "job.yaml", tmp_path / "other.yaml"
    file.write_text("a")
    other.write_text("b")
    before, at = jobs.version(file), file.stat().st_mtime_ns

    os.utime(other, ns=(at, at))
    other.rename(file)

    assert jobs.version(file) != before


def test_a_file_that_is_gone_has_no_version(tmp_path: Path) -> None:
    assert jobs.version(tmp_path / "job.yaml") is None
