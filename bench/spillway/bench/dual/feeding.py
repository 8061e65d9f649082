"""Who sends: what is due, as it is due; or whole topics that can be read from one moment on. In its own processes."""

from __future__ import annotations

import dataclasses
import multiprocessing
import multiprocessing.synchronize
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Self

from confluent_kafka import KafkaException, Producer

from spillway.bench.dual.loads import Load
from spillway.bench.record import logs, schedule
from spillway.bench.record.schedule import Lateness
from spillway.bench.workloads.work import Messages, milli

# Seconds. What is due within one is sent together, so a message is late by up to so much: less than half of what makes
# a run void. To sleep for each alone takes a core at ten thousand a second, and the system under test needs it.
SLICE = 0.002
AHEAD = 1.5  # seconds that a process takes until it can send
OPEN = 300_000  # milliseconds that a transaction may stay open: fills take seconds
SETTINGS: logs.Settings = {"linger.ms": 1, "queue.buffering.max.messages": 1_000_000}

_stop: multiprocessing.synchronize.Event | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """What became of a load.

    Attributes:
        late: how late messages were sent.
        count: messages that were sent: all, unless somebody asked for the end.
        cpu: seconds of processor time of who sent.
    """

    late: Lateness
    count: int
    cpu: float


class Feeder:
    """A process that sends: nothing of it runs in the process that looks."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._event = context.Event()
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(self._event,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._pool.shutdown()

    def pace(self, bootstrap: str, topics: Sequence[str], work: Messages, load: Load) -> Future[Sent]:
        """Send a load as it is due."""
        self._event.clear()
        return self._pool.submit(pace, bootstrap, topics, work, load)

    def fill(
        self, bootstrap: str, topics: Sequence[str], work: Messages, first: int, count: int, start: float
    ) -> Future[float]:
        """Write messages that all can be read at once; when they could be, in seconds since 1970."""
        self._event.clear()
        return self._pool.submit(fill, bootstrap, topics, work, first, count, start)

    def stop(self) -> None:
        """What is not sent yet, never is."""
        self._event.set()


def _begin(event: multiprocessing.synchronize.Event) -> None:
    global _stop
    _stop = event
    schedule.go_first()


def pace(bootstrap: str, topics: Sequence[str], work: Messages, load: Load) -> Sent:
    """Send a load as it is due; how that went."""
    dues, began = load.dues(), time.process_time()
    work.message(0, 0.0)  # renders
    client = logs.producer(bootstrap, SETTINGS)
    send, turn = _sender(client, topics, load.first)
    offset = time.monotonic() - time.time()  # by the clock that nobody sets
    at, late, sent = dues.tolist(), [], 0
    with schedule.precedence():
        while sent < len(at) and not (_stop is not None and _stop.is_set()):
            now = time.monotonic() - offset
            if at[sent] > now:
                time.sleep(min(0.2, max(at[sent] - now, SLICE)))
                now = time.monotonic() - offset
            turn()
            while sent < len(at) and at[sent] <= now:
                send(work.message(load.first + sent, at[sent]), at[sent])
                late.append(now - at[sent])
                sent += 1
            client.poll(0)
    _flushed(client)
    return Sent(schedule.lateness(late), sent, time.process_time() - began)


def fill(bootstrap: str, topics: Sequence[str], work: Messages, first: int, count: int, start: float) -> float:
    """Write messages, one for each millisecond from `start` on; when they could be read, in seconds since 1970.

    In one transaction: nobody sees any of them until all are there, so nothing has to be stopped meanwhile.
    """
    settings: logs.Settings = {
        "linger.ms": 20,
        "compression.type": "lz4",
        "batch.size": 262_144,
        "transaction.timeout.ms": OPEN,
    }
    client = logs.producer(bootstrap, {**settings, "transactional.id": f"fill-{uuid.uuid4()}"})
    client.init_transactions(logs.PATIENCE)
    client.begin_transaction()
    send, turn = _sender(client, topics, first)
    for number in range(first, first + count):
        due = start + (number - first) / 1000
        turn()
        send(work.message(number, due), due)
    _flushed(client)
    at = time.time()
    client.commit_transaction(logs.PATIENCE)
    return at


def _sender(
    client: Producer, topics: Sequence[str], first: int
) -> tuple[Callable[[tuple[int, bytes], float], None], Callable[[], None]]:
    """What sends a message to the topic of its stream, and what turns to the next partition of each.

    All messages of a slice go to one partition, as producers do it by themselves: with each to the next one, a slice
    was a request for each partition, and 9000 messages a second took half a core here and as much of the broker.
    """
    # Asked now: the first message must not wait for that.
    known = [len(client.list_topics(topic, timeout=logs.PATIENCE).topics[topic].partitions) for topic in topics]
    number = first

    def turn() -> None:
        nonlocal number
        number += 1

    def send(message: tuple[int, bytes], due: float) -> None:
        stream, value = message
        partition, at = number % known[stream], milli(due)
        while True:
            try:
                client.produce(topics[stream], value, partition=partition, timestamp=at)
            except BufferError:
                client.poll(0.1)
            except KafkaException as error:  # its class can't be sent to another process
                what = f"the broker did not take a message: {error}"
                raise logs.NotTakenError(what) from None
            else:
                return

    return send, turn


def _flushed(client: Producer) -> None:
    if client.flush(logs.PATIENCE):
        message = f"the broker did not take all messages within {logs.PATIENCE:.0f} s"
        raise logs.NotTakenError(message)
