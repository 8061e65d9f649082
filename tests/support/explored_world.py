"""What can happen next in the explored world, and what comes of it.

A process reads its next control message, or does the next thing that it has been asked for; a slot processes a record,
into a frame of its own or the last one; the broker takes a frame; a slot commits; the engine picks ranges; a dead
process is followed by a new one. And, as long as the budget lasts: a process dies, is wrongly suspected, or is followed
by another while it lives; frames of the dead are lost; a task is tried again; a reader dies; a try to move takes too
long, or fails; something else is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import explored_drivers as drivers
import explored_edges as edges
import explored_offers as offers
import explored_workers as workers
from explored_brokers import DEAD, Brokers, State, Step, Values
from explored_offers import PLACES, Offer
from explored_workers import Worker
from spillway.controllers.protocol import effects, knowledge, log, messages, slot
from spillway.controllers.protocol.knowledge import Target
from spillway.controllers.protocol.values import Partition


class World(Brokers):
    """All that is known of one configuration: values by number, and what follows from each."""

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
            letters=(),
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
        for at, letter in enumerate(state.letters):
            left = state._replace(letters=(*state.letters[:at], *state.letters[at + 1 :]))
            self.now = f"a message of the dead arrives: {self.messages.all[letter]}"
            yield Step(self.now, self._append(left, letter), True)
            yield Step(f"a message of the dead is lost: {self.messages.all[letter]}", left, True)
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
                if self.config.watch:
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
            dead = self.workers.all[number]
            return self._orphaned(self._lettered(state, dead.outbox), dead.sent)
        if part != DEAD:
            return state._replace(drivers=(*state.drivers[:at], part, *state.drivers[at + 1 :]))
        ended = self.drivers.all[number]
        state = state._replace(drivers=(*state.drivers[:at], *state.drivers[at + 1 :]))
        state = self._lettered(state, ended.outbox)
        for sent in (ended.sent, *(task.sent for task in ended.tasks)):
            state = self._orphaned(state, sent)
        return state

    def _lettered(self, state: State, outbox: tuple[effects.Any, ...]) -> State:
        """What the dead were about to write may have been sent."""
        if not outbox or not isinstance(outbox[0], effects.Append):
            return state
        return state._replace(letters=tuple(sorted((*state.letters, self.messages.number(outbox[0].message)))))

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
