"""What the manager remembers of one job between two passes. Losing it costs some requests and a delay, nothing else."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from spillway.controllers.acceptance import Verdict
from spillway.controllers.reconciling.children import Written
from spillway.controllers.reconciling.decision import Memory
from spillway.controllers.reconciling.observed import Heard, Key, Refusal
from spillway.model.status import Status
from spillway.model.streamjob import StreamJob


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """The manifest that runs."""

    job: StreamJob
    generation: int
    document: dict[str, Any]


@dataclasses.dataclass(slots=True)
class State:
    """Of one life of a job.

    Attributes:
        uid: of that life.
        verdict, judged: what was said of the manifest, and of which generation.
        accepted: the manifest that runs; `looked` once it was looked for where a predecessor left it.
        memory: of the decisions.
        written: what was applied to each child last.
        wanted, shape: digests of the children, and what they were built from.
        spec_hash: of what pods mount.
        token: of the HTTP contract; empty before it is known. `token_at` is when it was read.
        code_hash: of the user's files; `code_at` is when they were looked at, `code_missing` if they are not there.
        heard: what the driver told last.
        refusals: what could not be applied in the last pass.
        status: as it was written last.
    """

    uid: str
    verdict: Verdict | None = None
    judged: int = -1
    accepted: Accepted | None = None
    looked: bool = False
    memory: Memory = dataclasses.field(default_factory=Memory)
    written: dict[Key, Written] = dataclasses.field(default_factory=dict)
    wanted: dict[Key, str] = dataclasses.field(default_factory=dict)
    shape: tuple[Any, ...] | None = None
    spec_hash: str = ""
    token: str = ""
    token_at: datetime.datetime | None = None
    code_hash: str = ""
    code_at: datetime.datetime | None = None
    code_missing: str = ""
    heard: Heard | None = None
    refusals: tuple[Refusal, ...] = ()
    status: Status | None = None
