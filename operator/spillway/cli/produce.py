"""`spillway produce`: lines of standard input become records of a topic."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spillway.cli import terminal

if TYPE_CHECKING:
    from confluent_kafka import Producer

HERE = "127.0.0.1:9092"
ANSWER = 10.0  # seconds for a broker to say what it has
FULL = 0.1
Bootstrap = Annotated[str, typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Where Kafka is.")]


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to write.")],
    bootstrap: Bootstrap = HERE,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The key of the record is this field of its JSON; may be repeated."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="R", min=0.001, help="At most so many records per second.")
    ] = None,
) -> None:
    """Write each line of standard input as a record into a topic.

    \b
    Exit code: 0 all written, 1 some were not.
    Example:   spillway produce lines < book.txt
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from confluent_kafka import KafkaError, Producer

    refused: list[KafkaError] = []
    # Quiet: what goes wrong is said here, in our words.
    settings = {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5, "enable.idempotence": True}
    settings |= {"topic.metadata.propagation.max.ms": 1000, "message.timeout.ms": 30_000}
    # As Java clients do it, and jobs: a record and the row that it meets have the same place.
    producer = Producer({**settings, "partitioner": "murmur2_random"})
    check(producer, topic, bootstrap)
    count, began = 0, time.monotonic()
    try:
        for count, line in enumerate(sys.stdin.buffer, 1):
            value = line.rstrip(b"\r\n")
            _send(producer, topic, keyed(value, key or [], count), value, refused)
            if rate is not None and (early := began + count / rate - time.monotonic()) > 0:
                producer.poll(early)  # returns at an answer, so a record may go a little early; the next waits longer
            if refused:
                break
    except KeyboardInterrupt:
        pass
    left = producer.flush(ANSWER)
    if refused or left:
        terminal.complain(f"{len(refused) + left} of {count} records were not written: {_why(refused)}")
        raise typer.Exit(1)
    terminal.complain(f"{count} record{'s' * (count != 1)} written to {topic}")


def check(client: Any, topic: str, bootstrap: str) -> int:
    """Leave with a message where the topic, or a Kafka at all, is not there; how many partitions it has."""
    from confluent_kafka import KafkaException

    try:
        found = client.list_topics(topic, timeout=ANSWER).topics[topic]
    except KafkaException as error:
        terminal.complain(f"no Kafka answers at {terminal.clean(bootstrap)}: {error.args[0].str()}")
        raise typer.Exit(1) from None
    if found.error is not None:
        terminal.complain(f"topic '{terminal.clean(topic)}' at {bootstrap}: {found.error.str()}")
        raise typer.Exit(1)
    return len(found.partitions)


def keyed(value: bytes, columns: list[str], number: int) -> bytes | None:
    """The key of a record, as outputs of jobs have it: the text of one column, or an object of several."""
    if not columns:
        return None
    try:
        record = json.loads(value)
        found = {column: record[column] for column in columns}
    except (ValueError, TypeError, KeyError) as error:
        what = f"has no field {error}" if isinstance(error, KeyError) else "is no JSON object"
        message = f"line {number} {what}, and --key asks for one"
        raise typer.BadParameter(message, param_hint="--key") from None
    (first, *more) = found.values()
    if not more and isinstance(first, str) and not first.startswith("{"):
        return first.encode()
    return json.dumps(found if more or first is None or isinstance(first, str) else first).encode()


def _send(producer: Producer, topic: str, key: bytes | None, value: bytes, refused: list[Any]) -> None:
    """Hand a record over; waits while too many are under way."""
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=lambda error, _: refused.append(error) if error else None)
        except BufferError:
            producer.poll(FULL)
        else:
            producer.poll(0)
            return


def _why(refused: list[Any]) -> str:
    return str(refused[0].str()) if refused else "Kafka does not answer"
