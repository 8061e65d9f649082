"""Who sends: what is due, as it is due; or a whole topic that can be read from one moment on. In its own processes."""

from __future__ import annotations

import time
import uuid

from confluent_kafka import Producer

from spillway.bench.dual import works
from spillway.bench.dual.loads import Load
from spillway.bench.record import logs, schedule
from spillway.bench.record.schedule import Lateness

# Seconds. What is due within one is sent together, so a message is late by up to so much: less than half of what makes
# a run void. To sleep for each alone takes a core at ten thousand a second, and the system under test needs it.
SLICE = 0.002
AHEAD = 1.5  # seconds that a process takes until it can send
OPEN = 300_000  # milliseconds that a transaction may stay open: fills take seconds


def pace(bootstrap: str, topic: str, name: str, load: Load) -> Lateness:
    """Send a load as it is due; how late that was."""
    work, dues = works.ALL[name], load.dues()
    work.value(0, 0.0)  # renders
    client = logs.producer(bootstrap, {"linger.ms": 1, "queue.buffering.max.messages": 1_000_000})
    client.list_topics(topic, timeout=logs.PATIENCE)
    schedule.take_precedence()
    offset = time.monotonic() - time.time()  # by the clock that nobody sets
    at, late, sent = dues.tolist(), [], 0
    while sent < len(at):
        now = time.monotonic() - offset
        if at[sent] > now:
            time.sleep(max(at[sent] - now, SLICE))
            now = time.monotonic() - offset
        while sent < len(at) and at[sent] <= now:
            _send(client, topic, work.value(load.first + sent, at[sent]), load.first + sent)
            late.append(now - at[sent])
            sent += 1
        client.poll(0)
    _flushed(client)
    return schedule.lateness(late)


def fill(bootstrap: str, topic: str, name: str, first: int, count: int, start: float) -> float:
    """Write messages, one for each millisecond from `start` on; when they could be read, in seconds since 1970.

    In one transaction: nobody sees any of them until all are there, so nothing has to be stopped meanwhile.
    """
    work = works.ALL[name]
    settings: logs.Settings = {
        "linger.ms": 20,
        "compression.type": "lz4",
        "batch.size": 262_144,
        "transaction.timeout.ms": OPEN,
    }
    client = logs.producer(bootstrap, {**settings, "transactional.id": f"fill-{uuid.uuid4()}"})
    client.init_transactions(logs.PATIENCE)
    client.begin_transaction()
    for number in range(first, first + count):
        _send(client, topic, work.value(number, start + (number - first) / 1000), number)
    _flushed(client)
    at = time.time()
    client.commit_transaction(logs.PATIENCE)
    return at


def _send(client: Producer, topic: str, value: bytes, number: int) -> None:
    while True:
        try:
            client.produce(topic, value, partition=number % logs.PARTITIONS)
        except BufferError:
            client.poll(0.1)
        else:
            return


def _flushed(client: Producer) -> None:
    if client.flush(logs.PATIENCE):
        message = f"the broker did not take all messages within {logs.PATIENCE:.0f} s"
        raise logs.NotTakenError(message)
