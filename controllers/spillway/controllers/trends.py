"""How fast a load rises: the slope of its last ticks, where they are a ramp, and nothing where they are anything else.

Of the last n rates r_i, at times t_i = i·Δ, with their mean r̄ and t̄, least squares has the line with the slope

    b = Σ (t_i - t̄)(r_i - r̄) / Σ (t_i - t̄)²,      SSE_line = Σ (r_i - r̄ - b·(t_i - t̄))²

and, for every k, one level before t_k and another from there on, SSE_step(k). It is a ramp when

1. the line explains it better than every step does: SSE_line < min SSE_step / `BETTER`;
2. the slope is not noise: b ≥ `SURE`·e, with its standard error e² = SSE_line/(n-2) / Σ (t_i - t̄)²;
3. it matters: b·`AHEAD` ≥ `MATTERS`·r̄.

A step that was extrapolated would ask for ten times what is needed; so whatever is as well a step is one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Ticks. Two seconds at 200 ms: enough for 2 % of noise on each, and short against the start of a pod.
TICKS = 10
# Seconds from asking for a worker to its first record: what is asked for now has to do for then.
AHEAD = 10.0
BETTER = 2.0
# Standard errors; a t with 8 degrees of freedom is beyond 5 once in 2000 times, per window, when there is no slope.
SURE = 5.0
# Of the rate: a rise that the usual headroom takes is none.
MATTERS = 0.25


def slope(rates: Sequence[float], span: float) -> float:
    """Records per second, per second; 0 for what is no ramp, or too short to tell, or falls."""
    n = len(rates)
    if n < TICKS:
        return 0.0
    middle, mean = (n - 1) / 2, math.fsum(rates) / n
    squares = math.fsum((i - middle) ** 2 for i in range(n))
    per_tick = math.fsum((i - middle) * (rate - mean) for i, rate in enumerate(rates)) / squares
    if per_tick <= 0 or per_tick / span * AHEAD < MATTERS * mean:
        return 0.0
    line = math.fsum((rate - mean - per_tick * (i - middle)) ** 2 for i, rate in enumerate(rates))
    if line * BETTER >= min(_spread(rates[:k]) + _spread(rates[k:]) for k in range(1, n)):
        return 0.0
    error = math.sqrt(line / (n - 2) / squares)
    return per_tick / span if per_tick >= SURE * error else 0.0


def _spread(rates: Sequence[float]) -> float:
    """Σ (r - r̄)²."""
    mean = math.fsum(rates) / len(rates)
    return math.fsum((rate - mean) ** 2 for rate in rates)
