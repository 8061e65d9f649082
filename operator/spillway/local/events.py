"""What a local run has to tell as it happens; how it is shown is its viewer's business."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Protocol

from spillway.controllers.sizing import Sizing
from spillway.model.observation import Observation
from spillway.model.streamjob import StreamJob


class Kind(enum.StrEnum):
    """What happened; for programs that read along, so a closed set."""

    STARTED = "started"
    ENDED = "ended"
    ERROR = "error"
    TOPICS = "topics"
    NOTE = "note"
    READY = "ready"
    PLAN = "plan"
    MOVES = "moves"
    CONDITION = "condition"
    DECISION = "decision"
    SIZES = "sizes"
    EDITED = "edited"
    REFUSED = "refused"
    DRAINING = "draining"
    STOPPED = "stopped"
    RATES = "rates"


class Look(enum.StrEnum):
    """How good that is."""

    PLAIN = "plain"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """Something happened.

    Attributes:
        kind: what, for programs.
        text: what, for people; lines after the first are details.
        look: how good that is.
        data: the numbers and names in it, for programs.
    """

    kind: Kind
    text: str
    look: Look = Look.PLAIN
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """How everything stands at one moment.

    Attributes:
        job: as it was last accepted here.
        annotations: of its manifest.
        phase: what is being done, in a few words: `starting`, `running`, `3 of 16 partitions left`.
        since: seconds since the start.
        bootstrap: where Kafka is.
        ours: whether that is a broker of our own.
        driver: where the driver answers, as host:port.
        asked: how many workers there should be.
        there: how many processes of workers there are.
        limit: the most workers that this machine is given.
        seen: what the driver told last; None before it has told anything.
        age: seconds since then.
        decided: the last decisions of the driver, the newest last, each as when and why.
        sizing: the last decision about sizes.
        refused: what is wrong with the last edit; nothing when it was taken.
        folder: of the state.
    """

    job: StreamJob
    annotations: Mapping[str, str]
    phase: str
    since: float
    bootstrap: str
    ours: bool
    driver: str
    asked: int
    there: int
    limit: int
    seen: Observation | None
    age: float
    decided: tuple[tuple[float, str], ...]
    sizing: Sizing | None
    refused: tuple[str, ...]
    folder: str


class Viewer(Protocol):
    """Shows a run to somebody."""

    def tell(self, event: Event) -> None:
        """Something happened."""

    def show(self, scene: Scene) -> None:
        """How everything stands; several times a second."""
