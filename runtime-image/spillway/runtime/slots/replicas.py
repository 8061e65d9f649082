"""Tables that every owner has whole: read from their topics, once for all partitions of a program in a slot.

Nobody stores them: a slot that starts reads the topic from its beginning, before the first record that looks a row up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer

from spillway.controllers.protocol.values import Reach
from spillway.runtime import clients, scans
from spillway.runtime.clients import Access
from spillway.runtime.commits import GoneError
from spillway.runtime.programs import states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.tables.lookup_join import Replica

PATIENCE = 30.0


class Replicas:
    """The replicas of one program.

    Attributes:
        tables: by the name of the join that looks rows up.
        next: by topic and partition, the offset of the next message.
    """

    def __init__(self, loop: Loop) -> None:
        program = loop.program
        self.tables: dict[str, Replica] = {
            state.name: states.replica(state) for state in program.states if state.broadcast
        }
        # Decoding is the program's own, so a binding of its own updates them, and no partition's counts know of it.
        made = {state.name: states.made(state, self.tables.get(state.name)) for state in program.states}
        self._running = loop.bind(made)
        self._states = program.states
        self._labels: dict[str, list[str]] = {}
        for port in program.ports:
            if port.broadcast and port.source is not None:
                self._labels.setdefault(port.source.topic, []).append(port.label)
        self.next: dict[tuple[str, int], int] = {}

    def states(self) -> dict[str, Any]:
        """Table objects for a partition of the program, on these replicas."""
        return {state.name: states.made(state, self.tables.get(state.name)) for state in self._states}

    def follow(self, topic: str, partition: int, messages: list[Any]) -> None:
        """Messages of one partition of a topic, in order; those that it has already are left out."""
        at = self.next[topic, partition]
        if messages[0].offset() < at:
            messages = [message for message in messages if message.offset() >= at]
        if messages:
            self.take(topic, partition, messages)

    def take(self, topic: str, partition: int, messages: list[Any]) -> None:
        """Messages of one partition of a topic, in order."""
        for label in self._labels[topic]:
            self._running.run[label](messages)
        self.next[topic, partition] = messages[-1].offset() + 1
        self._running.letters.clear()  # whoever reads the same topic as its input writes them

    def load(self, access: Access, group: str) -> None:
        """Read all of them to their ends; takes as long as that takes."""
        consumer = clients.restorer(access, group)
        try:
            for place, messages, at in scans.whole(consumer, list(_places(consumer, self._labels))):
                if messages:
                    self.take(*place, messages)
                self.next[place] = at
        finally:
            consumer.close()

    def upto(self, consumer: Consumer, reaches: Iterable[Reach]) -> bool:
        """Read on to just these positions; False if one of them was passed already."""
        for topic, partition, stop in reaches:
            start = self.next.get((topic, partition), OFFSET_BEGINNING)
            if start > stop:
                return False
            for message in scans.between(consumer, topic, partition, start, stop):
                self.take(topic, partition, [message])
            self.next[topic, partition] = stop
        return True


def _places(consumer: Any, topics: Iterable[str]) -> Iterable[tuple[str, int]]:
    for topic in topics:
        found = consumer.list_topics(topic, timeout=PATIENCE).topics[topic]
        if found.error is not None:
            message = f"topic {topic!r} can't be read: {found.error.str()}"
            raise GoneError(message)
        yield from ((topic, partition) for partition in found.partitions)
