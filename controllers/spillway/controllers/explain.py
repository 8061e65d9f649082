"""What every decision has beside its result, so that a person can ask why."""

from __future__ import annotations

from typing import NamedTuple


class Alternative(NamedTuple):
    """What could have been decided instead, and why it lost."""

    what: str
    why_not: str

    def __str__(self) -> str:
        return f"not {self.what}: {self.why_not}"
