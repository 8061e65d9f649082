"""Slots that start, join and leave, and the partitions that stand still meanwhile.

A slot is paid for from when it is asked for until it is gone: it starts, waits for its partitions, works, gives them
away, and ends. While partitions change hands nobody works on them, and what comes for them waits in the log.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from spillway.simulation.jobs import Mechanism, Platform
from spillway.simulation.lanes import Lane

# Of the slots that work, how many may at once give partitions away or be joined by as many. A job that is a quarter
# short for one pause of 200 ms has made that good within a second of the usual headroom; one slot at a time would need
# 20 s to add a hundred.
AT_ONCE = 4


@dataclasses.dataclass(eq=False, slots=True)
class Aside:
    """Partitions that are apart from the others for a while: they move, or their slot is slow, or dead.

    Attributes:
        share: of all partitions of the crew.
        taken: slots that work on them, or would if they could.
        speed: what those slots do, 1 being usual; 0 stands still.
        until: when that is over.
        joins: by how much more slots work then.
        moves: whether it is a move; there is never more than one.
        ends: slots that end then.
        lanes: by segment, what waits for these partitions.
    """

    share: float
    taken: int
    speed: float
    until: float
    joins: int = 0
    moves: bool = False
    ends: int = 0
    lanes: dict[str, Lane] = dataclasses.field(default_factory=dict)


class Crew:
    """The slots of one segment, or of several that share them. Which queues are divided is for `stages` to do."""

    def __init__(self, slots: int, platform: Platform) -> None:
        self.platform = platform
        self.working = slots
        self.starting: list[float] = []  # when they will be ready
        self.waiting = 0  # ready, and without partitions yet
        self.surplus = 0  # work, and are to go
        self.leaving: list[float] = []  # when they will be gone
        self.asides: list[Aside] = []
        self.still = False  # whether no partition stands still for a move, because nobody's slots own them

    @property
    def asked(self) -> int:
        """How many there will be."""
        ahead = sum(aside.joins for aside in self.asides)
        return self.working + ahead + len(self.starting) + self.waiting - self.surplus

    @property
    def paid(self) -> int:
        """How many are paid for."""
        joining = sum(aside.joins for aside in self.asides if aside.joins > 0)
        return self.working + joining + len(self.starting) + self.waiting + len(self.leaving)

    @property
    def main(self) -> int:
        """How many work on partitions that are not apart."""
        if not self.asides:
            return self.working
        return max(0, self.working - sum(aside.taken for aside in self.asides))

    def ask(self, slots: int, now: float) -> None:
        """From now on so many: those that go are the ones that stay longest without partitions."""
        more = slots - self.asked
        kept = min(max(0, more), self.surplus)
        self.surplus -= kept
        self.starting += [now + self.platform.start] * (more - kept)
        less = max(0, -more)
        while less and self.starting:
            self.starting.pop()
            less -= 1
        unused = min(less, self.waiting)
        self.waiting -= unused
        self.surplus += less - unused

    def advance(self, now: float) -> list[Aside]:
        """Until now; what is no longer apart is returned, its lanes are to be joined with the others."""
        self.waiting += sum(ready <= now for ready in self.starting)
        self.starting = [ready for ready in self.starting if ready > now]
        self.leaving = [gone for gone in self.leaving if gone > now]
        over = [aside for aside in self.asides if aside.until <= now]
        for aside in over:
            self.asides.remove(aside)
            self.working = max(0, self.working + aside.joins)
            self.leaving += [now + self.platform.stop] * aside.ends
        return over

    @property
    def idle(self) -> bool:
        """Whether nothing starts, joins, leaves or is apart."""
        return self.calm and not (self.starting or self.leaving or self.asides)

    @property
    def calm(self) -> bool:
        """Whether nothing is to be moved."""
        return not (self.waiting or self.surplus)

    @property
    def moving(self) -> bool:
        """Whether partitions are on the move."""
        return any(aside.moves for aside in self.asides)

    def move(self, now: float) -> Aside | None:
        """The next move: slots that are ready join in, or those that are too many leave."""
        if self.calm or self.moving:
            return None
        if self.still:
            self.leaving += [now + self.platform.stop] * self.surplus
            self.working, self.waiting, self.surplus = self.working + self.waiting - self.surplus, 0, 0
            return None
        if self.platform.mechanism is Mechanism.GROUP:
            return self._rebalanced(now)
        if self.platform.mechanism is Mechanism.RESTART:
            return None  # all crews together: `restart`
        group = max(1, self.working // AT_ONCE)
        until = now + self.platform.pause
        if self.waiting:
            joins = min(group, self.waiting)
            self.waiting -= joins
            return self.put_aside(Aside(joins / (self.working + joins), 0, 0.0, until, joins, moves=True))
        leaves = min(group, self.surplus)
        self.surplus -= leaves
        return self.put_aside(Aside(leaves / self.working, leaves, 0.0, until, -leaves, moves=True, ends=leaves))

    def _rebalanced(self, now: float) -> Aside:
        """All that are ready join at once, or all that are too many leave."""
        joins, until = self.waiting - self.surplus, now + self.platform.rebalance
        ends, self.waiting, self.surplus = self.surplus, 0, 0
        most = max(self.working, self.working + joins)
        share = abs(joins) / most if most else 0.0
        return self.put_aside(Aside(share, min(ends, self.working), 0.0, until, joins, moves=True, ends=ends))

    def put_aside(self, aside: Aside) -> Aside:
        """These partitions are apart from now on."""
        self.asides.append(aside)
        return aside

    def die(self, now: float) -> Aside | None:
        """One slot dies: its partitions stand still until the takeover, and its pod starts again at once."""
        if not self.main:
            return None
        self.starting.append(now + self.platform.start)
        until = now + self.platform.takeover + self.platform.pause
        return self.put_aside(Aside(1 / self.working, 1, 0.0, until, -1))

    def slow(self, now: float, length: float, speed: float) -> Aside | None:
        """One slot works at another speed for a while."""
        return self.put_aside(Aside(1 / self.working, 1, speed, now + length)) if self.main else None


def restart(crews: Sequence[Crew], now: float, platform: Platform) -> list[tuple[Crew, Aside]]:
    """Once all that start are ready, all stop, and go on together with what they are to be."""
    if all(crew.calm for crew in crews) or any(crew.starting or crew.moving for crew in crews):
        return []
    stopped = []
    for crew in crews:
        joins, ends = crew.waiting - crew.surplus, crew.surplus
        crew.waiting = crew.surplus = 0
        until = now + platform.restart
        aside = Aside(1.0, crew.working, 0.0, until, joins, moves=True, ends=ends)
        stopped.append((crew, crew.put_aside(aside)))
    return stopped


class Cores:
    """The executor cores of the batch engine; they own nothing, so they come and go without a move."""

    def __init__(self, cores: int, platform: Platform) -> None:
        self.platform = platform
        self.working = cores
        self.starting: list[float] = []

    @property
    def asked(self) -> int:
        """How many there will be, and are paid for."""
        return self.working + len(self.starting)

    def ask(self, cores: int, now: float) -> None:
        """From now on so many, within what is always there and what may be had."""
        more = min(max(cores, self.platform.cores), self.platform.cores_most) - self.asked
        self.starting += [now + self.platform.core_start] * more
        while more < 0 and self.starting:
            self.starting.pop()
            more += 1
        self.working += min(0, more)

    def advance(self, now: float) -> None:
        """Until now."""
        self.working += sum(ready <= now for ready in self.starting)
        self.starting = [ready for ready in self.starting if ready > now]
