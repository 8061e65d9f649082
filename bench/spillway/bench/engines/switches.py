"""Switches between paradigms as a driver tells of them, and what can be read off them. Pure."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spillway.bench.record.logs import Record
from spillway.controllers.protocol import messages, wire
from spillway.model.observation import Move, MoveKind, Segment
from spillway.model.operators import Paradigm


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """A decision to switch.

    Attributes:
        at: when it was made: when a burst, or its end, was found out.
        to: the paradigm.
        reason: in one word.
        sentence: why.
        first: seconds from then until the first batch was done; None if none was, or back to record by record.
    """

    at: float
    to: Paradigm
    reason: str
    sentence: str
    first: float | None = None


@dataclasses.dataclass
class Heard:
    """All that a driver has told over a run, told again and again."""

    moves: dict[tuple[float, str], Move] = dataclasses.field(default_factory=dict)
    decisions: dict[tuple[float, str], Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    batches: set[float] = dataclasses.field(default_factory=set)

    def moved(self, moves: Iterable[Move]) -> None:
        """Partitions that changed hands."""
        self.moves |= {(move.at, move.partition): move for move in moves}

    def decided(self, decisions: Iterable[Mapping[str, Any]]) -> None:
        """What was decided."""
        self.decisions |= {(float(one["at"]), str(one["part"])): one for one in decisions}

    def worked(self, segments: Iterable[Segment]) -> None:
        """When their last batches were done."""
        self.batches |= {one.batch.at for one in segments if one.batch is not None}

    def done(self, log: Iterable[Record]) -> None:
        """When batches were done, by what the control log still has; it is cut off now and then."""
        self.batches |= {one.at / 1000 for one in log if isinstance(wire.decode(one.value or b""), messages.Done)}

    def switches(self, since: float = 0.0) -> list[Switch]:
        """All switches that were decided since then, the first one first."""
        found = []
        for one in sorted(self.decisions.values(), key=lambda one: float(one["at"])):
            at = float(one["at"])
            if one["part"] == "switching" and one.get("to") and at >= since:
                to = Paradigm(str(one["to"]).lower())
                first = min((done for done in self.batches if done >= at), default=None)
                took = first - at if first is not None and to is Paradigm.BATCH else None
                found.append(Switch(at, to, str(one["reason"]), str(one["sentence"]), took))
        return found

    def pauses(self, since: float = 0.0) -> list[float]:
        """Milliseconds for which each partition that switched had no owner."""
        moved = (one for one in self.moves.values() if one.kind is MoveKind.SWITCH and one.at >= since)
        return [one.pause_ms for one in moved if one.pause_ms is not None]


def by_edge(switches: Sequence[Switch], edges: Sequence[float]) -> list[int]:
    """How many switches followed each edge of the load, before the next one; those before the first come first."""
    bounds = [float("-inf"), *edges, float("inf")]
    return [sum(begin <= one.at < end for one in switches) for begin, end in itertools.pairwise(bounds)]
