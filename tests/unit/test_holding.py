"""When a slot reads no streams, so that rows of edges that are late go first."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from programs import Message
from spillway.model.streamjob import Spec
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program
from spillway.runtime.slots.holding import Holding
from spillway.runtime.slots.readers import Where

BOUND = 500.0
STREAM, SHARED, TABLE, EDGE = ("numbers", 0), ("shared", 0), ("names", 0), ("edge", 0)


def _programs() -> dict[str, Program]:
    spec = Spec.model_validate_json(
        json.dumps(
            {
                "kafka": {"bootstrapServers": ["k:9092"]},
                "latency": {"bound": "500ms"},
                "streams": [{"name": "numbers", "topic": "numbers", "columns": "n bigint"}],
                "tables": [{"name": "names", "topic": "names", "columns": "n bigint", "key": ["n"]}],
                "operators": [
                    {"name": "some", "input": "numbers", "filter": "n > 0"},
                    {"name": "counts", "input": "some", "aggregate": {"by": ["n"], "values": ["count(*) as c"]}},
                    {"name": "named", "input": "names", "filter": "n > 0"},
                ],
                "outputs": [
                    {"name": "one", "input": "counts", "topic": "one"},
                    {"name": "two", "input": "named", "topic": "two"},
                ],
            }
        )
    )
    return {program.name: program for program in cutting.cut(spec, {n: (n,) for n in ("some", "counts", "named")}, {})}


class Readers:
    """Of a slot that has a part of everything."""

    def __init__(self) -> None:
        made = _programs()
        self._at = {STREAM: ["some"], SHARED: ["some", "named"], TABLE: ["named"], EDGE: ["counts"]}
        self._places = {name: SimpleNamespace(task=SimpleNamespace(program=program)) for name, program in made.items()}
        self.followed: set[Where] = set()
        self.held: set[Where] = set()

    def places(self) -> tuple[Where, ...]:
        return tuple(self._at)

    def at(self, where: Where) -> list[Any]:
        return [self._places[name] for name in self._at.get(where, ())]

    def follows(self, where: Where) -> bool:
        return where in self.followed

    def hold(self, wanted: list[Where]) -> None:
        self.held |= set(wanted)

    def go_on(self) -> None:
        self.held.clear()


class Slot:
    """Time goes by as it is told."""

    def __init__(self, bound: float = BOUND) -> None:
        self.now = 1_000.0
        self.readers = Readers()
        clock = lambda: self.now  # noqa: E731 - a clock
        self.holding = Holding(self.readers, bound, clock, clock)  # type: ignore[arg-type]
        self.later(1)

    def takes(self, where: Where | None, bounds: float = 0.0, *, emptied: bool = False) -> set[Where]:
        """It takes a message of this age, or none, and leaves some or none; what is held then."""
        some = [Message(0, b"", time=int((self.now - bounds * BOUND / 1000) * 1000))]
        self.holding.taken({} if where is None else {where: some}, emptied=emptied)
        return set(self.readers.held)

    def later(self, bounds: float) -> None:
        self.now += bounds * BOUND / 1000


def test_streams_are_held_while_rows_of_edges_are_late_and_tables_are_not() -> None:
    slot = Slot()

    assert slot.takes(EDGE, 0.15) == set()
    assert slot.takes(EDGE, 0.3) == {STREAM}
    assert slot.takes(EDGE, 0.1) == {STREAM}
    assert slot.takes(EDGE, 0.04) == set()


def test_late_records_of_streams_hold_nothing() -> None:
    assert Slot().takes(STREAM, 7.0) == set()


def test_streams_are_read_when_nothing_of_edges_is_left() -> None:
    slot = Slot()
    slot.takes(EDGE, 0.3)

    assert slot.takes(None) == set()


def test_where_all_rows_are_old_streams_are_read_when_nothing_is_left_twice() -> None:
    """As with clocks that differ, or a broker that is far away."""
    slot = Slot()
    slot.takes(EDGE, 0.6)

    assert slot.takes(EDGE, 0.6, emptied=True) == {STREAM}
    assert slot.takes(EDGE, 0.6) == {STREAM}
    assert slot.takes(EDGE, 0.6, emptied=True) == {STREAM}
    assert slot.takes(EDGE, 0.6, emptied=True) == set()


def test_what_every_row_takes_through_a_broker_is_not_late_however_short_the_bound() -> None:
    slot = Slot(bound=100.0)

    assert slot.takes(EDGE, 40 / BOUND) == set()
    assert slot.takes(EDGE, 60 / BOUND) == {STREAM}


def test_a_stream_that_is_followed_as_a_table_is_read() -> None:
    slot = Slot()
    slot.readers.followed.add(STREAM)

    assert slot.takes(EDGE, 0.3) == set()


def test_rows_that_stay_late_hold_streams_for_a_bound_and_let_them_be_read_in_between() -> None:
    slot = Slot()

    slot.takes(EDGE, 0.3)
    slot.later(0.9)
    assert slot.takes(EDGE, 0.3) == {STREAM}
    slot.later(0.2)
    assert slot.takes(EDGE, 0.3) == set()
    slot.later(0.04)
    assert slot.takes(EDGE, 0.3) == set()
    slot.later(0.02)
    assert slot.takes(EDGE, 0.3) == {STREAM}


def test_streams_are_read_for_shorter_while_that_makes_rows_late_and_for_longer_when_it_does_not() -> None:
    slot = Slot()

    def read() -> float:
        """For how many bounds, until they are held again."""
        bounds = 0.0
        while not slot.takes(STREAM) and bounds < 3:
            slot.later(0.01)
            bounds += 0.01
        return bounds

    def work_off(bounds: float) -> None:
        """Rows of that age are found."""
        slot.takes(EDGE, bounds)
        slot.takes(None)

    seen = []
    for oldest in (0.3, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1):
        work_off(oldest)
        seen.append(read())
    assert seen == pytest.approx([0.1, 0.05, 0.05, 0.1, 0.2, 0.4, 0.8, 3.0], abs=0.02)
