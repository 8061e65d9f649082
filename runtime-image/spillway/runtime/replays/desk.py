"""The topic of dead letters, read and written: what is open, and what becomes of it.

Who began a replay finds it again by its id, by reading on: what stands in the log before it has the letters first.

The committed position of the group `<namespace>.<job>.dead` is the first letter that is open, so ordinary tools show
how many there are at the most, and nobody reads what is done with.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spillway.controllers.protocol import messages
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError, TerminalError
from spillway.runtime import admin, clients, control, frames, functions, letters, scans
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter
from spillway.runtime.frames import FrameError
from spillway.runtime.letters import Dismissed, Letter, LetterError, Replay, Settled
from spillway.runtime.programs.program import Port, Program
from spillway.runtime.replays import routes
from spillway.runtime.replays.ledger import Ledger, chunks
from spillway.runtime.replays.routes import Route
from spillway.runtime.replays.works import Works
from spillway.runtime.slots import library

# Seconds for what was sent to arrive.
PATIENCE = 30.0
FINDING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._WAIT_COORD,  # noqa: SLF001 - so it is called
)


class NeverRanError(TerminalError):
    """The job has no plan yet, so it can't have processed anything."""


class Outcome(NamedTuple):
    """What a replay did.

    Attributes:
        replayed: offsets of the letters that went back.
        failed: how many rows failed again, each with a new letter.
        back: those that could not, with the reason.
    """

    replayed: tuple[int, ...]
    failed: int
    back: tuple[tuple[int, str], ...]


class Desk:
    """Reads and writes the topic of dead letters of one job, beside the job."""

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._group = f"{names.prefix}dead"
        self._reader: Consumer = clients.restorer(access, self._group)
        self._emitter: Emitter | None = None
        self.ledger = Ledger()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def read(self) -> Ledger:
        """Everything that the topic has up to now, from the first letter on that may be open."""
        low, high = scans.ends(self._reader, self._names.dead)
        if self.ledger.next == 0:
            known = self._committed()
            self.ledger.next = known if low <= known <= high else low  # the topic may have been made anew
        for message in scans.between(self._reader, self._names.dead, 0, self.ledger.next, high):
            self.ledger.read(message.offset() or 0, message.timestamp()[1], message.value())
        return self.ledger

    def letters(self, offsets: Sequence[int]) -> Iterator[tuple[int, Letter]]:
        """The letters at these offsets, in their order; what can't be read is left out."""
        wanted = frozenset(offsets)
        if not wanted:
            return
        for message in scans.between(self._reader, self._names.dead, 0, min(wanted), max(wanted) + 1):
            offset = message.offset() or 0
            if offset in wanted:
                try:
                    found = letters.decode(message.value() or b"")
                except LetterError:
                    continue
                if isinstance(found, Letter):
                    yield offset, found

    def dismiss(self, offsets: Sequence[int]) -> None:
        """Nobody needs these letters any more."""
        for chunk in chunks(offsets):
            self._append(letters.write(Dismissed(letters.VERSION, chunk)))
        self._done()

    def plan(self) -> messages.Plan:
        """What the job runs now, or ran last; raises RetryError while its programs change."""
        log = control.ControlLog(self._access, self._names)
        try:
            state = log.restored()
        except KafkaException as error:
            message = f"the control log {self._names.control!r} can't be read: {error.args[0].str()}"
            raise RetryError(message) from None
        finally:
            log.close()
        plan = state.plan
        if plan is None:
            message = f"the control log {self._names.control!r} has no plan: this job has never run"
            raise NeverRanError(message)
        new = {segment.program for segment in plan.segments}
        old = sorted({str(where) for where, holding in state.holdings.items() if holding.program not in new})
        if old:
            message = (
                f"the job is changing: partitions such as {old[0]} ({len(old)} in all) run programs of an older plan,"
                " which may read other rows; try again when they have changed"
            )
            raise RetryError(message)
        return plan

    def routes(self, offsets: Sequence[int], plan: messages.Plan) -> list[tuple[int, Route]]:
        """What can be done with each of these letters; what is no letter is left out."""
        programs = library.programs(plan)
        return [(offset, routes.route(letter, programs)) for offset, letter in self.letters(offsets)]

    def replay(self, offsets: Sequence[int], plan: messages.Plan, load: Callable[[str], functions.Function]) -> Outcome:
        """Put these letters back, after what earlier replays have left."""
        identity = admin.present(clients.admin(self._access), [self._names.dead])[self._names.dead].identity
        works = Works(self._names, plan.width, identity, load, self._fill)
        programs = library.programs(plan)
        self.read()
        whole = [self._run(at, works, programs) for at in sorted(self.ledger.replays)]
        for chunk in chunks(offsets):
            for _, letter in self.letters(chunk):
                works.prepare(routes.route(letter, programs))
            name = str(uuid.uuid4())
            self._append(letters.write(Replay(letters.VERSION, name, chunk)))
            self.read()
            mine = self.ledger.ids[name]
            whole += [self._run(at, works, programs) for at in sorted(self.ledger.replays) if at <= mine]
        self._done()
        return Outcome(
            tuple(offset for one in whole for offset in one.replayed),
            sum(one.failed for one in whole),
            tuple(pair for one in whole for pair in one.back),
        )

    def _run(self, at: int, works: Works, programs: Sequence[Program]) -> Outcome:
        """Do what a replay says; once all of it has arrived, it is settled."""
        claim = self.ledger.replays[at]
        now = time.time_ns() // 1_000_000
        replayed: list[int] = []
        back: list[tuple[int, str]] = []
        failed = 0
        # By its place in the log, not by what can be read or put back: the same one has the same position for ever.
        numbers = {offset: number for number, offset in enumerate(sorted(claim))}
        for offset, letter in self.letters(list(claim)):
            route = routes.route(letter, programs)
            try:
                sends = works.again(letter, offset, route, frames.Position(at, numbers.pop(offset)), now)
            except (LetterError, FrameError) as error:
                back.append((offset, str(error)))
                continue
            for send in sends:
                self._send(*send)
            failed += sum(send.topic == self._names.dead for send in sends)
            replayed.append(offset)
        back += [(offset, "it is no letter that can be read") for offset in numbers]
        self._flush()
        self._append(letters.write(Settled(letters.VERSION, at, tuple(offset for offset, _ in back))))
        return Outcome(tuple(replayed), failed, tuple(back))

    def _fill(self, port: Port, run: Callable[[list[Any]], None]) -> None:
        """All rows of a broadcast table; by another reader, for this one may be amid a scan."""
        assert port.source is not None  # noqa: S101 - a table has a topic
        topic = port.source.topic
        reader = clients.restorer(self._access, self._group)
        try:
            for partition in range(scans.partitions(reader, topic)):
                low, high = scans.ends(reader, topic, partition)
                run(list(scans.between(reader, topic, partition, low, high)))
        finally:
            reader.close()

    def _committed(self) -> int:
        at = [TopicPartition(self._names.dead, 0)]
        (known,) = _answered(lambda: self._reader.committed(at, timeout=scans.PATIENCE))
        return max(0, int(known.offset))

    def _done(self) -> None:
        """Remember up to where nothing is open."""
        first = self.read().first
        at = [TopicPartition(self._names.dead, 0, first)]
        _answered(lambda: self._reader.commit(offsets=at, asynchronous=False))

    def _append(self, data: bytes) -> None:
        self._send(self._names.dead, 0, None, data)
        self._flush()

    def _send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        if self._emitter is None:
            self._emitter = Emitter(self._access)
        self._emitter.send(topic, partition, key, value)

    def _flush(self) -> None:
        if self._emitter is not None and not self._emitter.flush(PATIENCE):
            message = f"Kafka did not take all that was sent within {PATIENCE:.0f} s; run the replay again, it goes on"
            raise RetryError(message)


def _answered(call: Callable[[], Any]) -> Any:
    """Ask the coordinator of the group; a new cluster first has to find one, and says so for a second or two."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in FINDING or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
