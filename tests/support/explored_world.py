"""Everything around the state machines of the protocol, as one value: brokers, processes, and what can happen next.

A state is a tuple of small numbers, each of which stands for the value of one part: what a part can do next, and what
becomes of it, is computed once for each of its values. The control log is kept as what it says, and as messages that a
process hasn't read, so that ways to the same situation end in the same state.

What can happen: a process reads its next control message, or does the next thing that it has been asked for; a slot
processes a record, into a frame of its own or the last one; the broker takes a frame; a slot commits; the engine picks
ranges; a dead process is followed by a new one. And, as long as the budget lasts: a process dies, is wrongly suspected,
or is followed by another while it lives; frames of the dead are lost; a task is tried again; a reader dies; a try to
move takes too long, or fails; something else is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import explored_drivers as drivers
import explored_edges as edges
import explored_offers as offers
import explored_workers as workers
from explored_config import Config
from explored_drivers import Driver
from explored_edges import AnyFrame, Edge, Wrong
from explored_offers import PLACES, Offer
from explored_workers import Queues, Worker
from spillway.controllers.protocol import effects, knowledge, log, messages, slot
from spillway.controllers.protocol.knowledge import Target
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


class World:
    """All that is known of one configuration: values by number, and what follows from each."""

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

    # The beginning

    def begin(self) -> State:
        """Slots have joined, a driver leads, and has given all partitions to one owner, which hasn't read that."""
        config = self.config
        joins = [messages.Join(f"w{i}", f"w{i}.1") for i in range(config.slots)]
        said = log.folded(joins)
        lives = [Slot for Slot in (slot.joined(said, join, join.process) for join in joins) if Slot]
        alive = [Worker(life, (), (), (), ((),) * config.edges) for life in lives]
        driver = drivers.born("d1", said, config.limit, config.edges)
        wanted = {PLACES[n]: Target(config.begin, "A") for n in range(len(config.records))}
        driver = driver._replace(leader=knowledge.want(driver.leader, wanted))
        places = len(config.records)
        state = State(
            log=self.logs.number(said),
            workers=tuple(map(self.workers.number, alive)),
            drivers=(self.drivers.number(driver),),
            edges=tuple(
                self.edges.number(edges.empty(n, config.edges, places, config.readers)) for n in range(config.edges)
            ),
            committed=(0,) * places,
            fenced=self.fences.number(frozenset()),
            orphans=(),
            faults=config.faults,
            moves=config.moves,
            late=config.late,
            born=1,
        )
        while len(self.logs.all[state.log].holdings) < places:
            state = next(step.state for step in self.steps(state, only="driver") if step.free)
        return state

    # What can follow

    def steps(self, state: State, only: str = "") -> Iterator[Step]:
        """All that can happen next.

        Raises:
            Wrong: with the step's text, if something happens that must not.
        """
        for at, number in enumerate(state.workers):
            if only:
                break
            if number == DEAD:
                yield self._joins(state, at)
                continue
            for offer in self.once(self._worker_offers, number):
                yield from self._happens(state, "workers", at, number, offer)
        for at, number in enumerate(state.drivers):
            for offer in self.once(self._driver_offers, number):
                yield from self._happens(state, "drivers", at, number, offer)
        if only:
            return
        for at, orphan in enumerate(state.orphans):
            yield from self._orphan(state, at, orphan)
        if not state.drivers or (len(state.drivers) < 2 and state.faults and "driver doubles" in self.config.kinds):
            yield self._born(state)
        if self.config.readers:
            yield from self._readers(state)

    def complete(self, state: State) -> bool:
        """Whether all records are applied."""
        return all(self.once(self._complete, edge) for edge in state.edges)

    def _worker_offers(self, number: int) -> tuple[Offer, ...]:
        found = offers.of_worker(self.workers.all[number], self.config)
        return tuple(self._numbered(offer, self.workers) for offer in found)

    def _driver_offers(self, number: int) -> tuple[Offer, ...]:
        found = offers.of_driver(self.drivers.all[number], self.config)
        return tuple(self._numbered(offer, self.drivers) for offer in found)

    def _numbered(self, offer: Offer, values: Values[Any]) -> Offer:
        """The same offer, in numbers."""
        part = DEAD if offer.part is None else values.number(offer.part)
        what = offer.what
        if offer.kind == "land":
            what = (what[0], self.frames.number(what[1]))
        elif offer.kind == "append":
            what = self.messages.number(what)
        return offer._replace(part=part, what=what)

    def _happens(self, state: State, kind: str, at: int, number: int, offer: Offer) -> Iterator[Step]:
        """An offer meets the rest of the world."""
        if offer.faults > state.faults or offer.moves > state.moves or offer.late > state.late:
            return
        self.now = offer.text
        free = not (offer.faults or offer.moves or offer.late)
        if not free:
            state = state._replace(
                faults=state.faults - offer.faults, moves=state.moves - offer.moves, late=state.late - offer.late
            )
        part, what = offer.part, offer.what
        match offer.kind:
            case "land":
                edge, frame = what
                state = self._with(self._landed(state, edge, frame), kind, at, number, part)
            case "append":
                state = self._append(self._with(state, kind, at, number, part), what)
            case "commit":
                committer, commit = what
                if committer in self.fences.all[state.fenced]:
                    part = DEAD
                else:
                    now = dict(enumerate(state.committed))
                    now.update({place.number: upto for place, upto in commit.positions})
                    state = state._replace(committed=tuple(now.values()))
                state = self._with(state, kind, at, number, part)
            case "back":
                barrier = self._barrier(state, what)
                if barrier is None:
                    return
                part = self.once(self._worker_back if kind == "workers" else self._driver_back, number, what, barrier)
                state = self._with(state, kind, at, number, part)
            case "double":
                if at >= self.config.slots:
                    return
                apart = (*state.workers[:at], DEAD, *state.workers[at + 1 :], number)
                state = self._joins(state._replace(workers=apart), at).state
            case "fence":
                fenced = self.fences.number(self.fences.all[state.fenced] | {what})
                state = self._with(state._replace(fenced=fenced), kind, at, number, part)
            case "look":
                self._behind_the_fence(state, number, what)
                part = self.once(self._looked, part, what, state.committed[what.number])
                state = self._with(state, kind, at, number, part)
            case "suspect" | "heard":
                lives = any(n != DEAD and self.workers.all[n].slot.me == what for n in state.workers)
                if lives and offer.kind == "suspect":
                    if not state.faults or "slot suspected" not in self.config.kinds:
                        return
                    free, state = False, state._replace(faults=state.faults - 1)
                elif not lives and offer.kind == "heard":
                    return
                state = self._with(state, kind, at, number, part)
            case "retry":
                task = self.drivers.all[number].tasks[what]
                state = self._with(self._orphaned(state, task.sent), kind, at, number, part)
            case _:
                state = self._with(state, kind, at, number, part)
        yield Step(offer.text, state, free)

    def _with(self, state: State, kind: str, at: int, number: int, part: int) -> State:
        """A process has become another, or has ended; what that one had sent may still arrive."""
        if kind == "workers":
            if part != DEAD:
                return state._replace(workers=(*state.workers[:at], part, *state.workers[at + 1 :]))
            place = (DEAD,) if at < self.config.slots else ()
            state = state._replace(workers=(*state.workers[:at], *place, *state.workers[at + 1 :]))
            return self._orphaned(state, self.workers.all[number].sent)
        if part != DEAD:
            return state._replace(drivers=(*state.drivers[:at], part, *state.drivers[at + 1 :]))
        state = state._replace(drivers=(*state.drivers[:at], *state.drivers[at + 1 :]))
        ended = self.drivers.all[number]
        for sent in (ended.sent, *(task.sent for task in ended.tasks)):
            state = self._orphaned(state, sent)
        return state

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

    # The control log

    def _append(self, state: State, message: int) -> State:
        after, counts = self.once(self._read, state.log, message)
        if counts:
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

    def _joins(self, state: State, at: int) -> Step:
        """A new process starts to work as a slot."""
        name = f"w{at}"
        life = self.logs.all[state.log].members[name].incarnation + 1
        join = messages.Join(name, f"{name}.{life}")
        state = self._append(state, self.messages.number(join))
        alive = slot.joined(self.logs.all[state.log], join, join.process)
        assert alive
        number = self.workers.number(Worker(alive, (), (), (), ((),) * self.config.edges))
        return Step(f"{alive.me} starts", self._with(state, "workers", at, DEAD, number), True)

    def _born(self, state: State) -> Step:
        """A new driver: because there is none, or though there is one."""
        name = f"d{state.born + 1}"
        driver = drivers.born(name, self.logs.all[state.log], self.config.limit, self.config.edges)
        cost = bool(state.drivers)
        number = self.drivers.number(driver)
        after = state._replace(drivers=(*state.drivers, number), faults=state.faults - cost, born=state.born + 1)
        return Step(f"{name} starts", after, not cost)

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

    def _worker_back(self, number: int, back: effects.ReadBack, barrier: int) -> int:
        after = workers.read_back(self.workers.all[number], back, barrier, self.config.keep)
        return self.workers.number(after) if after else DEAD

    def _driver_back(self, number: int, back: effects.ReadBack, barrier: int) -> int:
        after = drivers.read_back(self.drivers.all[number], back, barrier, self.config.keep)
        return self.drivers.number(after) if after else DEAD

    def _looked(self, number: int, place: Partition, position: int) -> int:
        driver = self.drivers.all[number]
        after = drivers.told(driver, knowledge.committed(driver.leader, place, position), self.config.keep)
        return self.drivers.number(after) if after else DEAD

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
