"""A state as JSON has it, and back: the same state, so that profiling goes on as if it had not been stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from spillway.controllers.profiling.rounds import VERSION, State


def as_data(state: State) -> dict[str, Any]:
    """Only what JSON has: floats stay exact, because their shortest decimal is written."""
    return {"version": VERSION, "state": msgspec.to_builtins(state)}


def from_data(data: Mapping[str, Any]) -> State:
    """Raises ValueError for what is no state, or one of another version."""
    version = data.get("version")
    if version != VERSION:
        message = f"this is a profile of version {version}, and version {VERSION} is read; profile again"
        raise ValueError(message)
    try:
        return msgspec.convert(data.get("state"), State)
    except msgspec.ValidationError as error:
        message = f"this is no stored profile: {error}; profile again"
        raise ValueError(message) from None
