"""How many random cases to try: few in `make test`, as many as SPILLWAY_FUZZ says in `make fuzz`."""

from __future__ import annotations

import os

import hypothesis


def cases(small: int) -> hypothesis.settings:
    """Settings for a random test: `small` cases, unless the environment asks for another number.

    Without deadlines and health checks: both measure the machine, not the code.
    """
    return hypothesis.settings(
        max_examples=int(os.environ.get("SPILLWAY_FUZZ") or small),
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
