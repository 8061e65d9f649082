"""From arguments to a job and to letters, or to a sentence that says what is wrong."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import re
import time

from spillway.cli import terminal
from spillway.cli.planning import questions
from spillway.cli.planning.questions import RefusedError
from spillway.controllers.topics import Names
from spillway.model import kafka
from spillway.model.quantities import Duration
from spillway.runtime.clients import Access

_JOB = re.compile(r"([a-z0-9][a-z0-9-]{0,62})/([a-z0-9][a-z0-9-]{0,252})")
_SECOND, _MILLION = 1000, 1_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters.

    Attributes:
        operator: of this operator alone; empty: of all.
        since: written since then, in milliseconds since 1970.
        offsets: these ones; empty: all.
    """

    operator: str = ""
    since: int = 0
    offsets: frozenset[int] = frozenset()


def place(job: str, bootstrap: str | None, secret: pathlib.Path | None) -> tuple[Access, Names]:
    """How to reach Kafka, and what the topics of the job are called."""
    parts = None if pathlib.Path(job).exists() else _JOB.fullmatch(job)
    if parts is None:
        manifest = questions.job(job)
        names, reached = Names.of(manifest), manifest.spec.kafka
    elif bootstrap is None:
        message = f"{job!r} is no file; of a job by its name, say where Kafka is"
        raise RefusedError(message, option="--bootstrap")
    else:
        names, reached = Names(f"{parts[1]}.{parts[2]}."), kafka.Kafka(bootstrap_servers=(bootstrap,))
    if bootstrap is not None:
        reached = kafka.Kafka(bootstrap_servers=tuple(bootstrap.split(",")), security=reached.security)
    return Access(reached, secret, "spillway-dead"), names


def wanted(operator: str | None, since: str | None, offsets: list[int] | None) -> Wanted:
    """The letters that the options name."""
    return Wanted(operator or "", 0 if since is None else moment(since), frozenset(offsets or ()))


def moment(text: str) -> int:
    """`2h` ago, or a time as ISO 8601 has it, in milliseconds since 1970."""
    try:
        return (time.time_ns() - Duration.parse(text).amount) // _MILLION
    except ValueError:
        pass
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        message = f"'{terminal.clean(text)}' is no time; write 30m or 2h, or 2026-11-18T10:00:00Z"
        raise RefusedError(message, option="--since") from None
    return int((found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp() * _SECOND)
