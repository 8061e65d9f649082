"""What the processes of the explored world share: the log, the edges with their readers, and what must hold of all.

A state is a tuple of small numbers, each of which stands for the value of one part: what a part can do next, and what
becomes of it, is computed once for each of its values. The control log is kept as what it says, and as messages that a
process hasn't read, so that ways to the same situation end in the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import explored_drivers as drivers
import explored_edges as edges
import explored_workers as workers
from explored_config import Config
from explored_drivers import Driver
from explored_edges import AnyFrame, Edge, Wrong
from explored_workers import Queues, Worker
from spillway.controllers.protocol import effects, log, messages
from spillway.controllers.protocol.values import Owner, Partition

Value = TypeVar("Value")
DEAD = -1


class State(NamedTuple):
    """A situation. Numbers stand for values; the world knows them."""

    log: int
    workers: tuple[int, ...]  # by slot; behind them, those that were followed while they lived
    drivers: tuple[int, ...]
    edges: tuple[int, ...]
    committed: tuple[int, ...]
    fenced: int
    orphans: tuple[int, ...]  # (edge partition, frames) of dead producers
    letters: tuple[int, ...]  # control messages of the dead that are under way
    faults: int
    moves: int
    late: int
    born: int  # drivers, up to now


class Step(NamedTuple):
    """A state that can follow."""

    text: str
    state: State
    free: bool


class Values(Generic[Value]):
    """Values by number."""

    def __init__(self) -> None:
        self.all: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """The number of a value."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.all)
            self.all.append(value)
        return number


class Brokers:
    """What all processes share, the same for all of them: the control log, edges, fences, committed positions."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.logs: Values[log.State] = Values()
        self.workers: Values[Worker] = Values()
        self.drivers: Values[Driver] = Values()
        self.edges: Values[Edge] = Values()
        self.messages: Values[messages.Any] = Values()
        self.frames: Values[AnyFrame] = Values()
        self.orphans: Values[tuple[int, tuple[AnyFrame, ...]]] = Values()
        self.fences: Values[frozenset[Owner]] = Values()
        self.now = ""  # what is happening, should it be wrong
        self._found: dict[Any, Any] = {}

    def once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of numbers makes of these; computed once."""
        key = (function.__name__, *arguments)
        try:
            return self._found[key]
        except KeyError:
            result = self._found[key] = function(*arguments)
            return result

    # The control log

    def _append(self, state: State, message: int) -> State:
        after, counts = self.once(self._read, state.log, message)
        if counts and self.config.watch:
            self._starts_at_the_cut(state, self.messages.all[message])
            self.once(self._limited, after)
        heard = tuple(
            self.once(self._delivered, number, state.log, message) if counts and number != DEAD else number
            for number in state.workers
        )
        told = tuple(self.once(self._driver_delivered, number, message) for number in state.drivers)
        return state._replace(log=after, workers=heard, drivers=told)

    def _read(self, number: int, message: int) -> tuple[int, bool]:
        after, counts = log.read(self.logs.all[number], self.messages.all[message], self.config.keep)
        return self.logs.number(after), counts

    def _delivered(self, number: int, before: int, message: int) -> int:
        worker, text = self.workers.all[number], self.messages.all[message]
        if not workers.concerns(self.logs.all[before], worker.slot.me, text):
            return number
        return self.workers.number(worker._replace(inbox=(*worker.inbox, text)))

    def _driver_delivered(self, number: int, message: int) -> int:
        driver = self.drivers.all[number]
        told = driver._replace(inbox=(*driver.inbox, self.messages.all[message]))
        return self.drivers.number((drivers.hear(told, self.config.keep) or told) if self.config.swift else told)

    # What the dead have sent

    def _orphaned(self, state: State, sent: Queues) -> State:
        left = [self.orphans.number((edge, queue)) for edge, queue in enumerate(sent) if queue]
        return state._replace(orphans=tuple(sorted((*state.orphans, *left)))) if left else state

    def _orphan(self, state: State, at: int, number: int) -> Iterator[Step]:
        """A frame of a dead producer arrives late, or never; without the rule *order*, those behind it still may."""
        edge, queue = self.orphans.all[number]
        others = (*state.orphans[:at], *state.orphans[at + 1 :])
        rest = (self.orphans.number((edge, queue[1:])),) if queue[1:] else ()
        left = state._replace(orphans=tuple(sorted((*others, *rest))))
        self.now = f"a frame of the dead lands: {queue[0]}"
        yield Step(self.now, self._landed(left, edge, self.frames.number(queue[0])), True)
        lost = state._replace(orphans=others) if self.config.order else left
        yield Step(f"a frame of the dead is lost: {queue[0]}", lost, True)

    # Edges

    def _landed(self, state: State, edge: int, frame: int) -> State:
        after = self.once(self._land, state.edges[edge], frame)
        return state._replace(edges=(*state.edges[:edge], after, *state.edges[edge + 1 :]))

    def _land(self, edge: int, frame: int) -> int:
        config = self.config
        landed = edges.land(self.edges.all[edge], self.frames.all[frame], config.edges, config.keep, config.retain)
        return self.edges.number(landed)

    def _readers(self, state: State) -> Iterator[Step]:
        """Readers store what they have, or die and come back with what they have stored."""
        may_die = state.faults > 0 and "reader dies" in self.config.kinds
        for at, number in enumerate(state.edges):
            for what in ("all",) if self.config.together else ("table", "all"):
                stored = self.once(self._store, number, what)
                if stored != number:
                    after = state._replace(edges=(*state.edges[:at], stored, *state.edges[at + 1 :]))
                    yield Step(f"reader {at} stores {what}", after, True)
            self.now = f"reader {at} dies and comes back"
            crashed = self.once(self._crash, number) if may_die else number
            if may_die and crashed != number:
                after = state._replace(
                    edges=(*state.edges[:at], crashed, *state.edges[at + 1 :]), faults=state.faults - 1
                )
                yield Step(self.now, after, False)

    def _store(self, number: int, what: str) -> int:
        return self.edges.number(edges.store(self.edges.all[number], what))

    def _crash(self, number: int) -> int:
        return self.edges.number(edges.crash(self.edges.all[number], self.config.edges, self.config.keep))

    def _complete(self, number: int) -> bool:
        rows = self.edges.all[number].table
        return all(row[0] >= count and not row[1] for row, count in zip(rows, self.config.records, strict=True))

    def _barrier(self, state: State, back: effects.ReadBack) -> int | None:
        """How far the edges reach up to the markers; None as long as one of those is under way."""
        place = back.partition.number
        if not self.config.keep.marker:
            return max(self.edges.all[number].reach[place] for number in state.edges)
        marks = [self.edges.all[number].marks.get((place, back.epoch)) for number in state.edges]
        return None if None in marks else max(mark for mark in marks if mark is not None)

    # What must hold

    def _behind_the_fence(self, state: State, number: int, place: Partition) -> None:
        """A takeover reads a committed offset only behind the fence."""
        holding = self.drivers.all[number].leader.log.holdings.get(place)
        if holding and holding.owner not in self.fences.all[state.fenced]:
            text = f"the committed offset of {place} is read before {holding.owner} is fenced"
            raise Wrong(text)

    def _starts_at_the_cut(self, state: State, message: messages.Any) -> None:
        """Whoever gets a partition starts where the last one committed."""
        if isinstance(message, messages.Assign) and message.start != state.committed[message.partition.number]:
            text = f"{message} starts elsewhere than at the committed {state.committed[message.partition.number]}"
            raise Wrong(text)

    def _limited(self, number: int) -> None:
        """No more partitions are on the move than may be at once."""
        holdings = self.logs.all[number].holdings.values()
        moving = [h.move for h in holdings if h.move and not (h.move.heir is None and h.move.cut is not None)]
        if len(moving) > self.config.limit:
            text = f"{len(moving)} partitions are on the move at once, and no more than {self.config.limit} may be"
            raise Wrong(text)

    def check(self, state: State) -> None:
        """One owner for each partition and epoch, whoever believes what."""
        self.once(self._single, state.workers, state.drivers)

    def _single(self, alive: tuple[int, ...], leading: tuple[int, ...]) -> None:
        slots = [self.workers.all[number].slot for number in alive if number != DEAD]
        engines = [self.drivers.all[number].engine for number in leading]
        slots += [engine.slot for engine in engines if engine]
        held = [(work.partition, work.epoch) for slot in slots for work in slot.works.values()]
        if len(held) != len({*held}):
            text = f"two owners have the same partition under the same epoch: {sorted(held)}"
            raise Wrong(text)
