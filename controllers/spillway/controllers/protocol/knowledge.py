"""What a driver knows while it leads, and what it is told."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from spillway.controllers.protocol import effects, log, messages, rules
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.values import Owner, Partition


class Target(NamedTuple):
    """Where a partition shall be.

    Attributes:
        slot: whose; `ENGINE` for the batch engine; None to have it rest without an owner.
        program: what it shall run.
    """

    slot: str | None
    program: str


class Committed(NamedTuple):
    """A committed position, as read while the partition was held under an epoch whose owner had been fenced."""

    epoch: int
    position: int


@dataclasses.dataclass(frozen=True, slots=True)
class Leader:
    """A driver that leads, or wants to.

    Attributes:
        driver: one life of a driver, unlike any other.
        limit: how many partitions may be on the move at once.
        log: what the control log says, as far as it was read.
        asked: the highest number under which it asked to lead; 0 before it has read the log to its end.
        wanted: where each partition shall be.
        silent: owners that weren't heard of for too long.
        fenced: owners that it has fenced.
        committed: positions that it has read from behind a fence.
        late: tries to move that take too long.
        failed: partitions whose last try failed.
        pending: what it has asked for, and not yet been answered.
    """

    driver: str
    limit: int
    log: log.State = dataclasses.field(default_factory=log.State)
    asked: int = 0
    wanted: Frozen[Partition, Target] = dataclasses.field(default_factory=Frozen)
    silent: frozenset[Owner] = frozenset()
    fenced: frozenset[Owner] = frozenset()
    committed: Frozen[Partition, Committed] = dataclasses.field(default_factory=Frozen)
    late: frozenset[tuple[Partition, int]] = frozenset()
    failed: frozenset[Partition] = frozenset()
    pending: frozenset[effects.Any] = frozenset()

    @property
    def leads(self) -> bool:
        """Whether it leads, as far as it has read."""
        return self.log.driver == self.driver and self.log.leader == self.asked

    @property
    def deposed(self) -> bool:
        """Whether somebody else leads, though it has asked to: it has nothing more to do, and should end."""
        asking = effects.Append(messages.Lead(self.asked, self.driver))
        return self.asked > 0 and not self.leads and asking not in self.pending

    def lost(self, owner: Owner) -> bool:
        """Whether an owner is given up: silent, fenced, or not the present life."""
        return owner in self.silent or owner in self.fenced or owner != self.log.living(owner.slot)

    def living(self, slot: str | None) -> Owner | None:
        """The life of a slot that can be given something."""
        owner = self.log.living(slot) if slot else None
        return None if owner is None or self.lost(owner) else owner

    def epoch(self, partition: Partition) -> int:
        """Under which a partition is held; 0 if nobody ever had it."""
        holding = self.log.holdings.get(partition)
        return holding.epoch if holding else 0

    def position(self, partition: Partition) -> int | None:
        """Its committed position, if that was read since it came to its present owner."""
        known = self.committed.get(partition)
        return known.position if known and known.epoch == self.epoch(partition) else None


def read(me: Leader, message: messages.Any, keep: rules.Rules = rules.ALL) -> tuple[Leader, bool]:
    """The next message of the log, and whether it counts."""
    state, counts = log.read(me.log, message, keep)
    return dataclasses.replace(me, log=state, pending=me.pending - {effects.Append(message)}), counts


def want(me: Leader, wanted: Mapping[Partition, Target]) -> Leader:
    """From now on this is wanted; partitions that aren't named stay where they are. Failures are forgotten."""
    return dataclasses.replace(me, wanted=Frozen(wanted), failed=frozenset())


def silent(me: Leader, owner: Owner) -> Leader:
    """An owner wasn't heard of for too long."""
    return dataclasses.replace(me, silent=me.silent | {owner})


def heard(me: Leader, owner: Owner) -> Leader:
    """An owner that was silent is there again. If it has been fenced meanwhile, that doesn't help it."""
    return dataclasses.replace(me, silent=me.silent - {owner})


def fenced(me: Leader, owner: Owner) -> Leader:
    """An owner is fenced."""
    return dataclasses.replace(me, fenced=me.fenced | {owner}, pending=me.pending - {effects.Fence(owner)})


def committed(me: Leader, partition: Partition, position: int) -> Leader:
    """The committed position of a partition, as asked for with `ReadCommitted`."""
    known = me.committed.put(partition, Committed(me.epoch(partition), position))
    return dataclasses.replace(me, committed=known, pending=me.pending - {effects.ReadCommitted(partition)})


def late(me: Leader, partition: Partition, epoch: int) -> Leader:
    """A try to move takes too long: to prepare, or to be released."""
    return dataclasses.replace(me, late=me.late | {(partition, epoch)})
