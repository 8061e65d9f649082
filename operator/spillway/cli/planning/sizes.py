"""Numbers as people read them: three digits that count, and a unit."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spillway.controllers.latency.phases import Phase

PHASES: Mapping[Phase, str] = {
    Phase.WAIT: "frames fill",
    Phase.QUEUE: "queue",
    Phase.NETWORK: "network and log",
    Phase.CPU: "cpu",
    Phase.BATCH: "batch",
    Phase.SCHEDULE: "schedule",
    Phase.WINDOW: "window",
}
_RATES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def rate(records: float) -> str:
    """Records per second: `12.5 k/s`."""
    for size, unit in _RATES:
        if records >= 0.9995 * size:
            return f"{_digits(records / size)} {unit}/s"
    return f"{_digits(records)}/s"


def duration(seconds: float) -> str:
    """A time: `42.5 ms`; `never` for what takes for ever."""
    if not math.isfinite(seconds):
        return "never"
    for size, unit in _TIMES:
        if seconds >= 0.9995 * size:
            return f"{_digits(seconds / size)} {unit}"
    return "0 ms" if seconds < 0.5e-9 else f"{_digits(seconds * 1e9)} ns"


def share(part: float) -> str:
    """A part of a whole: `34 %`; `<1 %` for what is there but next to nothing."""
    if 0 < part < 0.01:
        return "<1 %"
    return f"{part * 100:.0f} %" if part < 10 else f"{_digits(part)} times" if part < 1000 else "far too much"


def quantile(of: float) -> str:
    """A share of all records, with all its digits: `99.9 %`."""
    return f"{of * 100:.10g} %"


def of_all(part: float) -> str:
    """A share of all records that were counted: `99.62 %`, and never 100 % when one was not."""
    return f"{math.floor(part * 10000) / 100:g} %"


def count(many: int, one: str, more: str = "") -> str:
    """`1 slot`, `2 slots`."""
    return f"{many} {one if many == 1 else more or f'{one}s'}"


def _digits(value: float) -> str:
    """Three of them, and no zeros behind the point that say nothing."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 9.995 else f"{value:.2f}".rstrip("0").removesuffix(".")
