"""How long the crash tests run: once and always the same in `make crashes`, for rounds with new dice in `make chaos`.

`make chaos` sets SPILLWAY_CHAOS to the number of rounds; each test's name has its seed, and SPILLWAY_SEED repeats it.
"""

from __future__ import annotations

import os
import random

import fuzzing

ROUNDS = int(os.environ.get("SPILLWAY_CHAOS") or 0)
LONG = ROUNDS > 0


def seeds() -> list[int]:
    """One for each round."""
    if given := os.environ.get("SPILLWAY_SEED"):
        return [int(given)]
    return [random.SystemRandom().randrange(2**32) for _ in range(ROUNDS)] or [fuzzing.ALWAYS_THE_SAME]
