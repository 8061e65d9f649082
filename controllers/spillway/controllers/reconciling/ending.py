"""The end of a job: whether its pods may go now, or its workers give away first what they have.

A worker that is ended gives its partitions away before it ends, and only a driver takes them. Were both ended together,
the worker would wait for its whole grace period, nearly a minute, for a driver that is gone. So, in this order:

1. Without a worker that stays, or a driver that runs, nobody has to give anything away, or nobody takes it: go.
2. `REST` after the job was deleted: go, whatever the driver does.
3. The driver doesn't answer: ask again, and `SILENT` after the job was deleted: go.
4. The driver tells, under a grant of no worker, that nobody holds anything: go.
5. Else grant no worker, and look again.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable

from spillway.controllers.reconciling import names, resizing
from spillway.controllers.reconciling.observed import Pod
from spillway.model.observation import Observation

# A move takes some hundred milliseconds, a batch that is under way some seconds. Shorter: a busy job is ended in the
# midst of what it does, and its workers take their minute. Longer: who deletes a job that is stuck waits for nothing.
REST = datetime.timedelta(seconds=20)
# One answer that takes too long (3 s), and one more. Longer: for a driver that ends again and again, for nothing.
SILENT = datetime.timedelta(seconds=5)


class Step(enum.Enum):
    """What comes next."""

    GO = "go"
    ASK = "ask"  # the driver, again
    GRANT_NONE = "grant none"


def step(pods: Iterable[Pod], seen: Observation | None, since: datetime.timedelta) -> Step:
    """What comes next, so long after the job was deleted; `seen` is what the driver tells now."""
    staying = [pod for pod in pods if not pod.leaving and pod.phase == "Running"]
    if {names.DRIVER, names.WORKER} - {pod.component for pod in staying} or since >= REST:
        return Step.GO
    if seen is None:
        return Step.ASK if since < SILENT else Step.GO
    if seen.granted != 0:
        return Step.GRANT_NONE
    return Step.ASK if not seen.leader or resizing.held(seen) else Step.GO
