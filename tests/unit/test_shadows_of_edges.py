"""Shadows of a segment that reads an edge: sized by records, as if none had been processed, of what is left there."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError

import lone_job
import programs
import ranged
from programs import messages
from ranged import RangedJob
from spillway.controllers.protocol.values import Partition
from spillway.model.errors import RetryError
from spillway.runtime.batch import ranges
from spillway.runtime.batch.ranges import Order, Range, Result, Times
from spillway.runtime.batch.speed import Speed, Weight
from spillway.runtime.driver import shadows
from spillway.runtime.driver.batching import Batching
from spillway.runtime.driver.shadows import SIZES, WARMING, Case, Shadows
from spillway.runtime.programs import cutting

EACH = 20  # records in a frame
SPEC = {
    "streams": [{"name": "events", "topic": "events", "columns": "k string, a bigint"}],
    "operators": [
        {"name": "low", "input": "events", "filter": "a < 5"},
        {"name": "high", "input": "events", "filter": "a >= 5"},
        {"name": "both", "inputs": ["low", "high"], "filter": "k is not null"},
        {"name": "counts", "input": "both", "aggregate": {"by": ["k"], "values": ["count(*) as n"]}},
    ],
    "outputs": [{"name": "result", "input": "counts", "topic": "results"}],
}


def job() -> RangedJob:
    """One whose edges are full, and nobody has read them."""
    spec = programs.spec(SPEC)
    content = {"events": {n: messages([{"k": f"k{i}", "a": i % 9} for i in range(60)]) for n in range(3)}}
    found = RangedJob(spec, cutting.alone(spec), content, share=0.0)
    for name in ("low", "high"):
        for number in range(3):
            place = found.places[name, number]
            place.task.take(list(content["events"][number]))
            found.deliver(lone_job.sent(place.task, whole=True))
    return found


def test_frames_are_processed_as_often_as_a_shadow_takes_them() -> None:
    made = job()
    log = made._messages(made.names.edge("both"), 0)  # noqa: SLF001
    order = dataclasses.replace(made.order("both", combine=True), shadow=True, repeat=3)
    sent, result = ranged.worked(order, made.loops["both"], Range(0, 0, len(log), 0), log, programs.seeded(1))
    once = dataclasses.replace(order, repeat=1)
    _, single = ranged.worked(once, made.loops["both"], Range(0, 0, len(log), 0), log, programs.seeded(1))
    assert sent == []
    assert (result.rows, result.messages) == (3 * single.rows, 3 * len(log))
    assert ranges.records(order.program, [result]) == result.rows > result.messages
    # Were it not for that, all but the first time would be nothing but frames that are skipped.
    twice = ranged.worked(
        once, made.loops["both"], Range(0, 0, len(log), 0, origins_of(single)), log, programs.seeded(1)
    )[1]
    assert twice.rows == 0


def origins_of(result: Result) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((change.key or b"", change.value or b"") for change in result.changes)


class Gone:
    """What a consumer gives where it was to read what is trimmed."""

    def error(self) -> Any:
        return KafkaError(KafkaError._AUTO_OFFSET_RESET)  # noqa: SLF001

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0


class Trimmed(ranged.Reader):
    def poll(self, _: float) -> Any:
        return Gone()

    def consume(self, most: int, _: float) -> list[Any]:
        return []


def test_what_was_trimmed_meanwhile_is_no_matter_for_a_shadow_and_is_one_for_an_intent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranged, "Reader", Trimmed)
    made = job()
    order = made.order("both", combine=True)
    shadow = dataclasses.replace(order, shadow=True)
    _, result = ranged.worked(shadow, made.loops["both"], Range(0, 3, 9, 0), [], programs.seeded(1))
    assert result.messages == 0
    with pytest.raises(RetryError, match="can't be read from 3 on"):
        ranged.worked(order, made.loops["both"], Range(0, 3, 9, 0), [], programs.seeded(1))


class Runner:
    """Takes a microsecond for a record, with so many in each message."""

    usage = None

    def __init__(self) -> None:
        self.ran: list[tuple[int, int]] = []  # messages, and how often they were taken
        self.each = EACH

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        self.ran.append((sum(one.stop - one.start for one in given), order.repeat))
        assert all(one.origins == () for one in given)
        times = Times(0.0, 0.0, 0.0, 0.0)
        found = []
        for one in given:
            count = (one.stop - one.start) * order.repeat
            found.append(Result(one.number, (), count, 0, count * self.each, 0, times))
        return found

    def close(self) -> None:
        pass


class Held:
    """What shadows want of a `Batching`."""

    def __init__(self, made: RangedJob, runner: Runner) -> None:
        self._job, self.busy = made, False
        self.standby = type("Standby", (), {"runner": runner})()
        self.speeds, self.weights = Speed(), {"both": Weight()}

    def weight(self, _: str) -> float | None:
        return self.weights["both"].each

    def weigh(self, _: str, program: Any, results: Sequence[Result]) -> int:
        return Batching.weigh(cast(Any, self), "both", program, results)

    def speed(self, _: str) -> Speed:
        return self.speeds

    def order(self, _: str, *, combined: bool) -> Order:
        return self._job.order("both", combine=combined)


class Left:
    """An edge of which the last messages are left."""

    def __init__(self, there: int) -> None:
        self.there = there

    def bounds(self, places: Sequence[tuple[Partition, str]]) -> dict[Partition, tuple[int, int]]:
        return {place: (1_000_000 - self.there, 1_000_000) for place, _ in places}

    def reaches(self, _: Any) -> tuple[()]:
        return ()


def calibrated(there: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Runner, Held, Shadows, Case]:
    """After all that is done at first."""
    monkeypatch.setattr(shadows, "AGAIN", 0.01)
    made, runner = job(), Runner()
    held = Held(made, runner)
    found = Shadows(cast(Any, held), cast(Any, Left(there)))
    program = made.loops["both"].program
    case = Case("both", program, made.names.edge("both"), 3)
    deadline = time.monotonic() + 5
    while not found.known(program.id) and time.monotonic() < deadline and len(runner.ran) < len(SIZES):
        found.step([case])
        time.sleep(0.002)
    for _ in range(20):
        found.step([])
        time.sleep(0.002)
    return runner, held, found, case


def test_sizes_are_records_though_ranges_are_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, held, found, case = calibrated(100_000, monkeypatch)
    assert found.known(case.program.id)
    assert held.weight("both") == EACH
    assert runner.ran[0][0] == 3  # nobody knew yet how full frames are
    for size, (count, repeat) in list(zip(SIZES, runner.ran, strict=True))[WARMING:]:
        assert count * repeat * EACH == pytest.approx(size, rel=0.1)
    line = held.speeds.line
    assert line is not None
    found.close()


def test_where_little_is_left_it_is_taken_as_often_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, _, found, case = calibrated(10, monkeypatch)
    assert found.known(case.program.id)
    for size, (count, repeat) in list(zip(SIZES, runner.ran, strict=True))[WARMING:]:
        assert count <= 30
        assert count * repeat * EACH == pytest.approx(size, rel=0.7)
    found.close()


def test_nothing_is_learnt_where_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadows, "LEAST", 100)
    made, runner = job(), Runner()
    held = Held(made, runner)
    found = Shadows(cast(Any, held), cast(Any, Left(0)))
    case = Case("both", made.loops["both"].program, made.names.edge("both"), 3)
    for _ in range(50):
        found.step([case])
        time.sleep(0.002)
    assert runner.ran == []
    assert not found.known(case.program.id)
    assert held.speeds.line is None
    found.close()
