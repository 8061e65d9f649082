"""Which of its messages a slot takes next, when not all can be on time: `policy.overload`.

With `keepOrder` that is whatever comes, but for streams while rows of edges are late (`holding`). With `mostInTime`
there are two lanes, each with a consumer of its own. The *fresh* lane has what can be on time. The *late* lane is read
when the fresh one is empty, and has

- partitions that are put off as a whole: one after the other, until what remains can be on time. Their order stays.
  Of these the one is read that has least to catch up, until it has: if all were, none would come back;
- stretches that were set aside in a partition of a program nobody behind needs the order of. It has no table and
  writes no edge: readers of edges know positions alone, and would take what comes later for something they have.

With `drop`, late records of streams are left out instead, whatever the program: their position just moves on.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from spillway.controllers import overload
from spillway.model.execution import OnError, Overload, Policy
from spillway.runtime import task
from spillway.runtime.intake import Intake
from spillway.runtime.programs.program import Program
from spillway.runtime.slots.holding import Holding
from spillway.runtime.slots.place import Place
from spillway.runtime.slots.readers import Readers, Where

# Seconds that a poll waits, when there may be something to read elsewhere: what comes there meanwhile waits for it.
LOOK = 0.005
# Seconds between two words about records that are left out.
TOLD = 60.0

_log = logging.getLogger(__name__)

Found = dict[Where, list[Message]]


def needs_order(program: Program) -> str:
    """Why late messages of its input can't be processed after younger ones; empty if they can."""
    if not task.reads_stream(program):
        return "what it reads is no stream"
    if program.edges:
        return f"{program.edges[0].reader!r} reads its rows by their positions"
    kept = [one for one in program.states if not one.broadcast or (one.operator and one.operator.retention)]
    return f"what {kept[0].name!r} keeps depends on what came before" if kept else ""


class Lanes:
    """Of one life of a slot."""

    def __init__(
        self, readers: Readers, bound: float, clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`bound`: the promise, in milliseconds."""
        self._readers, self._bound, self._clock = readers, bound, clock
        self._policy = Policy()
        self._holding = Holding(readers, bound, clock, monotonic)
        self._off: dict[Where, int] = {}  # what is put off, and when its head came, in milliseconds
        self._turn: Where | None = None  # of those, which is read
        self._heard = 0.0  # when anything came of it
        self._back: list[Where] = []  # partitions that have caught up
        self._ages: dict[Where, tuple[float, float]] = {}  # of heads, and when they were looked at
        self._since = -1e9  # when the last partition was put off
        self._least = 0.0  # the lowest that the age of the oldest head has been since
        self._turn_is_late = self._emptied = self._queued = False
        self._told = -1e9
        self._said: set[str] = set()  # programs
        self.came = 0
        """Messages of this turn, without those that were passed over."""
        self.weight = 0
        """Bytes of this turn, as an intake counts them."""

    @property
    def active(self) -> bool:
        """Whether anything is ever done out of turn."""
        return self._policy.overload is Overload.MOST_IN_TIME

    def obey(self, policy: Policy, places: Iterable[Place]) -> None:
        """This policy holds from now on."""
        self._policy = policy
        if self.active:
            self._holding.end()
        else:
            for where in tuple(self._off):
                self._bring_back(where)
        for place in places:
            self.judge(place)

    def judge(self, place: Place) -> None:
        """What may be done with a place. One that is read, and passes over nothing any more, reads all again."""
        program, skipped = place.task.program, place.skips
        place.drops = self.active and self._policy.drop and task.reads_stream(program)
        place.skips = place.drops or (self.active and not self._ordered(program))
        if place.skips and place.where in self._off:
            self._bring_back(place.where)
        if skipped and not place.skips:
            self._readers.again(place)
        elif place.skips and not skipped and place in self._readers.at(place.where):
            place.head = place.next  # what is done above that is found when it is read

    def _ordered(self, program: Program) -> bool:
        """Whether a program gets all messages of a partition in their order; said once."""
        why = needs_order(program)
        if not why and self._policy.on_error is OnError.FAIL:
            why = "with policy.onError fail nothing goes past a bad record"
        if why and program.id not in self._said:
            self._said.add(program.id)
            _log.info("%s: in overload its partitions are put off as a whole, in their order: %s", program.name, why)
        return bool(why)

    def reads(self, place: Place) -> None:
        """A place is about to be read: with others there, from the lowest position of all."""
        if place.where in self._off:
            self._bring_back(place.where)

    def poll(self, seconds: float, most: int, room: float) -> Found:
        """What is to be looked at now; see `intake.Intake.poll`."""
        self._turn_is_late = False
        if not self.active:
            found = self._taken(self._readers.intake, min(seconds, LOOK) if self._holding.on else seconds, most, room)
            self._holding.taken(found, emptied=self._readers.intake.emptied)
            return found
        while self._back:
            if (where := self._back.pop()) in self._off:
                self._bring_back(where)
        self._put_off()
        waits = self._aim()
        if waits and self._emptied:
            self._emptied = False
            if found := self._late(0.0, most, room):
                return found
        found = self._taken(self._readers.intake, (LOOK if self._queued else 0.0) if waits else seconds, most, room)
        if not found and waits:
            self._queued = False
            return self._late(min(seconds, LOOK), most, room)
        now = self._clock()
        for where, some in found.items():
            self._ages[where] = self._age(some[0]), now
        # Who has had to wait has others behind it, though the client may not have them at hand for a moment.
        self._queued = any(self._age(some[-1]) > overload.FRESH for some in found.values())
        self._emptied = self._readers.intake.emptied and not self._queued
        return found

    def _taken(self, intake: Intake, seconds: float, most: int, room: float) -> Found:
        found = intake.poll(seconds, most, room)
        self.came, self.weight = sum(map(len, found.values())), intake.weight
        return found

    def due(self, place: Place, some: list[Message]) -> list[Message]:
        """Those of them that a place is to process now."""
        if not self.active:
            return some
        if place.where in self._off:
            return some if self._turn_is_late else []
        if self._turn_is_late:
            return self._of_gap(place, some)
        return self._fresh(place, some) if place.skips else some

    # The fresh lane.

    def _fresh(self, place: Place, some: list[Message]) -> list[Message]:
        if _offset(some[0]) < place.head:
            some = [message for message in some if _offset(message) >= place.head]
        until = overload.LATE if place.drops else overload.FRESH
        passed = overload.pass_over(some, self._age, on=place.passing, until=until)
        if passed.messages and not self._may_pass(place):
            passed = overload.Passed(0, on=False)
        place.passing = passed.on
        place.read_from(place.head)
        if passed.messages:
            self.came -= passed.messages
            place.head = _offset(some[passed.messages - 1]) + 1
            if place.drops:
                self._drop(place, passed.messages)
            place.read_from(place.head)
        kept = some[passed.messages :]
        if kept:
            place.head = _offset(kept[-1]) + 1
        return kept

    def _may_pass(self, place: Place) -> bool:
        """Whether there is room for what would be set aside; others that read the same are not made to wait for it."""
        if place.drops:
            return True
        alone = len(self._readers.at(place.where)) == 1 and not self._readers.follows(place.where)
        return alone and (place.head > place.ahead.top or not place.ahead.full)

    def _drop(self, place: Place, count: int) -> None:
        place.passed(place.head)
        place.dropped += count
        now = time.monotonic()
        if now >= self._told + TOLD:
            self._told = now
            _log.warning(
                "%s: late records are left out, because policy.drop is true; %d so far", place.partition, place.dropped
            )

    def _put_off(self) -> None:
        """One partition less to be on time, if they all can't be. Of none is anything in our hands now."""
        now = self._clock()
        remaining = self._choice()
        lately = now - overload.PAUSE * self._bound / 1000
        ages = {
            where: self._ages[where][0]
            for where in remaining
            if self._ages.get(where, _NEVER)[1] >= lately and self._can_wait(where)
        }
        self._least = min(self._least, max(ages.values(), default=math.inf))
        since = (now - self._since) * 1000 / self._bound
        victim = overload.put_off(ages, len(remaining), since, self._least)
        if victim is not None:
            self._since, self._least = now, math.inf
            self._off[victim] = round(now * 1000 - ages[victim] * self._bound)
            self._readers.put_off(victim)

    def _choice(self) -> list[Where]:
        """What is not put off, and may be: of who reads streams, no edge; with its rows late, all records are."""
        remaining = [where for where in self._readers.places() if where not in self._off]
        streams = [where for where in remaining if self._holding.holds(where)]
        return streams if any(map(self._can_wait, streams)) else remaining

    def _can_wait(self, where: Where) -> bool:
        return not self._readers.follows(where) and not any(place.skips for place in self._readers.at(where))

    def _bring_back(self, where: Where) -> None:
        self._forget(where)
        self._readers.bring_back(where)

    def _forget(self, where: Where) -> None:
        del self._off[where]
        self._turn = None if self._turn == where else self._turn
        self._ages.pop(where, None)

    # The late lane.

    def _aim(self) -> bool:
        """Have the late lane read what waits; whether anything does."""
        places = self._readers.places()
        for where in self._off.keys() - set(places):
            self._forget(where)
        waits = bool(self._off)
        if waits:
            turn = max(self._off, key=lambda where: (self._off[where], where))
            if turn != self._turn:
                self._turn, self._heard = turn, self._clock()
                self._readers.turn_to(turn)
        for where in places:
            for place in self._readers.at(where):
                if place.gap is not None:
                    waits = True
                    self._readers.also_from(where, place.next)
        return waits

    def _late(self, seconds: float, most: int, room: float) -> Found:
        found = self._taken(self._readers.late, seconds, most, room)
        self._turn_is_late = bool(found)
        now = self._clock()
        if self._turn in found or self._turn not in self._off:
            self._heard = now
        elif now - self._heard > overload.PAUSE * self._bound / 1000:
            self._back.append(self._turn)  # at its end, so nothing would ever tell that it has caught up
        for where, some in found.items():
            if where in self._off:
                self._off[where] = some[0].timestamp()[1]
                if overload.comes_back(self._age(some[0])):
                    self._back.append(where)
        return found

    def _of_gap(self, place: Place, some: list[Message]) -> list[Message]:
        """What belongs to the gap. With the last of it, or the first message beyond it, it is closed."""
        gap = place.gap
        if gap is None:
            return []
        start, stop = gap
        kept = [message for message in some if start <= _offset(message) < stop]
        place.read_from(start)
        if _offset(some[-1]) + 1 >= stop:
            self._readers.no_more(place.where)
            place.close_gap(_offset(kept[-1]) + 1 if kept else start, stop)
        return kept

    def _age(self, message: Message) -> float:
        """In bounds; of what has no time, as if it had just come."""
        kind, at = message.timestamp()
        return 0.0 if kind == TIMESTAMP_NOT_AVAILABLE else (self._clock() * 1000 - at) / self._bound


_NEVER = (0.0, -1e18)


def _offset(message: Message) -> int:
    return message.offset() or 0
