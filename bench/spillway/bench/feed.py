"""Send the messages of an example to its topics: `python -m spillway.bench.feed --help`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Producer

from spillway.bench import inputs

_SOME = 100  # messages among which all topics of an example are
_PATIENCE = 20.0  # seconds that a broker has for what is still on its way at the end


def main(arguments: Sequence[str] | None = None) -> int:
    """Send, at a rate; the first rows of tables at once, and before everything else."""
    parser = argparse.ArgumentParser(
        "python -m spillway.bench.feed",
        description="Send the messages of an example to its topics; with the same seed always the same ones.",
        epilog="example: python -m spillway.bench.feed ysb --bootstrap localhost:9092 --count 10000 --rate 500",
    )
    parser.add_argument("example", choices=inputs.examples())
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="Kafka")
    parser.add_argument("--count", type=int, default=1000, help="messages of streams (1000)")
    parser.add_argument("--rate", type=float, default=100.0, help="messages in a second (100)")
    parser.add_argument("--seed", type=int, default=0, help="another one gives other messages (0)")
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="between tables and streams (0)")
    given = parser.parse_args(arguments)
    producer = Producer({"bootstrap.servers": given.bootstrap, "enable.idempotence": True, "log_level": 0})
    refused: list[KafkaError] = []
    # As many partitions as each of the topics has: rows of a table stand where their key says.
    topics = {message.topic for message in inputs.messages(given.example, seed=given.seed, count=_SOME)}
    known = producer.list_topics(timeout=_PATIENCE).topics
    if absent := sorted(topics - known.keys()):
        sys.stderr.write(f"there is no topic {', '.join(absent)} on {given.bootstrap}\n")
        return 1
    partitions = min(len(known[topic].partitions) for topic in topics)
    # Streams begin after the pause; event times are those of sending, and the broker takes none of the future.
    start = int((time.time() + given.pause) * 1000)
    step = 1000.0 / given.rate
    sent = 0
    for message in inputs.messages(
        given.example, seed=given.seed, count=given.count, partitions=partitions, start=start, step=step
    ):
        while (early := message.time / 1000 - time.time()) > 0:
            producer.poll(min(early, 0.1))
        producer.produce(
            message.topic,
            message.value,
            message.key,
            partition=message.partition,
            timestamp=message.time,
            on_delivery=lambda error, _: refused.append(error) if error is not None else None,
        )
        sent += 1
    left = producer.flush(_PATIENCE)
    if refused or left:
        raise KafkaException(refused[0]) if refused else SystemExit(f"{left} messages are still on their way")
    sys.stderr.write(f"{sent} messages sent\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
