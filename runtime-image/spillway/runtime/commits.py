"""Commits: changes of tables and input positions in one Kafka transaction, so that both are there or neither.

A transaction belongs to an identity: one incarnation of one slot. Whoever takes over from it fences that identity
(`fence`) before reading what it has committed; from there on its commits are refused. When a commit is refused, or
nobody can tell what became of it, the incarnation is over (`GoneError`): it drops what it has and comes back as a new
one, which is taken over from as from any dead one. To go on under the same identity would undo the fence.

Commits are kept apart by `APART`: back to back the next transaction waits for the markers of the last one, for 104 ms
instead of 9 ms.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spillway.controllers.ahead import Stretch, read
from spillway.model.errors import SpillwayError
from spillway.runtime import clients, failpoints
from spillway.runtime.clients import Access

# Seconds from the end of one commit to the start of the next: from 10 ms on, half of them took 8.5 ms.
APART = 0.01
# Seconds for one call to the broker. A broker that restarts is back in less; beyond, the slot is taken over anyway.
PATIENCE = 30.0
# What a coordinator answers that is not one yet, or not any more.
ELSEWHERE = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
AGAIN = 0.1  # seconds until it is asked again
# Rows handed to the client between two looks at what it has to say; its queue is bounded.
AT_ONCE = 1_000


class GoneError(SpillwayError):
    """This incarnation is over: fenced, or the outcome of a commit is unknown. What it has must be dropped."""


class Change(NamedTuple):
    """A row of a changelog, where no value deletes it; or an output, which may have no key."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None


class Position(NamedTuple):
    """The next record of an input partition to be read, and the consumer group that remembers it.

    `note` is kept beside it: what of the partition is done ahead (`controllers.ahead`).
    """

    group: str
    topic: str
    partition: int
    offset: int
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """What a commit stores: everything up to one record boundary."""

    changes: Sequence[Change]
    positions: Sequence[Position]


class Committer:
    """Commits snapshots, one at a time, under one identity. Blocks; runs beside the loop, never in it."""

    def __init__(self, access: Access, identity: str, batch: int = clients.BATCH) -> None:
        """Fences whoever had this identity, and ends what it left open; `batch`: see `clients.emitter`."""
        self._access, self._identity = access, identity
        self._producer = clients.committer(access, identity, batch=batch)
        self._groups: dict[str, Any] = {}
        self._next = 0.0
        self._ask(lambda: self._producer.init_transactions(PATIENCE), "its first transaction")

    def commit(self, snapshot: Snapshot) -> None:
        """Store a snapshot, or raise `GoneError`.

        Readers of committed records see it some milliseconds later: once each partition has its marker.
        """
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._ask(self._producer.begin_transaction, "a transaction")
        failpoints.reached("transaction begun")
        try:
            self._send(snapshot)
        except KafkaException as error:
            raise self._gone(error, "the changes") from None
        self._ask(lambda: self._producer.commit_transaction(PATIENCE), "a commit")
        failpoints.reached("committed")
        self._next = time.monotonic() + APART

    def _send(self, snapshot: Snapshot) -> None:
        for number, change in enumerate(snapshot.changes, 1):
            while True:
                try:
                    self._producer.produce(change.topic, change.value, change.key, change.partition)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            if not number % AT_ONCE:
                self._producer.poll(0)
        failpoints.reached("rows sent")
        by_group: dict[str, list[TopicPartition]] = {}
        for group, *at in snapshot.positions:
            by_group.setdefault(group, []).append(TopicPartition(*at))
        for group, found in by_group.items():
            send = functools.partial(self._producer.send_offsets_to_transaction, found, self._group(group), PATIENCE)
            self._ask(send, "the positions")
        failpoints.reached("positions sent")

    def _group(self, name: str) -> Any:
        """What a transaction has to know of a consumer group; only a consumer can tell, which never asks a broker."""
        if name not in self._groups:
            reader = clients.reader(self._access, name)
            self._groups[name] = reader.consumer_group_metadata()
            reader.close()
        return self._groups[name]

    def _ask(self, call: Callable[[], object], what: str) -> None:
        """Call the broker again as long as it says that this is safe, within `PATIENCE`."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                call()
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise self._gone(error, what) from None
            else:
                return

    def _gone(self, error: KafkaException, what: str) -> GoneError:
        return GoneError(f"{self._identity}: {what} came to nothing, or nobody knows: {error.args[0].str()}")


def fence(access: Access, identity: str) -> None:
    """Let no commit of this identity succeed any more, and end what it left open."""
    producer = clients.committer(access, identity)
    try:
        producer.init_transactions(PATIENCE)
    except KafkaException as error:
        message = f"{identity} could not be fenced: {error.args[0].str()}"
        raise GoneError(message) from None


def committed(consumer: Consumer, inputs: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Where committed positions are; waits for transactions that are being ended. Without one: nothing is said."""
    return {(at.topic, at.partition): at.offset for at in _known(consumer, inputs)}


def ahead(consumer: Consumer, inputs: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[Stretch, ...]]:
    """What is committed as done ahead of these positions, where anything is."""
    found = {(at.topic, at.partition): read(at.offset, at.metadata) for at in _known(consumer, inputs)}
    return {where: done for where, done in found.items() if done}


def _known(consumer: Consumer, inputs: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    asked = [TopicPartition(topic, partition) for topic, partition in inputs]
    return [at for at in _when_there(lambda: consumer.committed(asked, timeout=PATIENCE)) if at.offset >= 0]


def _when_there(ask: Callable[[], list[TopicPartition]]) -> list[TopicPartition]:
    """The answer; a broker that has just begun may send us to another coordinator for some moments."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in ELSEWHERE or time.monotonic() > deadline:
                raise
            time.sleep(AGAIN)


def identity(prefix: str, slot: str, incarnation: int) -> str:
    """The transactional id of one incarnation of a slot."""
    return f"{prefix}{slot}.{incarnation}"
