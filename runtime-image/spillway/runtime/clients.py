"""Kafka clients as a job needs them: how to reach the brokers, and settings that keep what we promise.

A consumer is told what to read (`assign`); no group ever rebalances, and none but us moves a position. The group is
only where positions are stored, so that ordinary tools show the lag of a job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient

from spillway.controllers import topics
from spillway.model import kafka as model
from spillway.model.errors import SpillwayError

Settings = dict[str, Any]
Heard = Callable[[KafkaError], None]

MIB = 1024 * 1024
PATIENCE = 30.0  # seconds for a broker to say which topics there are
# Bytes that are sent to a partition at once. A topic refuses all messages of a batch that is larger than it takes, be
# each of them as small as it may; none that brokers make by default does with this.
BATCH = 1_000_000
# Bytes of a partition that a reader asks for at once; a message that is larger comes all the same. What has come is
# handed out in its order, whatever comes next: with 8 MiB, the first answer of a stream with much in it was 60 000
# lines, and for seconds nothing was seen of edges, whose rows came too late, or of what else there was to do.
FETCH = 128 * 1024
# Seconds from one statistics of a producer to the next: a kilobyte for each partition that it knows.
STATISTICS = 5.0


class CredentialsError(SpillwayError):
    """The Secret with credentials lacks something; the message names it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """How a job reaches Kafka. `secret` is the directory that its Secret is mounted at, and `name` what brokers log."""

    kafka: model.Kafka
    secret: Path | None = None
    name: str = "spillway"

    def settings(self, heard: Heard | None = None) -> Settings:
        """What every client needs; `heard` gets what the client has to tell of brokers."""
        found: Settings = {
            "bootstrap.servers": ",".join(self.kafka.bootstrap_servers),
            "client.id": self.name,
            # A broker that comes back is met within a second; the default waits up to ten.
            "reconnect.backoff.max.ms": 1000,
            # Partitions that were added, and leaders that moved without a word, are noticed within this.
            "topic.metadata.refresh.interval.ms": 10_000,
            # What the client has to say goes to `error_cb`; on standard error it would be noise in another format.
            "log_level": 0,
        }
        if heard is not None:
            found["error_cb"] = heard
        if self.kafka.security is not None:
            found |= self._security(self.kafka.security)
        return found

    def _security(self, security: model.Security) -> Settings:
        found: Settings = {"security.protocol": str(security.protocol)}
        if security.mechanism is not None:
            found["sasl.mechanism"] = str(security.mechanism)
            found["sasl.username"] = self._read("username")
            found["sasl.password"] = self._read("password")
        if security.protocol in (model.Protocol.SSL, model.Protocol.SASL_SSL):
            parts = {"ca.crt": "ssl.ca.location", "tls.crt": "ssl.certificate.location", "tls.key": "ssl.key.location"}
            for key, setting in parts.items():
                if self.secret is not None and (self.secret / key).is_file():
                    found[setting] = str(self.secret / key)
        return found

    def _read(self, key: str) -> str:
        """One key of the Secret, without the newline that editors leave at its end."""
        reference = self.kafka.security.secret_ref if self.kafka.security else None
        where = f"Secret {reference.name!r}" if reference else "the Secret"
        if self.secret is None:
            message = f"{where} is not mounted, and {key!r} of it is needed to reach Kafka"
            raise CredentialsError(message)
        try:
            return (self.secret / key).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            message = f"{where} has no readable key {key!r}, which is needed to reach Kafka: {error}"
            raise CredentialsError(message) from None


def reader(access: Access, group: str, heard: Heard | None = None, more: Settings | None = None) -> Consumer:
    """A consumer of streams, edges and changelogs; `more` settings win over what all readers have."""
    return Consumer(
        access.settings(heard)
        | {
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # A position that is gone is never replaced by another one silently: records would be skipped or repeated.
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            # A request that waits for records holds back partitions that are added meanwhile. The default of 500 ms
            # would be the pause of a move; shorter costs requests when nothing comes.
            "fetch.wait.max.ms": 50,
            # Read ahead: what is there when a partition is given away was read for nothing. The default is 100 000.
            "queued.min.messages": 5_000,
            "queued.max.messages.kbytes": 16 * 1024,
            # After a full queue the next request waits for this: a second by default.
            "fetch.queue.backoff.ms": 1,
            "fetch.message.max.bytes": FETCH,
        }
        | (more or {})
    )


def know(consumer: Consumer, *names: str) -> None:
    """Have a consumer look for topics before it is given partitions of them.

    By itself it finds the brokers of a new topic once a second, so the first record would wait for up to a second.
    """
    for name in names:
        consumer.list_topics(name, timeout=PATIENCE)


def arrived(consumer: Consumer, most: int, seconds: float) -> list[Message]:
    """What has come, up to so many messages; waits for the first one, for so long, and for no other.

    A `consume` that waits takes all of that time whenever there is less than it was asked for.
    """
    first = consumer.poll(seconds)
    return [] if first is None else [first, *consumer.consume(most - 1, 0)]


def is_end(error: KafkaError) -> bool:
    """Whether it says no more than that a partition ends here, as a `restorer` is told."""
    return bool(error.code() == KafkaError._PARTITION_EOF)  # noqa: SLF001 - so it is called


def restorer(access: Access, group: str, *, trimmed: bool = False) -> Consumer:
    """A consumer that is told when it has come to the end of what is committed.

    `trimmed`: what it reads may be trimmed meanwhile, and then it goes on where that begins now.
    """
    settings = {
        "auto.offset.reset": "earliest" if trimmed else "error",
        "enable.partition.eof": True,
        # At the end of a changelog a broker waits for so long before it says that this is the end, which is part of
        # the pause of a move; more requests cost nothing, for they come only while something is restored.
        "fetch.wait.max.ms": 5,
    }
    return reader(access, group, more=settings)


def emitter(
    access: Access, heard: Heard | None = None, batch: int = BATCH, told: Callable[[str], None] | None = None
) -> Producer:
    """The producer of edges, outputs and dead letters: in order, nothing twice, and as soon as possible.

    `batch` is what each topic takes at once, in bytes; a larger message goes alone. `told` gets the client's own
    statistics, every `STATISTICS`.
    """
    return Producer(
        access.settings(heard)
        | ({} if told is None else {"stats_cb": told, "statistics.interval.ms": round(STATISTICS * 1000)})
        | {
            # After a retry nothing is repeated or out of order; and of what a dead producer sent a prefix arrives,
            # which the protocol of moves relies on.
            "enable.idempotence": True,
            # For ever: a broker may be away for longer than any limit, and what is given up would be lost.
            "message.timeout.ms": 0,
            # One millisecond gathers what one poll has brought; with 0 each record is a request at low rates.
            "linger.ms": 1,
            "compression.type": "lz4",
            # Bounded memory: when this is full, the loop waits. It takes nothing any more when less than half as many
            # messages are on their way (`emitter.MUCH`), so that is for large ones, and for a turn that makes many.
            "queue.buffering.max.kbytes": 16 * 1024,
            "queue.buffering.max.messages": 20_000,
            "message.max.bytes": topics.LARGEST_FRAME,
            "batch.size": batch,
            # As Java clients do it, so that others find a key where they look for it.
            "partitioner": "murmur2_random",
        }
    )


def committer(access: Access, identity: str, heard: Heard | None = None, batch: int = BATCH) -> Producer:
    """The producer of changelogs and positions, in transactions under the identity of a slot's incarnation."""
    return Producer(
        access.settings(heard)
        | {
            "transactional.id": identity,
            # Whoever takes over fences us at once; this is for brokers that nobody tells. A commit of 20 000 rows took
            # 70 ms. Longer: readers of committed records wait for the dead.
            "transaction.timeout.ms": 30_000,
            # Else a client that has lost all brokers forgets them and begins with the addresses that it was given; but
            # what it keeps of coordinators of groups still points to those that it forgot, and the positions of the
            # next transaction are never sent: after each restart of a lone broker, and without an end to the call.
            "metadata.recovery.strategy": "none",
            "linger.ms": 0,
            "compression.type": "lz4",
            "message.max.bytes": topics.LARGEST_FRAME,
            "batch.size": batch,
            "partitioner": "murmur2_random",  # with exactly-once, outputs go this way
        }
    )


def admin(access: Access) -> AdminClient:
    """A client that looks at topics and makes them."""
    return AdminClient(access.settings())
