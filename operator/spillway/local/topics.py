"""The user's topics on this machine: which are missing, and how they are made where we may."""

from __future__ import annotations

from pathlib import Path

from spillway.controllers import topics
from spillway.controllers.topics import Topic
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access


def missing(job: StreamJob, secret: Path | None = None) -> dict[str, str]:
    """The user's topics that are not there, and what each is to the job."""
    wanted = topics.of_user(job)
    present = admin.present(clients.admin(_access(job, secret)), wanted)
    return {name: what for name, what in wanted.items() if name not in present}


def make(job: StreamJob, names: list[str], cores: int, secret: Path | None = None) -> int:
    """Make topics of the user; all with as many partitions, because a table is read beside its stream. How many."""
    partitions = max(topics.LEAST, topics.EACH_SLOT * cores)
    # A table's topic is its rows: the newest of each key has to stay.
    tables = {table.topic for table in job.spec.tables}
    wanted = [Topic(name, partitions, {"cleanup.policy": "compact"} if name in tables else {}) for name in names]
    admin.create(clients.admin(_access(job, secret)), wanted)
    return partitions


def _access(job: StreamJob, secret: Path | None) -> Access:
    return Access(job.spec.kafka, secret, f"spillway-up-{job.metadata.name}")
