"""The record loop as somebody would write it by hand for this one job: no less can be had with these libraries.

It keeps nothing that a job needs to be right: no dead letters, checks, counters, marks, commits or telemetry, and it
trusts every record and function. What it takes on a machine, just then, is what the record loop is compared with.
"""

from __future__ import annotations

import gc
import sys

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from spillway.bench.record import jobs, logs
from spillway.bench.record.meter import Meter

POLL = 3_000


class Order(msgspec.Struct, gc=False):
    """What comes in."""

    id: int
    user: str
    due: int
    price: float
    qty: int


class Kept(msgspec.Struct, gc=False):
    """What goes out."""

    id: int
    user: str
    due: int
    total: float


def loop(bootstrap: str, source: str, output: str, count: int) -> float:
    """Consume, decode, five operators, encode, produce by key; microseconds of processor time for each record."""
    gc.disable()
    sys.path.append(str(jobs.CODE))
    import chain  # type: ignore[import-not-found]  # a function of the user, as in the job

    weigh = chain.weigh
    decode, encode = msgspec.json.Decoder(Order).decode, msgspec.json.Encoder().encode
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "by-hand",
            "enable.auto.commit": False,
            "queued.min.messages": 5_000,
            "fetch.queue.backoff.ms": 1,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(source, partition, 0) for partition in range(logs.PARTITIONS)])
    settings = {"enable.idempotence": True, "linger.ms": 1, "compression.type": "lz4"}
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
    produce, meter, going = producer.produce, Meter(count), True
    while going:
        first = consumer.poll(1.0)
        if first is None:
            continue
        messages = [first, *consumer.consume(POLL - 1, 0)]
        for message in messages:
            order = decode(message.value())
            if order.qty <= 0:
                continue
            total = order.price * order.qty
            row = weigh({"id": order.id, "user": order.user, "due": order.due, "total": total, "qty": order.qty})
            if row["total"] < 0.0 or row["user"] is None:
                continue
            user = row["user"]
            value = encode(Kept(row["id"], user, row["due"], row["total"]))
            while True:
                try:
                    produce(output, value, user)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.poll(0)
        going = meter.add(len(messages))
    producer.flush(30)
    return meter.micros()
