"""Where records come from and go to: the cluster, source streams, source tables, outputs. All topics are the user's."""

from __future__ import annotations

import enum
from typing import Annotated, ClassVar

from pydantic import Field

from spillway.model import operators, parts
from spillway.model.parts import ColumnName, Columns, Name, ObjectName, Part, Rule, Topic


class Protocol(enum.StrEnum):
    """How a client talks to the brokers."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


class Mechanism(enum.StrEnum):
    """How a client says who it is."""

    PLAIN = "PLAIN"
    SCRAM_256 = "SCRAM-SHA-256"
    SCRAM_512 = "SCRAM-SHA-512"


class SecretRef(Part):
    """A Secret in the namespace of the job."""

    name: ObjectName = Field(description="Name of the Secret.")


class Security(Part):
    """How to reach brokers that ask who is there. Credentials are only ever named, never written here."""

    protocol: Protocol = Field(Protocol.PLAINTEXT, description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.")
    mechanism: Mechanism | None = Field(None, description="For SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
    secret_ref: SecretRef | None = Field(
        None, description="The Secret with `username` and `password` (SASL), `ca.crt`, `tls.crt`, `tls.key` (SSL)."
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.protocol.startsWith('SASL') == has(self.mechanism)",
            "`mechanism` goes with the SASL protocols, and only with them",
            lambda s: s.protocol.startswith("SASL") == (s.mechanism is not None),
            "mechanism",
        ),
        Rule(
            "!self.protocol.startsWith('SASL') || has(self.secretRef)",
            "the SASL protocols need `secretRef`: a Secret with username and password",
            lambda s: not s.protocol.startswith("SASL") or s.secret_ref is not None,
            "secretRef",
        ),
    )


Server = Annotated[
    str,
    parts.Text(
        r"([A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?|\[[0-9a-fA-F:]{2,39}\]):[0-9]{1,5}",
        most=260,
        meaning="a server; write host:port, such as kafka:9092",
    ),
]


class Kafka(Part):
    """The Kafka cluster that holds all topics of the job."""

    bootstrap_servers: tuple[Server, ...] = Field(
        min_length=1,
        max_length=16,
        description="Servers to ask first, as host:port. Can't change: positions belong to one cluster.",
    )
    security: Security | None = Field(None, description="How to reach brokers that ask who is there.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.bootstrapServers == oldSelf.bootstrapServers",
            "bootstrapServers can't change: positions and state belong to one cluster; make a new job",
        ),
    )


class Format(enum.StrEnum):
    """How a message is read."""

    JSON = "json"
    RAW = "raw"


class Stream(Part):
    """A topic of facts: each message is one record."""

    name: Name = Field(description="Name of the stream; unique among streams, tables and operators.")
    topic: Topic = Field(description="The topic to read.")
    format: Format = Field(
        Format.JSON, description="json: one object in each message. raw: the message itself, as one column."
    )
    columns: Columns = Field(
        description="Columns and their types: `ad_id string, event_time timestamp`. raw: one string or binary."
    )
    key_column: ColumnName | None = Field(
        None, description="A further string column that takes the key of the message."
    )
    timestamp: ColumnName | None = Field(
        None, description="The column with the event time; absent: the timestamp of the message."
    )
    costs: operators.Costs | None = Field(
        None, description="Declared costs of reading: the stream is then planned as a segment of its own."
    )


class Distribution(enum.StrEnum):
    """Where the rows of a table are."""

    BROADCAST = "broadcast"
    PARTITIONED = "partitioned"


class Table(Part):
    """A topic of updates by key: the newest message of a key is its row, an empty one deletes it."""

    name: Name = Field(description="Name of the table; unique among streams, tables and operators.")
    topic: Topic = Field(description="The topic to read, keyed as `key` says.")
    columns: Columns = Field(description="Columns and their types, those of the key included.")
    key: tuple[ColumnName, ...] = Field(min_length=1, max_length=8, description="Columns that name a row.")
    distribution: Distribution = Field(
        Distribution.BROADCAST,
        description="broadcast: small, each owner keeps all rows. partitioned: each keeps those of its partitions.",
    )
    timestamp: ColumnName | None = Field(
        None, description="The column with the time of the update; absent: the timestamp of the message."
    )


class OutputMode(enum.StrEnum):
    """What an output topic holds."""

    CHANGELOG = "changelog"
    APPEND = "append"


class Output(Part):
    """A topic that the job writes: one JSON object in each message."""

    name: Name = Field(description="Name of the output; unique among outputs.")
    input: Name = Field(description="The operator, stream or table whose records it takes.")
    topic: Topic = Field(description="The topic to write.")
    key: tuple[ColumnName, ...] | None = Field(
        None,
        min_length=1,
        max_length=8,
        description="Columns of the message key; absent: the key of a table, none for a stream.",
    )
    mode: OutputMode | None = Field(
        None,
        description="changelog: updates by key, an empty message deletes (tables). append: every record or update.",
    )
