"""A call of a user's function that takes too long becomes a dead letter, and nothing else is ever broken off."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stuck
from spillway.runtime.programs.running import Running
from spillway.runtime.slots import watch
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.settings import Suspect
from spillway.runtime.slots.watch import Watch

LIMIT = 0.2


@pytest.fixture
def watched() -> Iterator[Watch]:
    watching = Watch(LIMIT)
    watching.start()
    yield watching
    watching.stop()


def went(running: Running) -> list[int]:
    return [int(value[5:-1]) for _, _, _, _, value in running.outputs["r"]]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize(
    "call",
    [stuck.spins, stuck.sleeps, stuck.listens, stuck.waits, stuck.tries_again, stuck.yields],
    ids=lambda call: call.__name__,
)
def test_a_call_that_hangs_is_stopped_and_only_its_record_is_a_letter(call: Callable[..., Any]) -> None:
    started = time.monotonic()

    running = stuck.run(call, [0, 1, 2])

    (letter,) = running.letters
    assert (letter.offset, letter.operator, letter.row) == (1, "called", (1,))
    assert letter.error == "TimeLimitError: took longer than 0.2 s; it was stopped"
    assert went(running) == [0, 2]
    assert LIMIT <= time.monotonic() - started < 50 * LIMIT


@pytest.mark.usefixtures("watched")
def test_of_a_batch_that_hangs_the_culprit_is_found() -> None:
    running = stuck.run(stuck.in_a_batch, [0, 1, 2])

    assert [letter.offset for letter in running.letters] == [1]
    assert went(running) == [0, 2]


def test_many_calls_that_take_long_together_are_left_alone() -> None:
    def slow(record: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return record

    watching = Watch(1.0)  # so much longer than one, that the machine may be busy with something else
    watching.start()
    running = stuck.run(slow, list(range(13)))
    watching.stop()

    assert running.letters == []
    assert went(running) == list(range(13))


@pytest.mark.usefixtures("watched")
def test_what_is_no_call_of_a_user_is_left_alone_however_long_it_takes() -> None:
    time.sleep(2 * LIMIT)


def test_a_signal_alone_breaks_nothing_off() -> None:
    watching = Watch()
    watching.start()

    def quick(record: dict[str, Any]) -> dict[str, Any]:
        watching._look(0.0)  # noqa: SLF001 - it has seen the call, and found nothing wrong with it
        signal.raise_signal(signal.SIGUSR1)
        return record

    running = stuck.run(quick, [0, 1, 2])
    watching.stop()

    assert running.letters == []


@pytest.mark.usefixtures("watched")
def test_what_is_called_when_an_object_dies_is_not_broken_off() -> None:
    """An error there would be printed, and forgotten: pytest would find it."""
    done = []

    class Slow:
        def __del__(self) -> None:
            time.sleep(2 * LIMIT)
            done.append(1)

    def call(record: dict[str, Any]) -> dict[str, Any]:
        weakref.finalize(Slow(), time.sleep, 2 * LIMIT)
        time.sleep(1000)
        return record

    running = stuck.run(call, [1])

    assert done == [1]
    assert len(running.letters) == 1


@pytest.mark.usefixtures("watched")
def test_an_import_is_not_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the module would be there in half, for every record after this one."""
    (tmp_path / "large_library.py").write_text(f"import time\ntime.sleep({2 * LIMIT})\nready = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def call(record: dict[str, Any]) -> dict[str, Any]:
        import large_library  # type: ignore[import-not-found]

        while record["a"] and large_library.ready:
            pass
        return record

    running = stuck.run(call, [1, 0])

    assert sys.modules.pop("large_library").ready
    assert [letter.offset for letter in running.letters] == [0]


def test_code_of_ours_above_a_call_is_not_broken_off(watched: Watch) -> None:
    """Another signal's handler, say, that runs while the function waits."""
    ours: dict[str, Any] = {"__name__": "spillway.runtime.example", "time": time, "done": []}
    exec("def work():\n    time.sleep(0.5)\n    done.append(True)", ours)  # noqa: S102

    def calls_us(record: dict[str, Any]) -> dict[str, Any]:
        ours["work"]()
        time.sleep(1000)
        return record

    running = stuck.run(calls_us, [1])

    assert ours["done"] == [True]
    assert len(running.letters) == 1


def test_while_a_program_is_at_work_the_watch_tells_so_in_its_stead() -> None:
    def slow(record: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return record

    told: list[float] = []
    watching = Watch(1.0, still=lambda: told.append(time.monotonic()))
    watching.start()
    time.sleep(0.2)
    began = time.monotonic()
    stuck.run(slow, list(range(8)))
    ended = time.monotonic()
    watching.stop()

    assert told
    assert all(began < at < ended for at in told)


def test_a_watch_whose_word_fails_goes_on_watching(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise ValueError

    watching = Watch(LIMIT, still=fails)
    watching.start()
    running = stuck.run(stuck.sleeps, [0, 1, 2])
    watching.stop()

    assert len(running.letters) == 1
    assert "the watch could not look" in caplog.text


def test_once_it_is_stopped_its_signal_has_no_effect() -> None:
    watching = Watch(LIMIT)
    watching.start()
    watching.stop()

    signal.raise_signal(signal.SIGUSR1)

    assert "watch" not in [thread.name for thread in threading.enumerate()]


def test_a_function_that_catches_everything_ends_the_process_with_its_note_standing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ledger = Ledger()
    started = (stuck.keeps_everything, ledger, 0.1, 0.4)
    process = multiprocessing.get_context("spawn").Process(target=stuck.watched, args=started)
    process.start()
    process.join(30)

    assert process.exitcode == watch.HUNG
    assert ledger.read() == Suspect("called", 3, 0, 2)
    assert "in keeps_everything" in capfd.readouterr().err


def test_looking_takes_microseconds() -> None:
    watching = Watch()
    rounds = 1000

    started = time.perf_counter()
    for _ in range(rounds):
        watching._look(0.0)  # noqa: SLF001

    assert (time.perf_counter() - started) / rounds < 1e-3  # 10 µs, on a machine that is busy otherwise
