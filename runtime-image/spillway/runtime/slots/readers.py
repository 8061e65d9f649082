"""Who in a slot reads what: one consumer for all partitions and for the tables that are followed beside them.

Two programs may read the same topic, and a table may be the stream of another program. They share what is fetched, from
the lowest position of all; each leaves out what it has had.
"""

from __future__ import annotations

from confluent_kafka import Message

from spillway.runtime.clients import Access
from spillway.runtime.intake import Intake
from spillway.runtime.slots.place import Place
from spillway.runtime.slots.replicas import Replicas

Where = tuple[str, int]


class Readers:
    """The places and the replicas that read, by topic and partition."""

    def __init__(self, access: Access, group: str) -> None:
        self.intake = Intake(access, group)
        self._places: dict[Where, list[Place]] = {}
        self._followers: dict[Where, list[Replicas]] = {}
        self._followed: set[str] = set()  # programs whose replicas are followed

    def poll(self, seconds: float, most: int) -> dict[Where, list[Message]]:
        """What has come, by topic and partition."""
        return self.intake.poll(seconds, most)

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
        self.intake.take(*place.where, place.next)

    def add_replicas(self, program: str, replicas: Replicas) -> None:
        """From now on updates of a program's replicas come with all other messages."""
        if program in self._followed:
            return
        self._followed.add(program)
        for where, at in replicas.next.items():
            self._followers.setdefault(where, []).append(replicas)
            self.intake.take(*where, at)

    def leave(self, place: Place) -> None:
        """A place reads no more; nor do we, unless somebody else here does."""
        readers = self._places[place.where]
        readers.remove(place)
        if not readers:
            del self._places[place.where]
            if place.where not in self._followers:
                self.intake.drop(*place.where)

    def close(self) -> None:
        """Read nothing any more."""
        self.intake.close()
