"""What a measured output has to be: recomputed apart, and nothing lost, doubled or wrong gets through."""

from __future__ import annotations

import importlib
import itertools
import os
import py_compile
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import programs
from spillway.bench.engines import others
from spillway.bench.record import drains, events, memory, processes, verify
from spillway.bench.record.__main__ import PARTS
from spillway.bench.record.logs import Record
from spillway.bench.record.verify import WrongError

LINES = 200


def _records(rows: list[dict[str, object]]) -> list[Record]:
    return [Record(0, number, 0, None, msgspec.json.encode(row)) for number, row in enumerate(rows)]


def _updates() -> list[dict[str, object]]:
    """Every update of a word count, as a right system writes them."""
    counts: dict[str, int] = {}
    found: list[dict[str, object]] = []
    for text in itertools.islice(events.texts(), LINES):
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
            found.append({"word": word, "n": counts[word], "due": 7})
    return found


def _views() -> list[dict[str, object]]:
    counts: dict[tuple[str, int], int] = {}
    found: list[dict[str, object]] = []
    for number, event in enumerate(itertools.islice(events.seen(), 30_000)):
        at = events.START_MS + number
        if event.kind == "view":
            key = (events.campaign(event.ad), at - at % events.WINDOW_MS)
            counts[key] = counts.get(key, 0) + 1
            found.append({"campaign_id": key[0], "window_start": key[1], "n": counts[key]})
    return found


def _times(count: int) -> range:
    return range(events.START_MS, events.START_MS + count)


def test_a_right_word_count_is_right_in_any_order() -> None:
    updates = _updates()

    verify.check("lines", _records(programs.seeded(1).sample(updates, len(updates))), _times(LINES))


def test_right_views_are_right_however_times_are_written() -> None:
    views = _views()
    verify.check("ads", _records(views), _times(30_000))

    for view in views:
        assert isinstance(view["window_start"], int)
        view["window_start"] = f"2025-10-09T{view['window_start'] // 1000 % 86400 // 3600:02}:{_rest(view)}Z"
    verify.check("ads", _records(views), _times(30_000))


def _rest(view: dict[str, object]) -> str:
    assert isinstance(view["window_start"], int)
    seconds = view["window_start"] // 1000 % 3600
    return f"{seconds // 60:02}:{seconds % 60:02}"


@pytest.mark.parametrize("wrong", ["lost", "doubled", "miscounted", "made up"])
def test_what_is_lost_doubled_or_wrong_is_found(wrong: str) -> None:
    updates = _updates()
    match wrong:
        case "lost":
            del updates[100]
        case "doubled":
            updates.append(updates[100])
        case "miscounted":
            updates[-1] = {**updates[-1], "n": 10_000}
        case "made up":
            updates.append({"word": "nobody-wrote-this", "n": 1, "due": 7})

    with pytest.raises(WrongError):
        verify.check("lines", _records(updates), _times(LINES))


def test_the_number_of_outputs_is_known_ahead() -> None:
    words, views = verify.outputs("lines"), verify.outputs("ads")

    assert words(LINES) == len(_updates())
    assert words(10) < words(LINES)
    assert views(30_000) == len(_views())
    assert verify.outputs("orders")(17) == 17


BUSY = "import os, time\nos.fork()\nwhile True: pass"


def test_processor_time_of_others_is_seen_with_what_they_have_started_and_none_while_they_are_stopped() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) as busy:
        try:
            while min(map(processes.cpu, family := processes.tree(busy.pid))) < 0.05 or len(family) < 2:
                time.sleep(0.01)
            with drains.stopped([busy.pid]):
                time.sleep(0.05)
                before = processes.total(processes.cpu, family)
                time.sleep(0.1)
                assert processes.total(processes.cpu, family) == before
                assert processes.memory(busy.pid) > 1_000_000
            while processes.total(processes.cpu, family) < before + 0.05:
                time.sleep(0.01)
        finally:
            os.killpg(busy.pid, signal.SIGKILL)


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    gone = 2**22 + 1  # beyond what the kernel gives

    assert processes.cpu(gone) == 0.0
    assert processes.memory(gone) == 0


def test_a_fresh_process_gives_what_it_has_found() -> None:
    assert processes.fresh(processes.yardstick) > 0


def test_the_line_through_a_leak_is_steep_and_through_noise_flat() -> None:
    draw, hours = programs.seeded(3), [second / 3600 for second in range(900)]
    noise = [100 + draw.uniform(-1, 1) for _ in hours]

    assert abs(memory.slope(hours, noise)) < memory.SLOPE
    assert memory.slope(hours, [at + 360 * hour for at, hour in zip(noise, hours, strict=True)]) > memory.SLOPE


def test_adapters_are_programs_that_compile(tmp_path: Path) -> None:
    for file in others.ADAPTERS.glob("*.py"):
        py_compile.compile(str(file), cfile=str(tmp_path / file.name), doraise=True)


def test_each_part_of_the_command_line_is_there() -> None:
    for module, function, _, _ in PARTS.values():
        assert callable(getattr(importlib.import_module(f"spillway.bench.record.{module}"), function))
