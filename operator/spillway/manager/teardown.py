"""The end of a job: its children, and its topics where it asks for that. Every step can be done again.

First its workers come to rest, for a while at the most (`reconciling.ending`); then they end at once.
A cluster collects the children of what is gone by itself; where it does not, or takes its time, nothing may stay
either, so they are deleted here, first what runs. The finalizer is taken away when that is done, or when it has
taken too long: a job that can't be deleted is worse than a topic that stays.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from typing import Any, Protocol

from spillway.controllers import acceptance
from spillway.controllers.reconciling import ending, names
from spillway.controllers.reconciling.decision import Event
from spillway.controllers.reconciling.ending import Step
from spillway.controllers.reconciling.names import Names
from spillway.controllers.reconciling.observed import Child
from spillway.manager import kinds, sketches
from spillway.manager.applying import Applier
from spillway.manager.cluster import Cluster
from spillway.manager.errors import DriverError, NotFoundError
from spillway.manager.manifests import configs
from spillway.manager.recorder import Recorder
from spillway.manager.world import Job
from spillway.model.errors import SpillwayError
from spillway.model.observation import Observation
from spillway.model.streamjob import StreamJob

# Workers have 60 s to finish and the kubelet some to tell; after that what is left is told of, and left.
DEADLINE = datetime.timedelta(seconds=120)
AGAIN = datetime.timedelta(seconds=2)
# A driver tells something new four times a second and more; most are at rest by the second look.
SOON = datetime.timedelta(seconds=0.3)

_log = logging.getLogger(__name__)


class Topics(Protocol):
    """Who can delete a job's topics."""

    async def delete(self, job: StreamJob) -> int:
        """All that begin with its prefix; how many. Raises SpillwayError."""


class Drivers(Protocol):
    """Who tells what a driver tells, and tells it what it is granted."""

    async def observation(self, namespace: str, job: str) -> Observation:
        """Raises DriverError."""

    async def grant(self, namespace: str, job: str, token: str, workers: int, executors: int | None) -> None:
        """Raises DriverError."""


class Teardown:
    """Ends jobs."""

    def __init__(
        self,
        cluster: Cluster,
        applier: Applier,
        drivers: Drivers,
        recorder: Recorder,
        topics: Topics,
        clock: Callable[[], datetime.datetime],
        *,
        pod_monitors: bool,
    ) -> None:
        self._cluster, self._applier, self._drivers = cluster, applier, drivers
        self._recorder, self._topics, self._clock = recorder, topics, clock
        self._kinds = [kind for kind in kinds.CHILDREN if pod_monitors or kind is not kinds.POD_MONITOR]

    async def end(self, job: Job, body: dict[str, Any], accepted: StreamJob | None) -> datetime.timedelta | None:
        """One step towards it; when to go on, or None when it is done. Raises ClusterError."""
        metadata = body["metadata"]
        if names.FINALIZER not in (metadata.get("finalizers") or ()):
            return None
        since = self._clock() - _time(metadata["deletionTimestamp"])
        if not await self._rests(job, since):
            return SOON
        late = since > DEADLINE
        for child in await self._children(job, metadata["uid"]):
            await self._applier.delete(job, child, metadata["uid"])
        runs = accepted or acceptance.accept({key: body[key] for key in body if key != "status"}).job
        if runs is not None and runs.spec.policy.delete_topics:
            if not late and await self._pods(job):
                return AGAIN  # who still runs would make its topics again
            if not await self._delete_topics(body, runs) and not late:
                return AGAIN
        await self._release(job, metadata["uid"])
        return None

    async def _children(self, job: Job, uid: str) -> list[Child]:
        """Those of this life of the job, looked at now."""
        found = []
        for kind in self._kinds:
            if not kind.listed:
                try:
                    one = await self._cluster.get(kind, job[0], Names(job[1]).token)
                except NotFoundError:
                    continue
                found.append(sketches.child(kind.name, one))
                continue
            async for one in self._cluster.all(kind, job[0], _selector(job), metadata=True):
                found.append(sketches.child(kind.name, one))  # noqa: PERF401 - async
        return [child for child in found if child.owner == uid and not child.leaving]

    async def _rests(self, job: Job, since: datetime.timedelta) -> bool:
        """Whether pods may go; if not, the driver is asked to bring the job to rest."""
        if since >= ending.REST:
            return True
        # Looked at now: a manager that has just begun knows of no pod, and would end them all at once.
        pods = [sketches.pod(one) async for one in self._cluster.all(kinds.POD, job[0], _selector(job))]
        if ending.step(pods, None, datetime.timedelta()) is Step.GO:
            return True
        try:
            seen = await self._drivers.observation(*job)
        except DriverError as error:
            _log.info("job %s/%s: %s", *job, error)
            seen = None
        step = ending.step(pods, seen, since)
        if step is Step.GRANT_NONE:
            await self._grant_none(job)
        return step is Step.GO

    async def _grant_none(self, job: Job) -> None:
        try:
            secret = await self._cluster.get(kinds.SECRET, job[0], Names(job[1]).token)
            await self._drivers.grant(*job, configs.token_of(secret), 0, None)
        except (NotFoundError, DriverError) as error:
            _log.info("job %s/%s: can't be brought to rest: %s", *job, error)

    async def _pods(self, job: Job) -> bool:
        async for _ in self._cluster.all(kinds.POD, job[0], _selector(job), metadata=True):
            return True
        return False

    async def _delete_topics(self, body: dict[str, Any], job: StreamJob) -> bool:
        try:
            count = await self._topics.delete(job)
        except SpillwayError as error:
            text = f"the job's topics can't be deleted: {error}"
            await self._recorder.record(body, [Event("TopicsLeft", text, warning=True)])
            return False
        _log.info("job %s/%s: %d topics deleted", job.metadata.namespace, job.metadata.name, count)
        return True

    async def _release(self, job: Job, uid: str) -> None:
        """Take the finalizer away, from this life of the job and as it is now."""
        try:
            found = await self._cluster.get(kinds.STREAM_JOB, *job)
            metadata = found["metadata"]
            left = [one for one in metadata.get("finalizers") or () if one != names.FINALIZER]
            if metadata["uid"] == uid and len(left) != len(metadata.get("finalizers") or ()):
                patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": left}}
                await self._cluster.merge(kinds.STREAM_JOB, *job, patch)
        except NotFoundError:
            return


def _selector(job: Job) -> str:
    return f"{names.JOB}={job[1]}"


def _time(stamp: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00"))
