"""How a job runs: sizes, delivery, code, and the policy by which it is steered. All optional."""

from __future__ import annotations

import enum
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import Field

from spillway.model import quantities
from spillway.model.operators import Paradigm
from spillway.model.parts import ObjectName, Part, Rule, Within

Bound = Annotated[quantities.Duration, quantities.Between("1ms", "1h")]
# A promise about fewer than half of the records is none; 0.9999 is what a minute of measurements can still tell.
Quantile = Annotated[float, Within(0.5, 0.9999)]
Headroom = Annotated[float, Within(0, 0.9)]
Hysteresis = Annotated[float, Within(0.01, 0.9)]
Pause = Annotated[quantities.Duration, quantities.Between("0s", "24h")]
# Spark asks for 450 MB of heap at the least; executors below 512Mi die while they start.
ExecutorMemory = Annotated[quantities.MemorySize, quantities.Between("512Mi", "1Ti")]


class Latency(Part):
    """The promise: this share of the records is done within this time, end to end."""

    bound: Bound = Field(description="From the event's arrival in its topic to its result, such as 500ms.")
    quantile: Quantile = Field(0.99, description="Share of the records within the bound.")


class Delivery(enum.StrEnum):
    """What output topics see after a crash."""

    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class PodTemplate(Part):
    """Fields of the pods that the job runs in, merged over what Spillway sets (which wins for security)."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)
    metadata: dict[str, Any] | None = Field(
        None,
        description="Labels and annotations of the pods.",
        json_schema_extra={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )
    spec: dict[str, Any] | None = Field(
        None,
        description="Fields of a pod's spec: nodeSelector, tolerations, resources of the container `main`, volumes …",
        json_schema_extra={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )


def _ordered(part: Any) -> bool:
    return bool(part.min <= part.max)


_MIN_MAX = Rule("self.min <= self.max", "min must not be greater than max", _ordered, "min")


class Workers(Part):
    """Pods that work record by record."""

    min: int = Field(1, ge=1, le=1000, description="Never fewer worker pods than this.")
    max: int = Field(8, ge=1, le=1000, description="Never more worker pods than this.")
    slots: int = Field(1, ge=1, le=64, description="Processes in each pod; each takes one core at full load.")
    pod_template: PodTemplate | None = Field(None, description="Fields of the worker pods.")
    rules: ClassVar[tuple[Rule, ...]] = (_MIN_MAX,)


class Executors(Part):
    """Spark executors for micro-batches."""

    min: int = Field(1, ge=0, le=1000, description="Never fewer executors than this; 1 keeps Spark warm for a burst.")
    max: int = Field(4, ge=0, le=1000, description="Never more executors than this.")
    cores: int = Field(1, ge=1, le=64, description="Cores of each executor.")
    memory: ExecutorMemory = Field(
        quantities.MemorySize.parse("1Gi"), description="Heap of each executor, such as 1Gi; 512Mi at the least."
    )
    pod_template: PodTemplate | None = Field(None, description="Fields of the executor pods.")
    rules: ClassVar[tuple[Rule, ...]] = (_MIN_MAX,)


class Store(enum.StrEnum):
    """Where a slot has the rows of its tables, beside their changelogs."""

    MEMORY = "memory"
    DISK = "disk"


class State(Part):
    """Where slots have the rows of tables. A changelog in Kafka has them too, whatever this is."""

    store: Store = Field(
        Store.MEMORY,
        description="memory; or disk, for aggregates and tables that are larger: the rows in use stay in memory.",
    )
    # Fewer than 1000 is less than what one second reads. A hundred million take 40 GB.
    cached_rows: int = Field(
        100_000,
        ge=1_000,
        le=100_000_000,
        description="With disk: rows that each slot keeps in memory, some 0.4 KB each.",
    )


class Code(Part):
    """Where Python functions come from, unless they are in the image."""

    config_map: ObjectName = Field(description="ConfigMap whose keys are Python files, such as ads.py.")


class Execution(Part):
    """How the job runs."""

    paradigm: Paradigm = Field(
        Paradigm.AUTO, description="auto: whichever keeps the promise at the least cost; record or batch: only that."
    )
    delivery: Delivery = Field(
        Delivery.AT_LEAST_ONCE,
        description="Of output topics, after a crash: at-least-once may repeat records; exactly-once adds latency.",
    )
    workers: Workers = Field(Workers(), description="Pods that work record by record.")
    executors: Executors = Field(Executors(), description="Spark executors for micro-batches.")
    state: State = Field(State(), description="Where slots have the rows of tables.")
    code: Code | None = Field(None, description="Where Python functions come from, unless they are in the image.")
    image: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        None, description="Image of the job's pods; the operator's default when absent."
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.paradigm != 'batch' || self.executors.max >= 1",
            "paradigm batch needs executors: set executors.max to 1 or more",
            lambda e: e.paradigm is not Paradigm.BATCH or e.executors.max >= 1,
            "executors",
        ),
    )


class Mode(enum.StrEnum):
    """Whether decisions are carried out."""

    APPLY = "apply"
    ADVISE = "advise"


class OnError(enum.StrEnum):
    """What happens to a record that can't be read, or on which the user's code raises."""

    DEAD_LETTER = "deadLetter"
    FAIL = "fail"


class Overload(enum.StrEnum):
    """Which records are processed first while not all can be on time."""

    KEEP_ORDER = "keepOrder"
    MOST_IN_TIME = "mostInTime"


class Policy(Part):
    """How the job is steered."""

    mode: Mode = Field(Mode.APPLY, description="apply carries decisions out; advise only shows them.")
    headroom: Headroom = Field(0.2, description="Share of capacity to keep free: 0.2 plans for 125 % of the rate.")
    hysteresis: Hysteresis = Field(
        0.2,
        description="Distance between switching over and switching back, as a share of the threshold.",
    )
    cooldown: Pause = Field(
        quantities.Duration.parse("60s"),
        description="Least time between two resizes; growth that can't wait, and switches, are not held back.",
    )
    scale_down_delay: Pause = Field(
        quantities.Duration.parse("300s"), description="Capacity is given back when it was not needed for so long."
    )
    on_error: OnError = Field(
        OnError.DEAD_LETTER,
        description="deadLetter: put bad records aside and go on. fail: a partition halts at its first.",
    )
    overload: Overload = Field(
        Overload.KEEP_ORDER,
        description="When not all records can be on time. keepOrder: oldest first. mostInTime: first those that still"
        " can be; late ones after them.",
    )
    drop: bool = Field(
        False, description="With mostInTime: leave out records of streams that are late, instead of processing them."
    )
    paused: bool = Field(False, description="Finish what is in flight, commit, and hold.")
    delete_topics: bool = Field(False, description="When the job is deleted, delete its internal topics too.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!self.drop || self.overload == 'mostInTime'",
            "drop needs overload mostInTime: keepOrder leaves nothing out",
            lambda p: not p.drop or p.overload is Overload.MOST_IN_TIME,
            "drop",
        ),
    )
