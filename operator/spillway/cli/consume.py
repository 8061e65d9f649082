"""`spillway consume`: the records of a topic, as lines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from spillway.cli import produce, terminal

AT_ONCE = 1000
WAIT = 0.2


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")],
    bootstrap: produce.Bootstrap = produce.HERE,
    count: Annotated[int | None, typer.Option("-n", metavar="N", min=1, help="End after so many records.")] = None,
    end: Annotated[
        bool, typer.Option("--end", help="End where the topic ends now; without it, wait for more.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Only what comes from now on.")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Print the key before each record, and a tab.")] = False,
) -> None:
    """Print the records of a topic, each as a line, until Ctrl-C.

    Records of transactions that were not committed are left out. A deleted row (an empty record) is an empty line;
    --keys shows which row it was.

    \b
    Exit code: 0 read, 1 the topic or Kafka is not there.
    Example:   spillway consume word-counts --keys
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": "spillway-consume"}
    # Nothing is committed: reading a topic leaves no trace in Kafka, and starts at its beginning the next time.
    settings |= {"enable.auto.commit": False, "isolation.level": "read_committed", "enable.partition.eof": end}
    consumer = Consumer(settings)
    left = set(range(produce.check(consumer, topic, bootstrap)))
    start = OFFSET_END if new else OFFSET_BEGINNING
    consumer.assign([TopicPartition(topic, partition, start) for partition in left])
    printed = 0
    try:
        while (left or not end) and (count is None or printed < count):
            for message in consumer.consume(AT_ONCE if count is None else min(AT_ONCE, count - printed), WAIT):
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - so it is called
                    left.discard(message.partition())
                elif error is None:
                    _print(message.key() if keys else None, message.value(), keys=keys)
                    printed += 1
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


def _print(key: bytes | None, value: bytes | None, *, keys: bool) -> None:
    text = terminal.clean((value or b"").decode(errors="backslashreplace"))
    before = f"{terminal.clean((key or b'').decode(errors='backslashreplace'))}\t" if keys else ""
    terminal.say(f"{before}{text}")
