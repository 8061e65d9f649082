"""The directory of a local run: one at a time, nobody else's, and nothing of it is ever half written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spillway.local import state
from spillway.local.state import StateError


def test_it_is_named_after_the_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("SPILLWAY_STATE", raising=False)
    assert state.default("default", "ads") == tmp_path / "spillway" / "default" / "ads"
    monkeypatch.setenv("SPILLWAY_STATE", str(tmp_path / "own"))
    assert state.default("shop", "ads") == tmp_path / "own" / "shop" / "ads"


@pytest.mark.parametrize("namespace", ["..", "a/b", "", "A", "-a"])
def test_a_namespace_that_is_none_is_refused(namespace: str) -> None:
    with pytest.raises(StateError, match=r"metadata\.namespace: .* is no namespace"):
        state.default(namespace, "ads")


def test_its_paths_are_whole_because_parts_work_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with state.held(Path("s")) as held:
        assert held.job == tmp_path / "s" / "job.json"


def test_who_comes_second_is_told_who_runs(tmp_path: Path) -> None:
    with state.held(tmp_path / "s") as first:
        first.tell(pid=4711, since="12:00:00", bootstrap="127.0.0.1:9092")
        assert state.who(tmp_path / "s")["pid"] == 4711
        with (
            pytest.raises(StateError, match=r"runs already: process 4711, since 12:00:00; Kafka at 127.*kill 4711"),
            state.held(tmp_path / "s"),
        ):
            pass
    assert state.who(tmp_path / "s") == {}
    with state.held(tmp_path / "s"):  # and free again
        pass


def test_a_directory_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    for fresh in (False, True):
        with pytest.raises(StateError, match="is not empty, and not from"), state.held(tmp_path, fresh=fresh):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["code"]


def test_fresh_removes_what_is_ours_and_nothing_else(tmp_path: Path) -> None:
    with state.held(tmp_path) as held:
        held.write_job({"kind": "StreamJob"})
        held.log("driver").write_text("…")
        (tmp_path / "mine").write_text("kept")
    with state.held(tmp_path) as held:
        assert not held.new
    with state.held(tmp_path, fresh=True) as held:
        assert held.new
        assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", state.LOCK]


def test_the_job_is_replaced_whole(tmp_path: Path) -> None:
    with state.held(tmp_path) as held:
        held.write_job({"a": 1})
        before = held.job.stat().st_ino
        held.write_job({"a": 2})

        assert json.loads(held.job.read_text()) == {"a": 2}
        assert held.job.stat().st_ino != before
        with pytest.raises(ValueError, match="Circular"):
            held.write_job(_endless())
        assert sorted(path.name for path in tmp_path.iterdir()) == ["job.json", state.LOCK]


def test_long_logs_start_anew_with_the_next_run(tmp_path: Path) -> None:
    with state.held(tmp_path) as held:
        held.log("driver").write_bytes(b"x" * (state.LONGEST_LOG + 1))
        held.log("worker-0").write_bytes(b"x")
        assert held.log("driver").exists()  # somebody writes it
    with state.held(tmp_path) as held:
        assert not held.log("driver").exists()
        assert held.log("worker-0").exists()


def _endless() -> dict[str, object]:
    found: dict[str, object] = {}
    found["itself"] = found
    return found
