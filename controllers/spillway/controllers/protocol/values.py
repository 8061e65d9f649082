"""What the protocol speaks of: partitions, owners, tries to move. Bounded, so that nothing absurd can be read."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from spillway.model import errors

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]  # as long as Kubernetes allows for names
LONGEST_TEXT = 1000
Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # what every reader of JSON holds exactly
ENGINE = "batch"  # the slot's name of the batch engine; its incarnation is the number of the leader that runs it


class ProtocolError(errors.TerminalError):
    """What stands in the control log, or on an edge, can't be: to go on would be a guess."""


class Partition(NamedTuple):
    """One partition of the input of one segment. A tuple: ten thousand are sorted and hashed in each assignment."""

    segment: Name
    number: Count

    def __str__(self) -> str:
        return f"{self.segment}/{self.number}"


class Owner(NamedTuple):
    """One life of a slot, or of the batch engine; its transactional id is made of both, so it can be fenced alone."""

    slot: Name
    incarnation: Count

    def __str__(self) -> str:
        return f"{self.slot}#{self.incarnation}"


class Range(NamedTuple):
    """Input offsets of one partition, from `start` up to, without, `stop`."""

    partition: Partition
    start: Count
    stop: Count


class Reach(NamedTuple):
    """How far a partition of a table's topic is read, up to, without, `stop`."""

    topic: Name
    number: Count
    stop: Count


class Try(NamedTuple):
    """A try to move a partition, as far as the log tells of it.

    Attributes:
        epoch: its number among all tries and epochs of the partition.
        heir: who is to get it; None if it is to rest.
        program: what the heir is to run.
        ready: the heir has prepared, or there is none.
        problem: why the heir can't.
        releasing: the owner has been asked to stop.
        cut: where it stopped.
    """

    epoch: Count
    heir: Owner | None
    program: Name
    ready: bool = False
    problem: Text = ""
    releasing: bool = False
    cut: Count | None = None


class Holding(NamedTuple):
    """Who has a partition, as far as the log tells.

    Attributes:
        owner: who has it, or had it until the cut.
        epoch: under which.
        program: what the owner runs.
        start: where the owner started.
        last: the highest epoch that was ever named for the partition.
        move: the try to move it that is under way.
    """

    owner: Owner
    epoch: Count
    program: Name
    start: Count
    last: Count
    move: Try | None = None


class Member(NamedTuple):
    """Who is a slot now.

    Attributes:
        incarnation: its life.
        process: which process that is.
        fenced: whether that life is over, though no other has begun.
    """

    incarnation: Count
    process: Name
    fenced: bool = False
