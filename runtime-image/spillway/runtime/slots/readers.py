"""Who in a slot reads what: one consumer for all partitions and for the tables that are followed beside them.

Two programs may read the same topic, and a table may be the stream of another program. They share what is fetched, from
the lowest position of all; each leaves out what it has had.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Message

from spillway.runtime.clients import Access
from spillway.runtime.intake import Intake
from spillway.runtime.slots.ends import Ends
from spillway.runtime.slots.place import Place
from spillway.runtime.slots.replicas import Replicas

Where = tuple[str, int]


class Readers:
    """The places and the replicas that read, by topic and partition."""

    def __init__(self, access: Access, group: str) -> None:
        self.intake = Intake(access, group)
        self._access, self._group = access, group
        self._late: Intake | None = None
        self._ends = Ends(access)
        self._put_off: dict[Where, int] = {}  # and where to read on
        self._places: dict[Where, list[Place]] = {}
        self._followers: dict[Where, list[Replicas]] = {}
        self._followed: set[str] = set()  # programs whose replicas are followed

    @property
    def late(self) -> Intake:
        """A second consumer, for what waits until nothing else does: made when it is needed first."""
        if self._late is None:
            self._late = Intake(self._access, self._group)
        return self._late

    def lost(self) -> dict[Where, str]:
        """What can't be read any more, and why; each is told once."""
        found: dict[Where, str] = {}
        for intake in (self.intake, self._late):
            if intake is not None and intake.lost:
                found, intake.lost = {**found, **intake.lost}, {}
        return found

    def end(self, where: Where) -> int | None:
        """Where the log ends, as far as the last answer told."""
        late = self._late.end(*where) if self._late is not None else None
        told = [end for end in (self.intake.end(*where), late, self._ends.end(where)) if end is not None]
        return max(told, default=None)

    def at(self, where: Where) -> tuple[Place, ...]:
        """The places that read there."""
        return tuple(self._places.get(where, ()))

    def all(self) -> tuple[Where, ...]:
        """Everything that somebody reads."""
        return (*self._places, *self._followers)

    def follows(self, where: Where) -> bool:
        """Whether a table is followed there."""
        return where in self._followers

    def follow(self, where: Where, messages: list[Message]) -> None:
        """Updates of the tables that are followed there."""
        for replicas in self._followers.get(where, ()):
            replicas.follow(*where, messages)

    def add(self, place: Place) -> None:
        """A place reads from where it stands."""
        self._places.setdefault(place.where, []).append(place)
        at = place.head if place.skips else place.next
        place.read_from(at)
        self.intake.take(*place.where, at)

    def add_replicas(self, program: str, replicas: Replicas) -> None:
        """From now on updates of a program's replicas come with all other messages."""
        if program in self._followed:
            return
        self._followed.add(program)
        for where, at in replicas.next.items():
            self._followers.setdefault(where, []).append(replicas)
            self.intake.take(*where, at)

    def places(self) -> tuple[Where, ...]:
        """Where places read."""
        return tuple(self._places)

    def hold(self, wanted: Iterable[Where]) -> None:
        """The first consumer takes nothing of these for now; where they end is known all the same."""
        self.intake.hold(wanted)
        self._ends.look(self.intake.held)

    def go_on(self) -> None:
        """It takes everything again."""
        self.intake.go_on(self.intake.held)

    def put_off(self, where: Where) -> None:
        """It is not read for now."""
        if (at := self.intake.drop(*where)) is not None:
            self._put_off[where] = at

    def turn_to(self, where: Where) -> None:
        """Of what is put off, the late consumer reads this, and nothing else."""
        for other in [one for one in self._put_off if one != where and self.late.reads(*one)]:
            if (at := self.late.drop(*other)) is not None:
                self._put_off[other] = at
        if where in self._put_off and not self.late.reads(*where):
            self.late.take(*where, self._put_off[where])

    def bring_back(self, where: Where) -> None:
        """From the next message on, it is read by the first consumer again."""
        at = self._put_off.pop(where, None)
        if at is not None:
            self.intake.take(*where, max(at, self.late.drop(*where) or 0))

    def also_from(self, where: Where, offset: int) -> None:
        """The late consumer reads there too, from an offset on, or from further back."""
        self.late.take(*where, offset)

    def no_more(self, where: Where) -> None:
        """The late consumer does not read there any more."""
        if self._late is not None:
            self._late.drop(*where)

    def again(self, place: Place) -> None:
        """The first consumer reads all that a place has not processed, if it reads there at all."""
        self.no_more(place.where)
        if place in self.at(place.where):
            place.read_from(place.next)
            self.intake.take(*place.where, place.next)

    def leave(self, place: Place) -> None:
        """A place reads no more; nor do we, unless somebody else here does."""
        readers = self._places[place.where]
        readers.remove(place)
        if place.where not in self._put_off:
            self.no_more(place.where)  # it was for this place, or is taken up again by another
        if not readers:
            del self._places[place.where]
            self.no_more(place.where)
            self._put_off.pop(place.where, None)
            self._ends.forget(place.where)
            if place.where not in self._followers:
                self.intake.drop(*place.where)

    def close(self) -> None:
        """Read nothing any more."""
        self.intake.close()
        if self._late is not None:
            self._late.close()
