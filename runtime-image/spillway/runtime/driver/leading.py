"""The leader of a job with its hands: it reads the control log, does what is due, and keeps the log short."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from spillway.controllers.protocol import effects, knowledge, leader, log, messages
from spillway.controllers.protocol.values import Owner, Partition, ProtocolError
from spillway.controllers.topics import Names
from spillway.runtime import admin, clients, commits, control, failpoints
from spillway.runtime.clients import Access
from spillway.runtime.control import ControlLog
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.positions import Positions
from spillway.runtime.emitter import Emitter

# Messages from one snapshot to the next. Whoever starts reads at the most twice as many, in some hundredths of a
# second; more often, and most of the log would be snapshots, each of which has all holdings.
SNAPSHOT = 500
FLUSH = 2.0  # seconds to send what is on its way at the end; a driver that comes next repeats what is lost

# Points to stop at of messages that a driver writes whenever it has something to do.
_WRITTEN: dict[type[messages.Any], failpoints.Driver | failpoints.Engine] = {
    messages.Lead: "Lead written",
    messages.Plan: "Plan written",
    messages.Fenced: "Fenced written",
    messages.Prepare: "Prepare written",
    messages.Release: "Release written",
    messages.Assign: "Assign written",
    messages.Prepared: "Prepared written",  # of the batch engine, as the next three
    messages.Released: "Released written",
    messages.Intent: "Intent written",
    messages.Done: "Done written",
}

_log = logging.getLogger(__name__)


class Counted(NamedTuple):
    """A message of the log, and what the log said ahead of it; `counts` is whether it changed anything."""

    before: log.State
    message: messages.Any
    counts: bool


class Leading:
    """One driver's part in the protocol."""

    def __init__(self, access: Access, names: Names, driver: str, hands: Hands) -> None:
        """`driver` is one life of a driver, unlike any other."""
        self._access, self._names, self._hands = access, names, hands
        self._log = ControlLog(access, names)
        self._emitter = Emitter(access)
        self._positions = Positions(access, names)
        self._admin: AdminClient = clients.admin(access)
        self._inputs: Callable[[Partition], str] = lambda _: ""
        self._unsaved = 0
        self.me = knowledge.Leader(driver, limit=1)

    @property
    def state(self) -> log.State:
        """What the log says."""
        return self.me.log

    @property
    def positions(self) -> Positions:
        """Who asks brokers for positions."""
        return self._positions

    def begin(self, inputs: Callable[[Partition], str], ready: Callable[[int], None]) -> None:
        """Read the log to its end, and ask to lead.

        `inputs` says which topic a partition is of; `ready` is told the number before anybody else can know of it.
        """
        self._inputs = inputs
        self.me = dataclasses.replace(self.me, log=self._log.restored())
        self._unsaved = min(self._log.next, SNAPSHOT)
        self.me, asked = leader.lead(self.me)
        ready(self.me.asked)
        self._carry_out(asked)

    def hear(self, seconds: float) -> Iterator[Counted]:
        """The next messages; waits for the first one for so long."""
        for offset, message in self._log.read(seconds):
            before = self.me.log
            self.me, counts = knowledge.read(self.me, message)
            if counts and isinstance(message, messages.Lead) and self.me.leads:
                failpoints.reached("led")
            self._unsaved += 1
            if isinstance(message, messages.Snapshot) and self.me.leads:
                self._trim(min(message.upto, offset))
            yield Counted(before, message, counts)
        self._emitter.serve()

    def tell(self, change: Callable[[knowledge.Leader], knowledge.Leader]) -> None:
        """Something is known now."""
        self.me = change(self.me)

    def due(self) -> None:
        """Do what is due."""
        self.me, asked = leader.due(self.me)
        self._carry_out(asked)
        if self.me.leads and self._unsaved >= SNAPSHOT:
            self._save()

    def write(self, message: messages.Any) -> None:
        """Append a message that the protocol leaves to us; it is known to be under way until it is read back."""
        append = effects.Append(message)
        self.me = dataclasses.replace(self.me, pending=self.me.pending | {append})
        self._carry_out([append])

    def unsettled(self) -> frozenset[Partition]:
        """Partitions of which something was written that wasn't read back yet."""
        said = (effect.message for effect in self.me.pending if isinstance(effect, effects.Append))
        return frozenset(place for message in said if (place := getattr(message, "partition", None)) is not None)

    def is_written(self, kind: type[messages.Any]) -> bool:
        """Whether a message of this kind is under way."""
        said = (effect.message for effect in self.me.pending if isinstance(effect, effects.Append))
        return any(isinstance(message, kind) for message in said)

    def send(self, topic: str, value: bytes) -> None:
        """Send to another topic of the job, with one partition."""
        self._emitter.send(topic, 0, None, value)

    def close(self) -> None:
        """Send what is on its way, and read no more."""
        self._emitter.flush(FLUSH)
        self._log.close()

    def _carry_out(self, asked: Iterable[effects.Any]) -> None:
        """All effects, in their order; positions of one segment are asked for at once."""
        unread: list[Partition] = []
        for effect in asked:
            match effect:
                case effects.Append(message):
                    self._emitter.send(*control.record(self._names, message))
                    if point := _WRITTEN.get(type(message)):
                        failpoints.reached(point)
                case effects.Fence(owner):
                    identity = commits.identity(self._names.prefix, owner.slot, owner.incarnation)
                    _log.info("fences %s", owner)
                    self._hands.do(
                        lambda identity=identity: commits.fence(self._access, identity),  # type: ignore[misc]
                        lambda _, owner=owner: self._fenced(owner),  # type: ignore[misc]
                    )
                case effects.ReadCommitted(place):
                    unread.append(place)
        for segment, places in itertools.groupby(sorted(unread), key=lambda place: place.segment):
            self._read_committed(segment, list(places))

    def _fenced(self, owner: Owner) -> None:
        failpoints.reached("fenced")
        self.tell(lambda me: knowledge.fenced(me, owner))

    def _read_committed(self, segment: str, places: list[Partition]) -> None:
        holdings = self.me.log.holdings
        starts = {place.number: holdings[place].start if place in holdings else None for place in places}
        topic = self._inputs(places[0])

        def told(found: dict[Partition, int]) -> None:
            failpoints.reached("positions read")
            for place, position in found.items():
                self.tell(lambda me, place=place, position=position: knowledge.committed(me, place, position))  # type: ignore[misc]

        self._hands.do(lambda: self._positions.committed(segment, topic, starts), told)

    def _save(self) -> None:
        """Write what the log says; once that is read back, what it covers is deleted."""
        self._unsaved = 0
        try:
            self._emitter.send(*control.record(self._names, log.snapshot(self.me.log, self._log.next)))
        except ProtocolError as error:
            _log.warning("the control log can't be shortened: %s", error)

    def _trim(self, upto: int) -> None:
        self._unsaved = 0
        self._hands.do(
            lambda: admin.trim(self._admin, {(self._names.control, 0): upto}),
            lambda _: None,
            lambda error: _log.warning("%s", error),
        )
