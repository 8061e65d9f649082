"""What somebody changed while a job runs: the manifest, or the functions beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from spillway.model.streamjob import StreamJob


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """Another version of the job.

    Attributes:
        job: as it is to be.
        document: the same, as the manifest has it.
        code: the folder of the user's functions, None if the job has none.
    """

    job: StreamJob
    document: Mapping[str, Any]
    code: Path | None

    @property
    def annotations(self) -> dict[str, str]:
        """Those of the manifest that are text, as all should be; nothing of ours depends on them."""
        found = self.document.get("metadata", {}).get("annotations")
        return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """A version that can't be run; `lines` say what is wrong with it, each with its place."""

    lines: tuple[str, ...]


class Source(Protocol):
    """Where versions of the job come from."""

    def look(self) -> Edit | Refusal | None:
        """The version that is there now; None when it is the one that was there at the last look."""


def refused(before: StreamJob, after: StreamJob) -> tuple[str, ...]:
    """What of an edit can't be done to a job that runs, as `path: message`."""
    was, now = before.metadata, after.metadata
    found = []
    if (was.name, was.namespace) != (now.name, now.namespace):
        found.append(
            f"metadata.name: {now.namespace}/{now.name} is another job; stop this one with Ctrl-C, and start that one"
        )
    if before.spec.kafka.bootstrap_servers != after.spec.kafka.bootstrap_servers:
        found.append("spec.kafka.bootstrapServers: can't change while the job runs; positions belong to one cluster")
    return tuple(found)
