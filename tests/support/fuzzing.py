"""How much the random tests try, and with which dice.

`make test` tries little, and the same each time: who changes a comment must not be stopped by a difference that
somebody else's change brought. `make fuzz` sets SPILLWAY_FUZZ to a factor, and throws new dice; what it finds is
reproduced with the SPILLWAY_SEED that it prints, or by hypothesis's own message.
"""

from __future__ import annotations

import os
import random

import hypothesis

FACTOR = int(os.environ.get("SPILLWAY_FUZZ") or 1)  # how many times as much as `make test`
ALWAYS_THE_SAME = 20261118


def cases(small: int) -> hypothesis.settings:
    """Settings for a random test: `small` cases, times the factor.

    Without deadlines and health checks: both measure the machine, not the code.
    """
    return hypothesis.settings(
        max_examples=small * FACTOR,
        deadline=None,
        derandomize=FACTOR == 1,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def seed() -> int:
    """The seed of one run."""
    if given := os.environ.get("SPILLWAY_SEED"):
        return int(given)
    return ALWAYS_THE_SAME if FACTOR == 1 else random.SystemRandom().randrange(2**32)
