"""Every error of Spillway, as one tree.

SpillwayError
├── NotReadyError        something is not there yet: skip quietly, look again later
├── RetryError           something failed that may pass: back off and try again
└── TerminalError        no retry helps: say so and wait for a change
    └── InvalidError     what somebody wrote cannot be accepted; carries all mistakes at once

A `Mistake` is not an exception: validation collects them all before anything is raised.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence

Path = tuple[str | int, ...]


class SpillwayError(Exception):
    """The root: whoever catches this catches everything that Spillway raises on purpose."""


class NotReadyError(SpillwayError):
    """Something is not there yet; skip quietly and look again later."""


class RetryError(SpillwayError):
    """Something failed that may pass; back off and try again."""


class TerminalError(SpillwayError):
    """No retry helps: say so, and wait for a change."""


@dataclasses.dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in what somebody wrote, and where it stands."""

    path: Path
    message: str

    @property
    def place(self) -> str:
        """The path as people write it: `spec.operators[2].filter`."""
        text = ""
        for step in self.path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text

    def under(self, *prefix: str | int) -> Mistake:
        """The same mistake, seen from further up."""
        return Mistake((*prefix, *self.path), self.message)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.path else self.message


class InvalidError(TerminalError):
    """What somebody wrote cannot be accepted."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'event_type'?` for the nearest known word, or nothing when none is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""
