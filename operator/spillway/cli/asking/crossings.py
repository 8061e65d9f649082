"""How far a switch is that somebody asked for: which partitions have got there, and how long each one paused."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping

from spillway.cli.asking import places
from spillway.cli.asking.places import Place
from spillway.controllers.protocol.values import ENGINE
from spillway.local.driver import DriverError
from spillway.model.observation import Move, MoveKind, Observation
from spillway.model.operators import Paradigm

TURN = 0.1  # seconds; a partition pauses for some tens of milliseconds
# Seconds until nobody waits any longer. All partitions together take about one; a new owner that is late has ten.
PATIENCE = 30.0


@dataclasses.dataclass(frozen=True, slots=True)
class Crossing:
    """A switch on its way.

    Attributes:
        to: the paradigm.
        operators: those that change it. Where they are a part of a program, that is split, or one again.
        segments: those that have them, with how many partitions each has.
        moves: of their partitions, so far, in the order in which they were done.
        seconds: since it was asked for.
        arrived: whether all of it runs there.
        problem: why it does not get there, as far as that is known.
    """

    to: Paradigm
    operators: tuple[str, ...]
    segments: Mapping[str, int]
    moves: tuple[Move, ...] = ()
    seconds: float = 0.0
    arrived: bool = False
    problem: str = ""

    @property
    def there(self) -> int:
        """How many partitions have got there."""
        return len({move.partition for move in self.moves})

    @property
    def partitions(self) -> int:
        """How many there are."""
        return sum(self.segments.values())

    @property
    def pauses(self) -> list[float]:
        """How long partitions paused, in milliseconds, the shortest first."""
        return sorted(move.pause_ms for move in self.moves if move.pause_ms is not None)

    @property
    def longest(self) -> Move | None:
        """The move with the longest pause."""
        return max(
            (move for move in self.moves if move.pause_ms is not None), key=lambda m: m.pause_ms or 0.0, default=None
        )


def begun(seen: Observation, operators: tuple[str, ...], to: Paradigm) -> Crossing:
    """A switch that was asked for just now."""
    planned = seen.plan.segments if seen.plan else ()
    mine = {one.name: one.partitions for one in planned if not set(one.operators).isdisjoint(operators)}
    return Crossing(to, operators, mine)


def runs(seen: Observation, operators: tuple[str, ...], to: Paradigm) -> bool:
    """Whether all segments of these operators run so, and nothing of them is on its way."""
    mine = begun(seen, operators, to).segments
    return bool(mine) and all(s.paradigm is to and not s.moving for s in seen.segments if s.name in mine)


def further(before: Crossing, seen: Observation, since: float, seconds: float) -> Crossing:
    """How far it is by now; `since` is when it was asked for, by the driver's clock."""
    if _is_planned(seen, before):  # in segments that may be others than those before
        before = dataclasses.replace(before, segments=begun(seen, before.operators, before.to).segments)
    known = dict.fromkeys((*before.moves, *(move for move in seen.moves if _belongs(move, before, since))))
    mine = [segment for segment in seen.segments if segment.name in before.segments]
    arrived = bool(mine) and all(segment.paradigm is before.to and not segment.moving for segment in mine)
    arrived = arrived and _is_rolled_out(seen)
    problem = "" if arrived else next((c.message for c in seen.conditions if _hinders(c.type, c.reason)), "")
    return dataclasses.replace(before, moves=tuple(known), seconds=seconds, arrived=arrived, problem=problem)


def follow(place: Place, crossing: Crossing, since: float, progress: Callable[[Crossing], None]) -> Crossing:
    """Wait until it is there, or for `PATIENCE`; or until the driver has given it up."""
    began, planned = time.monotonic(), False
    while (seconds := time.monotonic() - began) < PATIENCE:
        try:
            seen = place.observation()
        except DriverError as error:
            if place.ended:
                return dataclasses.replace(crossing, seconds=seconds, problem=f"the run of {place.job} has ended")
            # It may be started again, and goes on then.
            crossing, place = dataclasses.replace(crossing, seconds=seconds, problem=str(error)), places.again(place)
        else:
            crossing = further(crossing, seen, since, seconds)
            is_planned = _is_planned(seen, crossing)
            if crossing.arrived:
                break
            if planned and not is_planned:
                why = crossing.problem or "the driver's log says why, and `spillway decisions`"
                crossing = dataclasses.replace(crossing, problem=f"given up: {why}")
                break
            planned = is_planned
        progress(crossing)
        time.sleep(TURN)
    return crossing


def _belongs(move: Move, crossing: Crossing, since: float) -> bool:
    mine = move.kind is MoveKind.SWITCH and move.at >= since
    there = (move.target == ENGINE) is (crossing.to is Paradigm.BATCH)
    return mine and there and move.partition.rpartition("/")[0] in crossing.segments


def _hinders(kind: str, reason: str) -> bool:
    return kind == "Assigned" and reason == "MovesFail"


def _is_planned(seen: Observation, crossing: Crossing) -> bool:
    planned = seen.plan.segments if seen.plan else ()
    mine = [one for one in planned if not set(one.operators).isdisjoint(crossing.operators)]
    return bool(mine) and all(one.paradigm is crossing.to for one in mine)


def _is_rolled_out(seen: Observation) -> bool:
    """Whether every partition runs the program that is planned: a program that is one again may still have to begin."""
    return all(one.status for one in seen.conditions if one.type == "RollOut")
