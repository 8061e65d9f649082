"""Conditions, told when they turn and stay so: what is only passed through on the way is no news."""

from __future__ import annotations

from collections.abc import Iterable

from spillway.local.events import Event, Kind, Look
from spillway.model.observation import Condition

# Seconds. A start, a move and a new leader pass through several of them within one.
STAYS = 2.0
# What holds while all is well; of any other type, neither is better.
WELL = {"Accepted": True, "Topics": True, "Leading": True, "Assigned": True, "RollOut": True, "Paused": False}

State = tuple[bool, str, str]


class Conditions:
    """What was told of each condition, and what may be told soon."""

    def __init__(self) -> None:
        self._told: dict[str, State] = {}
        self._turned: dict[str, tuple[State, float]] = {}

    def heard(self, conditions: Iterable[Condition], now: float) -> list[Event]:
        """What has turned, and stayed so for long enough. That all is well is only news after it was not."""
        events = []
        for condition in conditions:
            name, state = condition.type, (condition.status, condition.reason, condition.message)
            told = self._told.get(name)
            well = WELL.get(name) is condition.status
            if told == state or (well and (told is None or told[0] is condition.status)):
                self._turned.pop(name, None)
                self._told[name] = state
                continue
            before, since = self._turned.get(name, (state, now))
            if before[:2] != state[:2]:
                since = now
            self._turned[name] = (state, since)
            if told is not None and told[:2] == state[:2]:
                continue  # other words for the same
            if now - since >= STAYS:
                self._told[name] = state
                events.append(_event(condition))
        return events


def _event(condition: Condition) -> Event:
    well = WELL.get(condition.type)
    look = Look.PLAIN if well is None else Look.GOOD if condition.status is well else Look.WARNING
    said = f"{condition.type} is {'true' if condition.status else 'false'} ({condition.reason})"
    data = {"type": condition.type, "status": condition.status, "reason": condition.reason}
    text = f"{said}: {condition.message}" if condition.message else said
    return Event(Kind.CONDITION, text, look, {**data, "message": condition.message})
