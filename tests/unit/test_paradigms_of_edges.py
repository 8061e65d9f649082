"""What is told of a segment that reads an edge is in records, though its positions count messages."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

import programs
from spillway.controllers.protocol import log, messages, owner
from spillway.controllers.protocol.messages import Assign, Join, Lead
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.controllers.topics import Names
from spillway.model.operators import Paradigm
from spillway.runtime import task
from spillway.runtime.driver import paradigms
from spillway.runtime.driver.observing import Seen, Work
from spillway.runtime.driver.outcomes import Outcomes
from spillway.runtime.driver.paradigms import Paradigms
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Place

EACH = 20.0  # records in a frame, as slots find them
BATCH = 500.0  # and as batches found them
SPEC = {
    "streams": [{"name": "events", "topic": "events", "columns": "k string, a bigint"}],
    "operators": [
        {"name": "low", "input": "events", "filter": "a < 5"},
        {"name": "high", "input": "events", "filter": "a >= 5"},
        {"name": "both", "inputs": ["low", "high"], "filter": "k is not null"},
    ],
    "outputs": [{"name": "result", "input": "both", "topic": "results"}],
}
SLOT = Owner("w0.0", 1)
P = Partition("both", 0)


@functools.cache
def of_plan() -> dict[str, Program]:
    spec = programs.spec(SPEC)
    return {one.name: one for one in cutting.cut(spec, cutting.alone(spec))}


def state(holder: Owner) -> log.State:
    segments = tuple(
        messages.Segment(name, (name,), program.id, Paradigm.RECORD, 1, 1) for name, program in of_plan().items()
    )
    program = of_plan()["both"].id
    spec = programs.spec(SPEC).model_dump_json(by_alias=True, exclude_none=True)
    said = (Lead(1, "d"), Join(SLOT.slot, "a"), messages.Plan(1, 1, spec, 1, segments))
    return log.folded([*said, Assign(1, P, 1, holder, program, 0, takeover=True)])


class Batching:
    """An engine that has a partition, or none."""

    def __init__(self, position: int | None) -> None:
        self.position = position
        self.standby = SimpleNamespace(runner=None, want=lambda _: None, measure=lambda: None)
        self.lasts: dict[str, Any] = {}
        self.outcomes = Outcomes(500.0)

    def can(self, *_: Any) -> str:
        return ""

    def input(self, program: Program) -> str:
        return task.input_of(program, Names("test."))

    def has(self, segment: str) -> list[owner.Work]:
        if segment != "both" or self.position is None:
            return []
        return [owner.Work(P, 1, of_plan()["both"].id, self.position, self.position, self.position)]

    def weight(self, _: str) -> float:
        return BATCH

    def speed(self, _: str) -> Any:
        return SimpleNamespace(line=None)


class Ends:
    """Inputs that grow by so many messages with each look."""

    def __init__(self, grows: int) -> None:
        self.end, self._grows = 0, grows

    def ends(self, places: Iterable[tuple[Partition, str]], **_: Any) -> dict[Partition, int]:
        self.end += self._grows
        return {place: self.end for place, _ in places}


def seen(position: int | None, came: float) -> Seen:
    program = of_plan()["both"].id
    places = {} if position is None else {P: Place("both", 0, 1, program, True, position, position)}
    works = {} if position is None else {"both": Work(came=came, working=1)}
    return Seen(time.time(), places, {}, works, {}, {}, {}, {})


def looked(batching: Batching, monkeypatch: pytest.MonkeyPatch, *, slots: bool) -> tuple[Paradigms, Seen, Ends]:
    """After some looks, between which 100 messages came, of which 50 were taken."""
    monkeypatch.setattr(paradigms, "LOOK", 0.0)
    ends = Ends(100)
    shadows = SimpleNamespace(step=lambda _: None, known=lambda _: False, close=lambda: None)
    made = Paradigms(cast(Any, batching), cast(Any, shadows), cast(Any, ends))
    spec = programs.spec(SPEC)
    at, began = 0, time.monotonic()
    last = seen(0, 0.0)
    for _ in range(6):
        at += 50
        if batching.position is not None:
            batching.position = at
        went = at / (time.monotonic() - began)
        last = seen(at if slots else None, went * EACH)
        made.look(state(SLOT if slots else Owner(ENGINE, 1)), of_plan(), spec, last)
        time.sleep(0.05)
    return made, last, ends


def test_of_what_slots_have_frames_are_as_full_as_slots_find_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made, last, _ = looked(Batching(None), monkeypatch, slots=True)
    both = made.known["both"]
    messages_ = made._lag("both")  # noqa: SLF001
    assert both.queue is not None
    assert messages_
    assert both.queue == pytest.approx(messages_ * EACH, rel=0.6)
    assert both.came is not None
    assert both.came.rate > 100 / 0.05 * EACH * 0.3
    assert "test.edge.both" not in made.added(last).arrivals
    made.close()


def test_of_what_batches_have_they_are_as_full_as_in_the_last_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    made, last, ends = looked(Batching(0), monkeypatch, slots=False)
    both, added = made.known["both"], made.added(last)
    lag = added.works["both"].lag
    assert lag
    assert lag <= ends.end
    assert both.queue == pytest.approx(lag * BATCH)
    assert added.works["both"].came == pytest.approx(made._went("both") * BATCH)  # noqa: SLF001
    assert "test.edge.both" not in added.arrivals
    made.close()


def test_how_far_batches_have_come_is_known_to_those_who_wait_for_the_end_of_an_edge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, last, _ = looked(Batching(0), monkeypatch, slots=False)
    assert made.added(last).positions == {P: 300}
    made.close()
