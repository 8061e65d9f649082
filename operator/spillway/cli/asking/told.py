"""Decisions as drivers tell them: `GET /v1/decisions` has those that were news, `GET /v1/deciding` those of now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from spillway.local.driver import DriverError


class Alternative(msgspec.Struct, frozen=True, rename="camel"):
    """What could have been decided instead, and why it lost."""

    what: str
    why_not: str


class Decision(msgspec.Struct, frozen=True):
    """One decision.

    Attributes:
        reason: out of a closed set.
        sentence: why, with the numbers of the case.
        inputs: what it looked at, by name.
        alternatives: what lost.
        part: of the driver that has decided.
        at: when, in seconds since 1970; 0 is now.
        point: of a verdict, the segment that it is about.
        operators: of a switch, those that change their paradigm.
        to: of a switch, the paradigm.
    """

    reason: str
    sentence: str
    inputs: dict[str, str] = {}
    alternatives: tuple[Alternative, ...] = ()
    part: str = ""
    at: float = 0.0
    point: str | None = None
    operators: tuple[str, ...] = ()
    to: str | None = None


class Switching(Decision, frozen=True):
    """What is decided about paradigms, with what every segment is in favour of."""

    verdicts: tuple[Decision, ...] = ()


class Deciding(msgspec.Struct, frozen=True):
    """What is decided now; a part of which nothing is told is missing."""

    switching: Switching | None = None
    provisioning: Decision | None = None


def decision(told: Mapping[str, Any]) -> Decision:
    """One of them; raises DriverError for what is none."""
    try:
        return msgspec.convert(told, Decision)
    except msgspec.ValidationError as error:
        raise _unfit(error) from error


def deciding(told: Mapping[str, Any]) -> Deciding:
    """Those of now."""
    try:
        return msgspec.convert(told, Deciding)
    except msgspec.ValidationError as error:
        raise _unfit(error) from error


def _unfit(error: Exception) -> DriverError:
    return DriverError(f"the driver tells decisions that can't be read here: {error}")
