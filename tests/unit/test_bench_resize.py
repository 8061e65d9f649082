"""Live moves: what pauses are made of, what may be lost, and no run that isn't right has a figure."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

import msgspec
import pytest

from spillway.bench.record import events, logs, resize
from spillway.bench.record.figures import Figure, Verdict
from spillway.bench.record.logs import Record
from spillway.bench.record.resize import Outcome, Pause, Phase, Run
from spillway.bench.record.schedule import Lateness, Schedule
from spillway.controllers.protocol import messages, wire
from spillway.controllers.protocol.values import Owner, Partition
from spillway.model.observation import Move, MoveKind
from spillway.runtime.telemetry import Place, Report

USERS, COUNT = 400, 1200
PLAN = Schedule(1_790_000_000.0, 1000.0, COUNT)
HEIR = Owner("w1.0", 1)


@pytest.fixture(autouse=True)
def _few_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PROFILES", USERS)
    monkeypatch.setattr(events, "USERS", 96)


def _output(changed: int = COUNT // 2) -> list[dict[str, Any]]:
    """What a right system writes; from a visit on by the other rule."""
    visits = [(user, events.START_MS + user, 1) for user in range(USERS)]
    visits += [(events.visited(n), int(PLAN.due(n) * 1e6), 1 if n < changed else 2) for n in range(COUNT)]
    orders: collections.Counter[int] = collections.Counter()
    found = []
    for user, due, rule in visits:
        orders[user] += 1
        total = orders[user] * events.quantity(user) * rule
        found.append({"user": f"user-{user:08d}", "orders": orders[user], "due": due, "total": total, "rule": rule})
    return found


def _judged(rows: list[dict[str, Any]], late: float = 5.0) -> Outcome:
    records = [
        Record(0, at, int(row["due"] / 1000 + late), None, msgspec.json.encode(row)) for at, row in enumerate(rows)
    ]
    return resize.judged(PLAN, records)


def test_a_right_output_is_right_and_each_visit_has_its_latency() -> None:
    found = _judged(_output())

    assert found.is_right
    assert found.rules == {1, 2}
    assert len(found.latencies) == COUNT
    assert all(5 < latency <= 6 for _, latency in found.latencies)


def _twice(rows: list[dict[str, Any]]) -> None:
    """The state of a user is as it was before: what follows is counted again from there."""
    user, first = rows[-1]["user"], rows[-1]["orders"]
    rows[-1] = {**rows[-1], "orders": first - 1, "total": rows[-1]["total"] // first * (first - 1)}
    assert any(row["user"] == user and row["orders"] == first - 1 for row in rows[:-1])


@pytest.mark.parametrize(
    ("spoil", "lost", "duplicated", "wrong"),
    [
        (lambda rows: rows.pop(700), 1, 0, 0),
        (lambda rows: rows.pop(), 1, 0, 0),
        (lambda rows: rows.pop(3), 1, 0, 0),
        (lambda rows: rows.append(rows[-1]), 0, 1, 0),
        (lambda rows: rows[700].update(total=0), 1, 0, 1),
        (lambda rows: rows[700].update(orders=99), 1, 0, 1),
        (lambda rows: rows[700].update(orders=0), 1, 0, 1),
        (lambda rows: rows[700].update(user="user-99999999"), 1, 0, 1),
        (_twice, 1, 0, 1),
    ],
    ids=["one lost", "last lost", "row lost", "twice", "sum", "count", "none", "nobody's", "state of before"],
)
def test_what_is_lost_doubled_or_wrong_is_counted_apart(spoil: Any, lost: int, duplicated: int, wrong: int) -> None:
    rows = _output()
    spoil(rows)

    found = _judged(rows)

    assert (found.lost, found.duplicated, found.wrong) == (lost, duplicated, wrong)


def test_updates_of_one_user_in_another_order_are_wrong() -> None:
    rows = _output(changed=0)
    same = [number for number, row in enumerate(rows) if row["user"] == rows[-1]["user"]]
    rows[same[-1]], rows[same[-2]] = rows[same[-2]], rows[same[-1]]

    assert _judged(rows).wrong == 1


def test_the_old_rule_after_the_new_one_is_wrong() -> None:
    rows = _output(changed=0)
    rows[-1].update(rule=1, total=rows[-1]["total"] // 2)

    assert _judged(rows).wrong == 1


def test_visits_are_in_the_partition_of_their_user_and_leave_no_profile_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    some = range(2 * events.PROFILES)

    assert all(events.visited(number) % logs.PARTITIONS == number % logs.PARTITIONS for number in some)
    assert {number * events.STRIDE % events.PROFILES for number in some} == set(range(events.PROFILES))
    assert events.PROFILES % logs.PARTITIONS == 0


def _move(kind: MoveKind = MoveKind.RESIZE, pause: float | None = 40.0, at: float = 100.0) -> Move:
    return Move(at, kind, "sums/3", "w0.0", "w1.0", pause, "")


def _log(released: int = 99_990) -> list[Record]:
    place = Partition("sums", 3)
    told: list[tuple[int, messages.Any]] = [
        (50_000, messages.Assign(1, place, 1, Owner("w0.0", 1), "p", 0, takeover=False)),
        (99_950, messages.Release(1, place, 1)),
        (released, messages.Released(place, 1, Owner("w0.0", 1), 7)),
        (99_995, messages.Assign(1, place, 2, HEIR, "p", 7, takeover=False)),
    ]
    return [Record(0, at, time, None, wire.encode(message)) for at, (time, message) in enumerate(told)]


def _report(epoch: int = 2, took: float = 0.03) -> Report:
    place = Place("sums", 3, epoch, "p", working=True, position=7, committed=7, took=took, size=5)
    return Report(1, "w1.0", 1, "x", 100.2, 1.0, places=(place,))


def test_a_pause_has_the_parts_that_driver_log_and_heir_tell() -> None:
    (found,) = resize.pauses([_move()], _log(), [_report(epoch=1, took=9.0), _report()])

    assert (found.stop, found.answer) == (40, 5)
    assert found.taken == pytest.approx(30)
    assert found.whole == pytest.approx(45 + 30)  # by the log, which has more than the driver's 40


def test_a_pause_is_never_shorter_than_the_driver_tells() -> None:
    (found,) = resize.pauses([_move(pause=500.0)], _log(), [_report()])

    assert found.whole == pytest.approx(530)


def test_without_a_report_of_the_heir_nobody_knows_a_pause() -> None:
    (found,) = resize.pauses([_move()], _log(), [])

    assert found.whole is None


def test_who_had_nobody_before_had_no_pause() -> None:
    assert resize.pauses([_move(MoveKind.START, None)], _log(), [_report()]) == []


def _pause(kind: MoveKind, whole: float | None) -> Pause:
    return Pause(_move(kind, whole), None, None, None if whole is None else 0.0)


RIGHT = Run(
    [Phase("1 → 4 workers", 10.0, 12.0), Phase("another program", 20.0, 21.0)],
    [_pause(kind, 100.0 + number) for kind in (MoveKind.RESIZE, MoveKind.PROGRAM) for number in range(20)],
    Outcome(0, 0, 0, frozenset({1, 2}), [(5.0, 1.0), (11.0, 70.0), (15.0, 7.0), (20.5, 80.0), (30.0, 8.0)]),
    Lateness(0.0001, 0.001, 0.002),
    100_000_000,
    90_000_000,
)


def _p99(found: list[Figure]) -> list[Figure]:
    return [figure for figure in found if figure.name.startswith("pause") and figure.wanted]


def test_a_right_run_with_short_pauses_reaches_the_figures() -> None:
    found = resize.shown([RIGHT, RIGHT])

    assert {figure.verdict for figure in found} == {Verdict.REACHED, Verdict.SHOWN}
    assert [figure.value for figure in _p99(found)] == [119.0, 119.0]
    assert {figure.note for figure in _p99(found)} == {"20 + 20 moves"}


@pytest.mark.parametrize("kind", [MoveKind.RESIZE, MoveKind.PROGRAM])
def test_a_pause_that_is_too_long_misses_the_figure(kind: MoveKind) -> None:
    slow = dataclasses.replace(RIGHT, pauses=[*RIGHT.pauses, _pause(kind, 301.0)])

    assert [figure.verdict for figure in _p99(resize.shown([slow]))].count(Verdict.MISSED) == 1


@pytest.mark.parametrize("what", ["lost", "duplicated", "wrong"])
def test_one_message_that_is_not_right_in_one_run_of_many_leaves_no_figure(what: str) -> None:
    one: dict[str, Any] = {what: 1}
    bad = dataclasses.replace(RIGHT, outcome=dataclasses.replace(RIGHT.outcome, **one))

    found = resize.shown([RIGHT, RIGHT, RIGHT, bad])

    assert [figure.name for figure in found if figure.verdict is Verdict.MISSED] == [f"messages {what}"]
    assert {figure.verdict for figure in _p99(found)} == {Verdict.VOID}
    assert all(f"1 {what}" in figure.note for figure in _p99(found))


@pytest.mark.parametrize(
    "change",
    [
        {"lateness": Lateness(0.001, 0.006, 0.1)},
        {"pauses": [pause for pause in RIGHT.pauses if pause.move.kind is MoveKind.RESIZE]},
        {"pauses": []},
        {"pauses": [*RIGHT.pauses, _pause(MoveKind.TAKEOVER, 10.0)]},
        {"pauses": [*RIGHT.pauses, _pause(MoveKind.RESIZE, None)]},
        {"phases": [*RIGHT.phases, Phase("4 → 2 workers", 25.0, None)]},
        {"outcome": dataclasses.replace(RIGHT.outcome, rules=frozenset({1}))},
    ],
    ids=["late", "no program", "nothing", "takeover", "untold", "unfinished", "old rule"],
)
def test_a_run_in_which_not_all_happened_is_void(change: dict[str, Any]) -> None:
    found = resize.shown([dataclasses.replace(RIGHT, **change)])

    assert {figure.verdict for figure in _p99(found)} == {Verdict.VOID}


def test_latencies_are_told_apart_by_when_something_changed() -> None:
    assert resize.latencies(RIGHT) == ([70.0, 80.0], [7.0, 8.0])


def test_a_change_that_did_not_end_has_no_time() -> None:
    open_end = dataclasses.replace(RIGHT, phases=[Phase("1 → 4 workers", 10.0, None)])
    (took,) = [figure for figure in resize.shown([open_end]) if figure.name.startswith("1 → 4")]

    assert math.isnan(took.value)
    assert took.verdict is Verdict.VOID
