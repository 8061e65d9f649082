"""What came out is judged from outside: what is lost, wrong or told twice, and how old each message was."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from spillway.bench import lines
from spillway.bench.dual import judging
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.tails import Results
from spillway.bench.record import events
from spillway.bench.workloads import ads, words, work
from spillway.bench.workloads.work import Key, Work

START = 1_000.0


def results(*told: tuple[int, float]) -> Results:
    """Counts, with the seconds after START at which they were told."""
    return Results(
        np.array([count for count, _ in told], np.int64),
        np.array([int((START + at) * 1000) for _, at in told], np.int64),
    )


def judged(told: dict[Key, Results], dues: list[float], **expected: list[int]) -> Judged:
    wanted: dict[Key, np.ndarray] = {key: np.array(numbers) for key, numbers in expected.items()}
    return judging.judged(told, wanted, START + np.array(dues))


def test_each_message_is_as_old_as_the_first_result_that_tells_of_it() -> None:
    found = judged({"a": results((1, 0.010), (3, 0.050))}, [0.0, 0.020, 0.030], a=[0, 1, 2])

    assert not found.problem
    assert found.latencies == pytest.approx([11, 31, 21])  # at the end of the broker's millisecond


def test_a_later_result_that_tells_of_less_changes_nothing() -> None:
    found = judged({"a": results((2, 0.010), (1, 0.020))}, [0.0, 0.001], a=[0, 1])

    assert found.latencies == pytest.approx([11, 10])


@pytest.mark.parametrize(
    ("told", "lost", "wrong", "duplicated"),
    [
        ([(1, 0.1), (2, 0.2)], 0, 0, 0),
        ([(1, 0.1)], 1, 0, 0),
        ([], 2, 0, 0),
        ([(1, 0.1), (2, 0.2), (2, 0.3)], 0, 0, 1),
        ([(1, 0.1), (2, 0.2), (3, 0.3)], 0, 1, 0),
        ([(0, 0.1), (2, 0.2)], 0, 1, 0),
        ([(2, 0.01)], 0, 1, 0),  # the second one is due later than that
    ],
)
def test_what_is_lost_wrong_or_told_twice_is_found(
    told: list[tuple[int, float]], lost: int, wrong: int, duplicated: int
) -> None:
    found = judged({"a": results(*told)} if told else {}, [0.0, 0.05], a=[0, 1])

    assert (found.lost, found.wrong, found.duplicated) == (lost, wrong, duplicated)
    assert bool(found.problem) == bool(lost or wrong)


def test_a_key_that_nothing_counts_for_is_wrong() -> None:
    assert judged({"a": results((1, 0.1)), "b": results((1, 0.1))}, [0.0], a=[0]).wrong == 1


def test_what_was_due_in_a_span_is_found_again() -> None:
    found = judged({"a": results((1, 0.1), (2, 1.2), (3, 2.3))}, [0.0, 1.0, 2.0], a=[0, 1, 2])

    assert found.within(START + 0.5, START + 1.5) == pytest.approx([201])
    assert found.done() == pytest.approx([START + 0.101, START + 1.201, START + 2.301])


def test_what_word_count_has_to_hold_is_what_counting_gives() -> None:
    count = work.CYCLE + 700  # more than all lines, so some come again
    found = words.WORDS.expected(np.arange(count) / 1000)
    some = lines.rendered()
    right = collections.Counter(word for n in range(count) for word in some[n % work.CYCLE].decode().split(" "))

    assert {key: len(numbers) for key, numbers in found.items()} == right
    assert all((np.diff(numbers) >= 0).all() for numbers in found.values())


def test_what_grep_has_to_hold_is_each_line_as_often_as_it_comes() -> None:
    found = words.GREP.expected(np.arange(work.CYCLE * 2) / 1000)

    assert {len(numbers) % 2 for numbers in found.values()} == {0}
    assert all(words.PATTERN in str(key) for key in found)
    assert 0.02 < sum(map(len, found.values())) / (2 * work.CYCLE) < 0.9


def test_windows_are_those_of_the_times_that_messages_have() -> None:
    times = events.START_MS / 1000 + np.arange(25_000) / 1000
    found = ads.YSB.expected(times)
    right: collections.Counter[Key] = collections.Counter()
    cycle = [event for event, _ in zip(events.seen(), range(work.CYCLE), strict=False)]
    for number in range(len(times)):
        event, at = cycle[number % work.CYCLE], events.START_MS + number
        if event.kind == "view":
            right[events.campaign(event.ad), at - at % events.WINDOW_MS] += 1

    assert {key: len(numbers) for key, numbers in found.items()} == right


@pytest.mark.parametrize(
    ("asked", "value", "wanted"),
    [
        (words.WORDS, b'{"word":"a","n":3}', ("a", 3)),
        (words.GREP, b'{"line":"a b"}', ("a b", 0)),
        (ads.YSB, b'{"campaign_id":"c","window_start":10000,"n":2,"due":1}', (("c", 10_000), 2)),
        (ads.YSB, b'{"campaign_id":"c","window_start":"1970-01-01T00:00:10.000Z","n":2}', (("c", 10_000), 2)),
    ],
)
def test_results_are_read_however_a_system_writes_them(asked: Work, value: bytes, wanted: object) -> None:
    told = asked.read(value)

    assert (told.key, told.n) == wanted
