"""Moves of partitions, told together: a resize of sixteen partitions is one piece of news, not sixteen.

Moves of one kind for one reason are gathered until none of them has come for `QUIET`, or for `LONGEST` at the most.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from spillway.local.events import Event, Kind, Look
from spillway.model.observation import Move, MoveKind

QUIET = 1.0  # seconds; moves of one resize come a few hundred milliseconds apart
LONGEST = 5.0  # seconds; a long one is told in parts, so that somebody who watches sees it go on


@dataclasses.dataclass(slots=True)
class _Gathered:
    moves: list[Move]
    begun: float
    last: float


class Moves:
    """What was gathered, and not told yet."""

    def __init__(self) -> None:
        self._known: frozenset[tuple[float, str, str | None]] | None = None
        self._open: dict[tuple[MoveKind, str], _Gathered] = {}

    def heard(self, told: Iterable[Move], now: float) -> None:
        """What a driver tells: those among them that it has told before do not count."""
        moves = list(told)
        known = self._known or frozenset()
        for move in moves:
            if (move.at, move.partition, move.target) not in known:
                group = self._open.setdefault((move.kind, move.reason), _Gathered([], now, now))
                group.moves.append(move)
                group.last = now
        self._known = frozenset((move.at, move.partition, move.target) for move in moves)

    def due(self, now: float, *, all_of_them: bool = False) -> list[Event]:
        """What is complete by now."""
        done = [
            key
            for key, group in self._open.items()
            if all_of_them or now - group.last >= QUIET or now - group.begun >= LONGEST
        ]
        return [_event(kind, reason, self._open.pop((kind, reason)).moves) for kind, reason in done]


def _event(kind: MoveKind, reason: str, moves: list[Move]) -> Event:
    pauses = [move.pause_ms for move in moves if move.pause_ms is not None]
    segments = list(dict.fromkeys(move.partition.rpartition("/")[0] for move in moves))
    sources = sorted({move.source for move in moves if move.source})
    targets = sorted({move.target for move in moves if move.target})
    what = moves[0].partition if len(moves) == 1 else f"{len(moves)} partitions of {_listed(segments)}"
    way = " ".join(
        part for part in (f"from {_listed(sources)}" * bool(sources), f"to {_listed(targets)}" * bool(targets)) if part
    )
    pause = f", {'longest pause' if len(pauses) > 1 else 'pause'} {max(pauses):.0f} ms" if pauses else ""
    why = f": {reason}" if reason else ""
    data = {
        "move": str(kind),
        "partitions": [move.partition for move in moves],
        "from": sources,
        "to": targets,
        "pause_ms_max": max(pauses, default=None),
        "reason": reason,
    }
    look = Look.WARNING if kind is MoveKind.TAKEOVER else Look.PLAIN
    return Event(Kind.MOVES, f"{kind}: {' '.join(filter(None, (what, way)))}{pause}{why}", look, data)


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"
