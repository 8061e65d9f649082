"""The status of a StreamJob: conditions with a closed set of reasons, sizes, and the last decision.

No number here moves fast: rates and latencies are metrics. The reasons are an interface: alerts and scripts
match on them, so one is never renamed, and each is explained in the reference.
"""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import Field

from spillway.model.operators import Paradigm
from spillway.model.parts import Part


class ConditionType(enum.StrEnum):
    """What a condition speaks of."""

    ACCEPTED = "Accepted"
    READY = "Ready"
    LATENCY_MET = "LatencyMet"
    SCALING = "Scaling"
    PAUSED = "Paused"
    DEGRADED = "Degraded"


class ConditionStatus(enum.StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Reason(enum.StrEnum):
    """Why a condition has its status."""

    VALID = "Valid"
    INVALID_FIELD = "InvalidField"
    INVALID_TOPOLOGY = "InvalidTopology"
    INVALID_EXPRESSION = "InvalidExpression"
    RUNNING = "Running"
    STARTING = "Starting"
    NOT_ACCEPTED = "NotAccepted"
    KAFKA_UNREACHABLE = "KafkaUnreachable"
    TOPIC_MISSING = "TopicMissing"
    CODE_MISSING = "CodeMissing"
    DRIVER_UNAVAILABLE = "DriverUnavailable"
    WORKERS_UNAVAILABLE = "WorkersUnavailable"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    UNSCHEDULABLE = "Unschedulable"
    QUOTA_EXCEEDED = "QuotaExceeded"
    ROLLED_BACK = "RolledBack"
    STOPPED = "Stopped"
    MET = "Met"
    MISSED = "Missed"
    INFEASIBLE = "Infeasible"
    NO_DATA = "NoData"
    STEADY = "Steady"
    MOVING = "Moving"
    COOLDOWN = "Cooldown"
    AT_LIMIT = "AtLimit"
    ADVISING = "Advising"
    NOT_PAUSED = "NotPaused"
    DRAINING = "Draining"
    DRAINED = "Drained"
    HEALTHY = "Healthy"
    NO_TELEMETRY = "NoTelemetry"
    BATCH_UNAVAILABLE = "BatchUnavailable"
    DEAD_LETTERS = "DeadLetters"
    NAME_TAKEN = "NameTaken"
    REFUSED = "Refused"
    CRASHING = "Crashing"
    CREDENTIALS_MISSING = "CredentialsMissing"
    ROLLING_OUT = "RollingOut"
    NOT_COMPATIBLE = "NotCompatible"
    HALTED = "Halted"


TYPES: dict[ConditionType, str] = {
    ConditionType.ACCEPTED: "The spec can be run as it is written. A running job goes on with its last accepted spec.",
    ConditionType.READY: "Every partition has an owner, and records are processed.",
    ConditionType.LATENCY_MET: "The promise was kept over the last minutes.",
    ConditionType.SCALING: "Partitions are moving, or sizes are about to change.",
    ConditionType.PAUSED: "The job holds because `policy.paused` asks for it.",
    ConditionType.DEGRADED: "The job runs, but not as it should; the message says what is missing.",
}

# Each reason, the conditions that it appears under, and what it means to the reader.
REASONS: dict[Reason, tuple[tuple[ConditionType, ...], str]] = {
    Reason.VALID: ((ConditionType.ACCEPTED,), "The spec was checked and is used."),
    Reason.INVALID_FIELD: (
        (ConditionType.ACCEPTED,),
        "A field is missing, unknown, of the wrong kind or out of bounds; the message has its path.",
    ),
    Reason.INVALID_TOPOLOGY: (
        (ConditionType.ACCEPTED,),
        "The parts do not fit together: an unknown or unused name, a cycle, inputs whose columns differ.",
    ),
    Reason.INVALID_EXPRESSION: (
        (ConditionType.ACCEPTED,),
        "An expression, column list or aggregate can't be used; the message has its path and the way out.",
    ),
    Reason.RUNNING: ((ConditionType.READY,), "Every partition has an owner."),
    Reason.STARTING: ((ConditionType.READY,), "Pods are starting, or state is being restored."),
    Reason.NOT_ACCEPTED: ((ConditionType.READY,), "Nothing runs, because no version of the spec was ever accepted."),
    Reason.KAFKA_UNREACHABLE: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "No bootstrap server answers; check the address, the network policy and the credentials.",
    ),
    Reason.TOPIC_MISSING: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "A topic of the user does not exist, or may not be read or written; the message names it.",
    ),
    Reason.CODE_MISSING: (
        (ConditionType.ACCEPTED, ConditionType.READY, ConditionType.DEGRADED),
        "The module or function of a python operator is not in the ConfigMap or the image.",
    ),
    Reason.DRIVER_UNAVAILABLE: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "The driver pod is not ready; workers go on, nothing is resized or switched.",
    ),
    Reason.WORKERS_UNAVAILABLE: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "Fewer workers are ready than needed; their partitions move to the others.",
    ),
    Reason.IMAGE_UNAVAILABLE: ((ConditionType.READY, ConditionType.DEGRADED), "The image can't be pulled."),
    Reason.UNSCHEDULABLE: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "The cluster has no room for a pod; sizes are planned with what is there.",
    ),
    Reason.QUOTA_EXCEEDED: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "The quota of the namespace refuses a pod; sizes are planned with what is there.",
    ),
    Reason.ROLLED_BACK: (
        (ConditionType.ACCEPTED, ConditionType.DEGRADED),
        "A new version of the spec did not become ready; the last good one runs.",
    ),
    Reason.STOPPED: (
        (ConditionType.READY,),
        "The job stopped on purpose: `policy.onError: fail` met a bad record, or a topic lost our position.",
    ),
    Reason.MET: ((ConditionType.LATENCY_MET,), "At least the promised share of the records was on time."),
    Reason.MISSED: ((ConditionType.LATENCY_MET,), "Fewer records than promised were on time."),
    Reason.INFEASIBLE: (
        (ConditionType.LATENCY_MET,),
        "No plan within the limits keeps the promise at this rate; the message says which limit binds.",
    ),
    Reason.NO_DATA: ((ConditionType.LATENCY_MET,), "No record arrived lately, so there is nothing to measure."),
    Reason.STEADY: ((ConditionType.SCALING,), "Sizes and paradigms are as they should be."),
    Reason.MOVING: ((ConditionType.SCALING,), "Partitions change hands: a resize or a switch is under way."),
    Reason.COOLDOWN: ((ConditionType.SCALING,), "A resize is due, and waits for the cooldown or the scale-down delay."),
    Reason.AT_LIMIT: ((ConditionType.SCALING,), "More is needed than `workers.max` or `executors.max` allows."),
    Reason.ADVISING: (
        (ConditionType.SCALING,),
        "A resize or switch is recommended; `policy.mode: advise` holds it back.",
    ),
    Reason.NOT_PAUSED: ((ConditionType.PAUSED,), "`policy.paused` is false."),
    Reason.DRAINING: ((ConditionType.PAUSED,), "What is in flight is being finished and committed."),
    Reason.DRAINED: ((ConditionType.PAUSED,), "Everything is committed and nothing moves."),
    Reason.HEALTHY: ((ConditionType.DEGRADED,), "Nothing is missing."),
    Reason.NO_TELEMETRY: ((ConditionType.DEGRADED,), "Measurements are missing, so sizes are held as they are."),
    Reason.BATCH_UNAVAILABLE: (
        (ConditionType.DEGRADED,),
        "Spark can't start or has no executors; bursts are met by scaling out alone.",
    ),
    Reason.DEAD_LETTERS: ((ConditionType.DEGRADED,), "Records were put aside lately; see the topic of dead letters."),
    Reason.NAME_TAKEN: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "An object that the job needs is there already and belongs to somebody else; it is left alone.",
    ),
    Reason.REFUSED: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "The API server refuses an object or a pod of the job; the message has its words.",
    ),
    Reason.CRASHING: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "A pod ends again and again; the message has how it ended, and where to look.",
    ),
    Reason.CREDENTIALS_MISSING: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "A Secret or ConfigMap that a pod needs is not there, or lacks a key.",
    ),
    Reason.ROLLING_OUT: ((ConditionType.SCALING,), "Partitions get the programs of a new spec, a few at a time."),
    Reason.NOT_COMPATIBLE: (
        (ConditionType.ACCEPTED,),
        "What the job has stored could not be read under this spec; the last accepted one goes on.",
    ),
    Reason.HALTED: (
        (ConditionType.READY, ConditionType.DEGRADED),
        "Some partitions do not go on before somebody has seen to them; the message says where and why.",
    ),
}

Message = Annotated[str, Field(max_length=1024)]
Count = Annotated[int, Field(ge=0, le=100_000)]
Stamp = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]


class Condition(Part):
    """One statement about the job."""

    type: ConditionType = Field(description="What it speaks of.")
    status: ConditionStatus = Field(description="True, False or Unknown.")
    reason: Reason = Field(description="Why, as one word of a closed set; the reference explains each.")
    message: Message = Field("", description="Why, for people: what is wrong, and what to do next.")
    last_transition_time: Stamp = Field(description="When the status last changed.")
    observed_generation: int = Field(0, ge=0, description="Generation of the spec that it speaks of.")


class Size(Part):
    """How many there should be, and are."""

    wanted: Count = Field(0, description="How many there should be.")
    present: Count = Field(0, description="How many are ready.")
    summary: Annotated[str, Field(max_length=16)] = Field("", description="Both as present/wanted.")


class OperatorStatus(Part):
    """One operator, as it runs."""

    name: Annotated[str, Field(max_length=50)] = Field(description="Name of the operator.")
    paradigm: Paradigm = Field(description="Where it runs now: record or batch.")


class LastDecision(Part):
    """What was decided last, and why."""

    at: Stamp = Field(description="When.")
    action: Annotated[str, Field(max_length=64)] = Field(description="What: resize, switch, hold …")
    message: Message = Field(description="The sentence that `spillway explain` prints.")


class Status(Part):
    """What is there."""

    observed_generation: int = Field(0, ge=0, description="Generation of the spec that this status speaks of.")
    conditions: tuple[Condition, ...] = Field(
        (), max_length=16, description="Statements about the job.", json_schema_extra={"listKey": "type"}
    )
    paradigm: Annotated[str, Field(max_length=16)] = Field("", description="record, batch, or mixed.")
    operators: tuple[OperatorStatus, ...] = Field(
        (), max_length=256, description="Paradigm by operator.", json_schema_extra={"listKey": "name"}
    )
    workers: Size = Field(Size(), description="Worker pods.")
    executors: Size = Field(Size(), description="Spark executors.")
    decision: LastDecision | None = Field(None, description="What was decided last, and why.")
