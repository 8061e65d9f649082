"""What the topic of dead letters says: open, claimed, settled, dismissed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import cases
from spillway.runtime import letters
from spillway.runtime.letters import Dismissed, Letter, Replay, Settled
from spillway.runtime.replays import ledger
from spillway.runtime.replays.ledger import Ledger


def _letter(operator: str = "parsed", error: str = "ValueError: no") -> bytes:
    found = Letter(letters.VERSION, operator, error, "p", "made", "in", 0, 1, 0, "in")
    return letters.bounded(found)


def _replay(name: str, *offsets: int) -> bytes:
    return letters.write(Replay(letters.VERSION, name, offsets))


def _settled(replay: int, *back: int) -> bytes:
    return letters.write(Settled(letters.VERSION, replay, back))


def _read(*entries: bytes | None, start: int = 0) -> Ledger:
    made = Ledger(start)
    for i, data in enumerate(entries):
        made.read(start + i, 1000 + start + i, data)
    return made


def test_a_letter_is_open_until_a_replay_of_it_is_settled() -> None:
    assert list(_read(_letter(), _letter()).open) == [0, 1]
    claimed = _read(_letter(), _letter(), _replay("a", 0))
    assert (list(claimed.open), list(claimed.replays[2]), claimed.ids) == ([1], [0], {"a": 2})
    done = _read(_letter(), _letter(), _replay("a", 0), _settled(2))
    assert (list(done.open), done.replays, done.replayed) == ([1], {}, 1)


def test_of_two_replays_that_name_a_letter_the_first_has_it() -> None:
    both = _read(_letter(), _letter(), _replay("a", 0), _replay("b", 0, 1))
    assert {at: list(claim) for at, claim in both.replays.items()} == {2: [0], 3: [1]}


def test_what_could_not_be_put_back_is_open_again() -> None:
    done = _read(_letter(), _letter(), _replay("a", 0, 1), _settled(2, 1))
    assert (list(done.open), done.replayed) == ([1], 1)


def test_a_replay_that_is_settled_twice_is_settled_once() -> None:
    done = _read(_letter(), _replay("a", 0), _settled(1), _replay("b", 0), _settled(1, 0), _settled(3))
    assert (list(done.open), done.replayed) == ([], 1)


def test_a_dismissed_letter_is_not_replayed() -> None:
    done = _read(_letter(), _letter(), letters.write(Dismissed(letters.VERSION, (0,))), _replay("a", 0))
    assert (list(done.open), done.dismissed, done.replays[3]) == ([1], 1, {})


def test_what_is_no_letter_is_shown_and_can_be_dismissed() -> None:
    odd = _read(b"{", None, _letter())
    assert [noted.operator for noted in odd.selected()] == ["?", "?", "parsed"]
    odd.read(3, 0, letters.write(Dismissed(letters.VERSION, (0, 1))))
    assert list(odd.open) == [2]


@cases(60)
@given(st.integers(0, 10_000))
def test_who_reads_from_the_first_open_letter_on_misses_nothing(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice of a test
    entries: list[bytes | None] = []
    for i in range(40):
        some = tuple(dice.randrange(40) for _ in range(3))
        choices: list[Any] = [_letter(), _letter(), _replay(f"{i}", *some), _settled(dice.randrange(40), *some)]
        entries.append(dice.choice([*choices, letters.write(Dismissed(letters.VERSION, some))]))
    whole = _read(*entries)
    rest = _read(*entries[whole.first :], start=whole.first)

    assert (rest.open, rest.first) == (whole.open, whole.first)
    assert {at: claim for at, claim in whole.replays.items() if claim} == {
        at: claim for at, claim in rest.replays.items() if claim
    }


ERRORS = {
    "column 'a': expected bigint, found the text 'x1'": "column …: expected bigint, found the text …",
    "ValueError: 17 is more than 3.5e7": "ValueError: … is more than …",
    "KeyError: 'it\\'s'": "KeyError: …",
    "DIVIDE_BY_ZERO at utf8": "DIVIDE_BY_ZERO at utf8",
}


@pytest.mark.parametrize("error", ERRORS)
def test_errors_are_the_same_but_for_their_values(error: str) -> None:
    assert ledger.without_values(error) == ERRORS[error]


def test_groups_say_how_many_since_when_and_have_the_newest_as_examples() -> None:
    made = _read(*(_letter(error=f"ValueError: {i}") for i in range(9)), _letter("other"), _letter("other"))
    first, second = ledger.grouped(made.selected())

    assert first == ("parsed", "ValueError: …", 9, 1000, 1008, (8, 7, 6))
    assert (second.operator, second.letters, second.examples) == ("other", 2, (10, 9))
    assert [noted.offset for noted in made.selected("parsed", since=1007)] == [7, 8]


def test_a_message_names_no_more_letters_than_it_may() -> None:
    assert [len(chunk) for chunk in ledger.chunks(range(1001))] == [500, 500, 1]
    with pytest.raises(letters.LetterError):
        letters.decode(_replay("a", *range(501)))
