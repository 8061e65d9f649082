"""What a slot is started with. Small enough to be handed to a new process."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spillway.model.streamjob import StreamJob

if TYPE_CHECKING:
    from spillway.runtime.slots.ledger import Ledger


class Suspect(NamedTuple):
    """Messages at which an earlier process of this slot ended by itself: one of them may have been the cause.

    They are those from offset `start` up to, without, `stop`; if that is one, it is known.
    """

    segment: str
    number: int
    start: int
    stop: int


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What a slot has to know of its job and its place.

    Attributes:
        job: the job; of its spec only where Kafka is and what is promised. What to run stands in the control log.
        slot: its name, such as `w0.1`.
        code: the directory with the user's functions.
        secret: the directory with the credentials for Kafka.
        address: where its worker answers HTTP.
        suspects: messages to be careful with.
        ledger: where it notes what it is about to process; None where nobody would read it.
        scratch: the directory for tables that are kept on disk; by default one among the system's temporary files.
        limit: seconds for one call of a user's function; then it is ended, and its record is a dead letter.
    """

    job: StreamJob
    slot: str
    code: Path | None = None
    secret: Path | None = None
    address: str = ""
    suspects: tuple[Suspect, ...] = ()
    ledger: Ledger | None = None
    scratch: Path | None = None
    limit: float = 10.0
