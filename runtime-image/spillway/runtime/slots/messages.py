"""What a slot and its worker say to one another, through the pipe between their processes."""

from __future__ import annotations

from typing import Any

import msgspec

from spillway.runtime.telemetry import Report


class Told(msgspec.Struct, frozen=True):
    """From the slot: its report."""

    report: Report


class Answer(msgspec.Struct, frozen=True):
    """From the slot: what it has of a key.

    Attributes:
        number: of the question.
        found: whether it has the partition of that key, so that the answer counts.
        rows: as JSON objects; none if there is no such row.
        problem: why it can't be asked, for people; empty if it can.
    """

    number: int
    found: bool
    rows: tuple[dict[str, Any], ...] = ()
    problem: str = ""


class Stop(msgspec.Struct, frozen=True):
    """To the slot: give everything away, commit, and end within so many seconds."""

    seconds: float


class Ask(msgspec.Struct, frozen=True):
    """To the slot: what is the row of this key now?

    Attributes:
        number: of the question.
        operator: whose table.
        key: values of its key columns, as JSON has them.
    """

    number: int
    operator: str
    key: dict[str, Any]


FromSlot = Told | Answer
ToSlot = Stop | Ask
