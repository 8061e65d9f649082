"""An intent on its way through the engine, and what is left to tell of the last one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from spillway.controllers.protocol import effects
from spillway.runtime.batch.ranges import Result


@dataclasses.dataclass
class Running:
    """An intent that is being run.

    Attributes:
        run: what is to be done.
        began: when it was asked for.
        times: how often it came to nothing.
        results: of its ranges, once there are any.
    """

    run: effects.Run
    began: float
    times: int = 0
    results: Sequence[Result] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Last:
    """The last batch of a segment: when it was done, how many records it took in, and how long that took."""

    at: float
    records: int
    seconds: float
