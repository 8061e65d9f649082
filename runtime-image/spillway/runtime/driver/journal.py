"""Which partitions changed hands, when and why: read from the control log as it goes on. Pure.

The pause of a move is the time from which its owner was asked to stop (or, where it was lost, from when that was
noticed) until the next one was assigned. To that comes what the heir takes for its first record. Ahead of the pause the
heir prepares, and the owner still works.
"""

from __future__ import annotations

import bisect
import collections
from collections.abc import Mapping, Sequence

from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.values import ENGINE, Partition
from spillway.model.observation import MOVES, Move, MoveKind
from spillway.runtime.driver.liveness import SILENT

# Bounds of the buckets of pauses, in seconds: three for each factor of ten, from a quick switch to a slow takeover.
PAUSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

_WHY = {
    MoveKind.START: "nobody processed it",
    MoveKind.RESIZE: "partitions are spread over the slots that there are",
    MoveKind.SWITCH: "its paradigm changed",
    MoveKind.PROGRAM: "its program changed",
    MoveKind.TAKEOVER: "its owner was lost",
    MoveKind.REST: "it came to rest",
}


class Journal:
    """The last moves.

    Attributes:
        moves: those.
        counts: how many there were, by kind.
        pauses: by kind, how many of them paused for how long, by bucket of `PAUSES` and beyond; and their sum.
    """

    def __init__(self) -> None:
        self.moves: collections.deque[Move] = collections.deque(maxlen=MOVES)
        self.counts: collections.Counter[MoveKind] = collections.Counter()
        self.pauses: dict[MoveKind, tuple[Sequence[int], float]] = {}
        self._begun: dict[Partition, float] = {}
        self._prepared: dict[Partition, float] = {}
        self._stopped: dict[Partition, float] = {}
        self._ended: dict[str, str] = {}  # by slot: why its last life ended, where that is known
        self._lost: dict[Partition, bool] = {}  # those whose owner is given up, and whether because it was silent

    def lost(self, place: Partition, at: float, *, silent: bool) -> None:
        """Its owner is given up; because it was `silent`, or because it said itself that it begins anew."""
        self._stopped.setdefault(place, at)
        self._lost.setdefault(place, silent)

    def read(
        self,
        before: log.State,
        message: messages.Any,
        at: float,
        why: Mapping[Partition, str] | None = None,
        switched: Mapping[str, str] | None = None,
    ) -> None:
        """A message that counted; `before` is what the log said ahead of it.

        The reasons of those that decide: `why` partitions go from slot to slot, and segments were `switched`.
        """
        match message:
            case messages.Join():
                self._ended[message.slot] = message.why
            case messages.Prepare():
                self._begun[message.partition] = at
            case messages.Release():
                self._stopped[message.partition] = at
                if (begun := self._begun.get(message.partition)) is not None:
                    self._prepared[message.partition] = max(0.0, (at - begun) * 1e3)
            case messages.Cancel():
                for known in (self._begun, self._prepared, self._stopped):
                    known.pop(message.partition, None)
            case messages.Released():
                holding = before.holdings.get(message.partition)
                if holding and holding.move and holding.move.heir is None:
                    self._note(message.partition, MoveKind.REST, holding.owner.slot, None, None, at, why)
            case messages.Assign():
                self._assigned(before, message, at, why, switched or {})

    def _assigned(
        self,
        before: log.State,
        message: messages.Assign,
        at: float,
        why: Mapping[Partition, str] | None,
        switched: Mapping[str, str],
    ) -> None:
        place, holding = message.partition, before.holdings.get(message.partition)
        stopped, prepared = self._stopped.pop(place, None), self._prepared.pop(place, None)
        silent = self._lost.pop(place, False)
        self._begun.pop(place, None)
        move = holding.move if holding else None
        rested = move is not None and move.cut is not None and move.heir is None
        if holding is None or (rested and holding.program == message.program):
            self._note(place, MoveKind.START, None, message.owner.slot, None, at, why)
            return
        if message.takeover:
            kind, why = MoveKind.TAKEOVER, {place: self._taken(holding.owner.slot, silent=silent)}
        elif (holding.owner.slot == ENGINE) != (message.owner.slot == ENGINE):
            kind = MoveKind.SWITCH  # also with another program, where a segment is split, or is one again
            why = {place: reason} if (reason := switched.get(place.segment)) else None
        elif holding.program != message.program:
            kind = MoveKind.PROGRAM  # also of one that rested meanwhile, so that its edge could be emptied
        else:
            kind = MoveKind.RESIZE
        pause = None if stopped is None else max(0.0, (at - stopped) * 1e3)
        self._note(place, kind, holding.owner.slot, message.owner.slot, pause, at, why, prepared)

    def _taken(self, slot: str, *, silent: bool) -> str:
        """Why an owner was lost, as far as that is known."""
        known = f"nothing was heard of it for {SILENT:g} s" if silent else self._ended.get(slot)
        return f"{_WHY[MoveKind.TAKEOVER]}: {known}" if known else _WHY[MoveKind.TAKEOVER]

    def _note(
        self,
        place: Partition,
        kind: MoveKind,
        source: str | None,
        target: str | None,
        pause: float | None,
        at: float,
        why: Mapping[Partition, str] | None,
        prepared: float | None = None,
    ) -> None:
        reason = (why or {}).get(place) or _WHY[kind]
        if kind in (MoveKind.PROGRAM, MoveKind.REST):  # `why` is of who gets what
            reason = _WHY[kind]
        self.moves.append(Move(at, kind, str(place), source, target, pause, reason, prepared))
        self.counts[kind] += 1
        if pause is not None:
            self._paused(kind, pause / 1e3)

    def _paused(self, kind: MoveKind, seconds: float) -> None:
        """Counts a pause; what was told before stays as it was, for others read it."""
        before, total = self.pauses.get(kind, ((0,) * (len(PAUSES) + 1), 0.0))
        buckets = [*before]
        buckets[bisect.bisect_left(PAUSES, seconds)] += 1
        self.pauses[kind] = tuple(buckets), total + seconds
