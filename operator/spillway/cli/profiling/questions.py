"""From options to what a profile is fed with, or to a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spillway.cli.planning.questions import RefusedError, check_source, names
from spillway.model.streamjob import StreamJob

MOST_READ = 50_000  # records of a topic
SILENT = 3.0  # seconds without a record, after which a topic is taken to be at its end


def recordings(job: StreamJob, given: Sequence[str]) -> dict[str, Path]:
    """By stream or table, the file with its records: `FILE` for the only stream, `NAME=FILE` for any."""
    known, found = names(job), dict[str, Path]()
    for text in given:
        name, equals, file = text.partition("=")
        if not equals:
            if len(job.spec.streams) != 1:
                message = f"the job has {len(job.spec.streams)} streams; write NAME=FILE, such as {known[0]}={text}"
                raise RefusedError(message, option="--records")
            name, file = job.spec.streams[0].name, text
        check_source(name, known, "--records")
        if name in found:
            message = f"{name!r} is there twice"
            raise RefusedError(message, option="--records")
        if not Path(file).is_file():
            message = f"{file} is no file"
            raise RefusedError(message, option="--records")
        found[name] = Path(file)
    return found


def topics(
    job: StreamJob, servers: tuple[str, ...] | None, secret: Path | None, but: Mapping[str, Path]
) -> dict[str, list[bytes]]:
    """What the job's own topics hold, on somebody's Kafka; nothing without one. They are only read."""
    if servers is None:
        return {}
    from confluent_kafka import KafkaException

    from spillway.runtime import clients
    from spillway.runtime.clients import Access

    kafka = job.spec.kafka.model_copy(update={"bootstrap_servers": servers})
    access = Access(kafka, secret, "spillway-profile")
    read = {stream.name: stream.topic for stream in job.spec.streams}
    read |= {table.name: table.topic for table in job.spec.tables}
    wanted = [topic for name, topic in read.items() if name not in but]
    reader = clients.reader(access, "spillway-profile", more={"enable.partition.eof": True})
    try:
        return {topic: _read(reader, topic, ",".join(servers)) for topic in wanted}
    except KafkaException as error:
        message = f"{','.join(servers)}: {error.args[0].str()}"
        raise RefusedError(message, option="--bootstrap") from None
    finally:
        reader.close()


def _read(reader: object, topic: str, where: str) -> list[bytes]:
    """The last records of a topic: as many of each partition."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    assert isinstance(reader, Consumer)  # noqa: S101 - imported here only, so that `--help` is quick
    told = reader.list_topics(topic, timeout=10.0).topics[topic]
    if told.error is not None:
        message = f"topic {topic!r} at {where}: {told.error.str()}"
        raise RefusedError(message, option="--bootstrap")
    each = max(1, MOST_READ // max(1, len(told.partitions)))
    starts = []
    for number in told.partitions:
        low, high = reader.get_watermark_offsets(TopicPartition(topic, number), 10.0)
        starts.append(TopicPartition(topic, number, max(low, high - each)))
    reader.assign(starts)
    found, left = list[bytes](), set(told.partitions)
    while left and (some := reader.consume(1000, SILENT)):
        for message in some:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - so it is called
                left.discard(message.partition())
            elif error is None and (value := message.value()):
                found.append(value)
    return found
