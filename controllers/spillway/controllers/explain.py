"""What every decision has beside its result, so that a person can ask why.

A decision has a `reason` out of a closed set, one `sentence` with the numbers of this case, the `inputs` that it
looked at, and the `alternatives` that lost, each with the reason why. "Nothing to do" is a decision like any other.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple, Protocol


class Reasons(enum.StrEnum):
    """The base of every closed set of reasons: a member is its name for programs, and has a `meaning` for people.

    `STEADY = "Steady", "The size is what is needed."` in the body of such a set makes one.
    """

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Reasons:
        """A member and what it means."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class Alternative(NamedTuple):
    """What could have been decided instead, and why it lost."""

    what: str
    why_not: str

    def __str__(self) -> str:
        return f"not {self.what}: {self.why_not}"


Inputs = tuple[tuple[str, str], ...]  # what a decision looked at, by name, as people read it


class Explained(Protocol):
    """What all decisions have in common."""

    @property
    def reason(self) -> Reasons:
        """Why, out of a closed set."""

    @property
    def sentence(self) -> str:
        """Why, with the numbers of this case."""

    @property
    def inputs(self) -> Inputs:
        """What it looked at."""

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What lost, and why."""


def data(decision: Explained) -> dict[str, Any]:
    """The why of a decision as JSON has it."""
    return {
        "reason": str(decision.reason),
        "sentence": decision.sentence,
        "inputs": dict(decision.inputs),
        "alternatives": [{"what": what, "whyNot": why_not} for what, why_not in decision.alternatives],
    }


def told(decision: Explained) -> str:
    """The why of a decision in one line."""
    return " ".join([f"{decision.sentence.rstrip('.')}.", *(f"Rejected: {lost}." for lost in decision.alternatives)])
