"""What the state machines ask for. Effects are data: whoever drives a machine carries them out, and tells it so.

Effects of one machine are carried out in their order. None of them has to be undone, and carrying one out twice does
no harm, so an effect whose outcome is unknown is tried again.
"""

from __future__ import annotations

import dataclasses

from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Owner, Partition


@dataclasses.dataclass(frozen=True, slots=True)
class Append:
    """Append a message to the control log."""

    message: messages.Any


# What owners ask for: a slot, or the batch engine.


@dataclasses.dataclass(frozen=True, slots=True)
class Warm:
    """Compile the program and restore the state ahead; then tell `owner.prepared`."""

    partition: Partition
    epoch: int
    program: str


@dataclasses.dataclass(frozen=True, slots=True)
class Forget:
    """Drop what was prepared for this try."""

    partition: Partition
    epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class EmitMarker:
    """Put an empty frame with this epoch on every partition of the output edges, ahead of all records of the epoch."""

    partition: Partition
    epoch: int
    program: str


@dataclasses.dataclass(frozen=True, slots=True)
class ReadBack:
    """Read the own output edges up to the markers of this epoch, then tell `owner.read_back` how far they reach.

    That is the offset behind the last input message of which something stands there, whoever emitted it, or the end of
    the range of a combined frame; 0 if nothing stands there.
    """

    partition: Partition
    epoch: int


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """Process the partition from this offset on, also if it was stopped; frames carry the epoch."""

    partition: Partition
    epoch: int
    program: str
    start: int


@dataclasses.dataclass(frozen=True, slots=True)
class Stop:
    """Process no further record of the partition, and throw away what isn't sent, unless a `Flush` follows."""

    partition: Partition


@dataclasses.dataclass(frozen=True, slots=True)
class Flush:
    """Send what is buffered of the partition, and tell `owner.acknowledged` when the broker has it all."""

    partition: Partition


@dataclasses.dataclass(frozen=True, slots=True)
class Commit:
    """Commit state and input positions in one transaction; then tell `committed`, or `fenced`.

    Attributes:
        positions: by partition, up to where.
        intent: the number of the intent that ends with it; 0 if none does.
    """

    positions: tuple[tuple[Partition, int], ...]
    intent: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """Run an intent, and tell `engine.ran` when the broker has all of its outputs; frames carry these epochs."""

    intent: messages.Intent
    epochs: tuple[tuple[Partition, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Restart:
    """Drop everything and come back as a new life: another one has this place, or the broker has fenced this one."""


# What the leader asks for.


@dataclasses.dataclass(frozen=True, slots=True)
class Fence:
    """Fence the transactional id of an owner; then tell `leader.fenced`. From there on it commits nothing."""

    owner: Owner


@dataclasses.dataclass(frozen=True, slots=True)
class ReadCommitted:
    """Read the committed input position of a partition; then tell `leader.committed`. Without one: where it begins."""

    partition: Partition


Any = (
    Append
    | Warm
    | Forget
    | EmitMarker
    | ReadBack
    | Start
    | Stop
    | Flush
    | Commit
    | Run
    | Restart
    | Fence
    | ReadCommitted
)
