"""Partitions that changed hands, told together: those of one kind, of one reason, shortly after one another. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spillway.controllers.protocol.values import ENGINE
from spillway.model.observation import Move, MoveKind

# What a report is about; the others are the beginning and the end of a run.
TOLD = (MoveKind.SWITCH, MoveKind.RESIZE, MoveKind.PROGRAM, MoveKind.TAKEOVER)
QUIET = 2.0  # seconds; partitions of one switch follow one another by some hundred milliseconds


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Moves that belong together.

    Attributes:
        moves: in the order in which they were done.
    """

    moves: tuple[Move, ...]

    @property
    def kind(self) -> MoveKind:
        """Why."""
        return self.moves[0].kind

    @property
    def segments(self) -> list[str]:
        """Of which segments."""
        return list(dict.fromkeys(move.partition.rpartition("/")[0] for move in self.moves))

    @property
    def pause(self) -> float | None:
        """The longest, in milliseconds."""
        return max((move.pause_ms for move in self.moves if move.pause_ms is not None), default=None)

    @property
    def to_batches(self) -> bool:
        """Whether it is a switch to batches."""
        return self.kind is MoveKind.SWITCH and self.moves[0].target == ENGINE

    @property
    def ways(self) -> tuple[str, str]:
        """From where to where: paradigms for a switch, else slots."""
        if self.kind is MoveKind.SWITCH:
            return ("record", "batch") if self.to_batches else ("batch", "record")
        sources = sorted({move.source for move in self.moves if move.source})
        targets = sorted({move.target for move in self.moves if move.target})
        return ", ".join(sources), ", ".join(targets)

    def told(self, operators: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """As the report has it; `operators` are those of each segment."""
        source, target = self.ways
        return {
            "at": round(self.moves[0].at, 3),
            "kind": str(self.kind),
            "operators": [name for segment in self.segments for name in operators.get(segment, (segment,))],
            "from": source,
            "to": target,
            "partitions": len(self.moves),
            "pause_ms_max": None if self.pause is None else round(self.pause, 1),
            "reason": self.moves[0].reason,
        }


class Log:
    """All moves of a run, as a driver tells them again and again."""

    def __init__(self) -> None:
        self._known: dict[tuple[float, str, str | None], Move] = {}

    def heard(self, moves: Iterable[Move]) -> None:
        """What a driver tells now."""
        for move in moves:
            if move.kind in TOLD:
                self._known.setdefault((move.at, move.partition, move.target), move)

    def groups(self, now: float | None = None) -> list[Group]:
        """All of them; with `now`, only those that are complete by then."""
        return [group for group in grouped(self._known.values()) if now is None or now - group.moves[-1].at >= QUIET]


def grouped(moves: Iterable[Move]) -> list[Group]:
    """In the order in which they began."""
    found: list[list[Move]] = []
    for move in sorted(moves, key=lambda one: one.at):
        mine = (group for group in reversed(found) if _alike(group[-1], move))
        group = next(mine, None)
        if group is None:
            found.append([move])
        else:
            group.append(move)
    return [Group(tuple(group)) for group in found]


def _alike(last: Move, move: Move) -> bool:
    same = last.kind is move.kind and (last.target == ENGINE) == (move.target == ENGINE)
    return same and move.at - last.at < QUIET and (last.kind is not MoveKind.SWITCH or last.reason == move.reason)
