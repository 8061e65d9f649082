"""How much a slot takes at once."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spillway.runtime.slots import pace
from spillway.runtime.slots.pace import STEP, Pace, Stopwatch

SOME = 1_000  # turns, enough for everything to settle


def _settled(found: Pace, size: int, each: Callable[[int], float]) -> int:
    """The most that the last of many turns take, of messages of a size; `each` says what so many of them cost."""
    taken = []
    for _ in range(SOME):
        count = max(1, min(found.most, -(-found.room // size)))
        found.took(count, count * size, each(count))
        taken.append(count)
    return max(taken[-10:])


def test_a_turn_of_small_records_is_as_long_as_it_may_be() -> None:
    count = _settled(Pace(), 200, lambda count: count * 5e-6)
    assert STEP / 2 <= count * 5e-6 <= 2 * STEP


def test_a_message_that_takes_longer_than_a_turn_is_taken_alone() -> None:
    assert _settled(Pace(), 200, lambda count: count * 1.0) == 1


def test_frames_that_come_after_records_are_no_longer_turn_because_their_bytes_count() -> None:
    found = Pace()
    _settled(found, 300, lambda count: count * 80e-6)  # lines of 35 words
    frames = max(1, found.room // 12_000)
    assert frames * 1e-3 <= 4 * STEP  # of 300 rows
    assert found.most > 10 * frames  # by messages alone it would have been so many


def test_waiting_for_a_service_is_part_of_a_turn() -> None:
    watch = Stopwatch()
    time.sleep(0.05)
    seconds, own = watch.read()
    watch.close()
    assert seconds >= 0.05
    assert own >= 0.8 * seconds


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="the kernel does not tell")
def test_waiting_for_a_core_is_no_part_of_a_turn() -> None:
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as others:
        seconds, own = others.submit(_beside_others).result(timeout=30)
    assert own <= 0.7 * seconds  # a third of a core each


def _beside_others() -> tuple[float, float]:
    """A turn that computes, on a core that two others want as well."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        time.sleep(0.2)
        watch = Stopwatch()
        while watch.read()[0] < 0.3:
            pass
        return watch.read()
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("says", [None, "", "0 0 0\n"])
def test_where_the_kernel_does_not_tell_a_part_of_the_time_without_a_core_counts(
    tmp_path: Path, says: str | None
) -> None:
    path = tmp_path / "schedstat"
    if says is not None:
        path.write_text(says)
    watch = Stopwatch(str(path))
    time.sleep(0.05)
    seconds, own = watch.read()
    watch.close()
    assert own == pytest.approx(pace.UNKNOWN * seconds, rel=0.2)


def test_nothing_grows_beyond_what_a_client_has_at_hand() -> None:
    found = Pace()
    _settled(found, 100_000, lambda _: 0.0)
    _settled(found, 1, lambda _: 0.0)
    assert (found.most, found.room) == (pace.MOST, pace.MOST_ROOM)
