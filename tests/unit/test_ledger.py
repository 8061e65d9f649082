"""What a slot notes outlives it, however it dies."""

from __future__ import annotations

import multiprocessing
import pickle
import struct
import time

import pytest

import stuck
from spillway.runtime.slots import ledger as ledgers
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.settings import Suspect


def test_a_note_is_read_until_it_is_cleared() -> None:
    ledger = Ledger()
    assert ledger.read() is None

    ledger.note("counts-by-campaign", 7, 2**40, 2**40 + 500)
    assert ledger.read() == Suspect("counts-by-campaign", 7, 2**40, 2**40 + 500)

    ledger.clear()
    assert ledger.read() is None


def test_the_longest_name_of_an_operator_fits() -> None:
    ledger = Ledger()
    ledger.note("a" * 50, 0, 0, 1)

    assert ledger.read() == Suspect("a" * 50, 0, 0, 1)


def test_a_shorter_name_leaves_nothing_of_a_longer_one() -> None:
    ledger = Ledger()
    ledger.note("counts", 0, 0, 1)
    ledger.note("all", 0, 0, 1)

    assert ledger.read() == Suspect("all", 0, 0, 1)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param((5, 5, 0, b"a"), id="no message"),
        pytest.param((5, 4, 0, b"a"), id="an end before the start"),
        pytest.param((-1, 4, 0, b"a"), id="a start before the log"),
        pytest.param((5, 6, -1, b"a"), id="no partition"),
        pytest.param((5, 6, 0, b""), id="no segment"),
    ],
)
def test_what_was_half_written_is_no_note(written: tuple[int, int, int, bytes]) -> None:
    ledger = Ledger()
    struct.pack_into("=qqi64s", ledger._memory, 0, *written)  # noqa: SLF001

    assert ledger.read() is None


def test_a_sign_of_life_leaves_the_note_as_it_is() -> None:
    ledger = Ledger()
    assert ledger.beaten == 0

    ledger.note("a" * 64, 7, 1, 2)
    before = time.monotonic()
    ledger.beat()

    assert before <= ledger.beaten <= time.monotonic()
    assert ledger.read() == Suspect("a" * 64, 7, 1, 2)


def test_it_is_handed_to_a_process_that_starts_and_nowhere_else() -> None:
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(Ledger())


def test_it_outlives_its_writer() -> None:
    ledger = Ledger()
    process = multiprocessing.get_context("spawn").Process(target=stuck.dies, args=(ledger,))
    process.start()
    process.join(30)

    assert process.exitcode == 3
    assert ledger.read() == Suspect("counts", 1, 10, 20)


def test_a_segment_is_as_long_as_the_note_has_room() -> None:
    from spillway.model import parts

    longest = next(part.most for part in parts.Name.__metadata__ if isinstance(part, parts.Text))  # type: ignore[attr-defined]
    assert longest <= ledgers.LONGEST_SEGMENT
