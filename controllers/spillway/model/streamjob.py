"""The StreamJob: what a user writes. One declaration is the validator, the CRD and the reference."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from spillway.model import parts
from spillway.model.execution import Execution, Latency, Policy
from spillway.model.kafka import Kafka, Output, Stream, Table
from spillway.model.operators import Operator
from spillway.model.parts import Part, Rule
from spillway.model.status import Status

GROUP = "spillway.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "StreamJob"

MAX_OPERATORS = 256  # more than any topology we know of; with it, the API server can bound the cost of the rules


class Spec(Part):
    """What is wanted."""

    kafka: Kafka = Field(description="The Kafka cluster that holds all topics of the job.")
    latency: Latency = Field(description="The promise that the job keeps.")
    streams: tuple[Stream, ...] = Field(
        min_length=1, max_length=32, description="Topics of facts to read.", json_schema_extra={"listKey": "name"}
    )
    tables: tuple[Table, ...] = Field(
        (), max_length=32, description="Topics of updates to read as tables.", json_schema_extra={"listKey": "name"}
    )
    operators: tuple[Operator, ...] = Field(
        min_length=1, max_length=MAX_OPERATORS, description="The steps.", json_schema_extra={"listKey": "name"}
    )
    outputs: tuple[Output, ...] = Field(
        min_length=1, max_length=32, description="Topics to write.", json_schema_extra={"listKey": "name"}
    )
    execution: Execution = Field(Execution(), description="How the job runs.")
    policy: Policy = Field(Policy(), description="How the job is steered.")

    # These look across the whole spec. `topology` and `acceptance` check the same, and say which part is meant.
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.operators.all(o, !(has(self.tables) && self.tables.exists(t, t.name == o.name))"
            " && !self.streams.exists(s, s.name == o.name))"
            " && (!has(self.tables) || self.tables.all(t, !self.streams.exists(s, s.name == t.name)))",
            "names of streams, tables and operators must differ from one another",
        ),
        Rule(
            "self.operators.all(o, !has(o.input) || self.operators.exists(x, x.name == o.input)"
            " || self.streams.exists(s, s.name == o.input)"
            " || (has(self.tables) && self.tables.exists(t, t.name == o.input)))",
            "every operator's input must be a stream, a table or an operator of this job",
        ),
        Rule(
            "self.outputs.all(o, self.operators.exists(x, x.name == o.input)"
            " || self.streams.exists(s, s.name == o.input)"
            " || (has(self.tables) && self.tables.exists(t, t.name == o.input)))",
            "every output's input must be a stream, a table or an operator of this job",
        ),
        Rule(
            "self.outputs.all(o, !self.streams.exists(s, s.topic == o.topic)"
            " && !(has(self.tables) && self.tables.exists(t, t.topic == o.topic)))",
            "an output must not write a topic that the job reads",
        ),
        Rule(
            "!has(self.execution) || !has(self.execution.state) || self.execution.state.store != 'disk'"
            " || (has(self.tables) && self.tables.size() > 0) || self.operators.exists(o, has(o.aggregate))",
            "disk is for aggregates and tables, and this job has none: records that wait in a join stay in memory",
        ),
    )


JobName = Annotated[
    str,
    # 40, because `<job>-worker-<n>` and the labels made of it have to stay within the 63 of a DNS label.
    parts.Text(
        r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
        most=40,
        meaning="the name of a job; use small letters, digits and '-', begin with a letter, 40 at most",
    ),
]


class Metadata(pydantic.BaseModel):
    """What Kubernetes keeps about every object; only what Spillway reads of it."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", strict=True)
    name: JobName
    namespace: str = "default"
    generation: int = 0
    uid: str = ""


class StreamJob(Part):
    """A streaming job that keeps a latency promise: a topology over Kafka, and how it may run."""

    api_version: Literal["spillway.dev/v1alpha1"] = Field(description="spillway.dev/v1alpha1")
    kind: Literal["StreamJob"] = Field(description="StreamJob")
    metadata: Metadata = Field(description="Name, namespace, labels and annotations.")
    spec: Spec = Field(description="What is wanted.")
    status: Status | None = Field(None, description="What is there; written by Spillway.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",
            "the name of a job has small letters, digits and '-', begins with a letter, and is at most 40 long",
            lambda _: True,  # the type of the field says it, with the name
        ),
    )
