"""One pass over one job: observe, decide, apply, report."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from spillway.controllers.reconciling import decision, names
from spillway.controllers.reconciling.decision import Decision
from spillway.manager import kinds
from spillway.manager.applying import Applier
from spillway.manager.cluster import Cluster
from spillway.manager.metrics import Metrics
from spillway.manager.observing import Observer
from spillway.manager.recorder import Recorder
from spillway.manager.state import State
from spillway.manager.teardown import Teardown
from spillway.manager.world import Job, World
from spillway.model import streamjob

# What was refused may pass by now; a person is at work on it, and looks at the status.
REFUSED = datetime.timedelta(seconds=10)


class Reconciler:
    """Brings jobs to where they should be."""

    def __init__(
        self,
        cluster: Cluster,
        world: World,
        observer: Observer,
        applier: Applier,
        teardown: Teardown,
        recorder: Recorder,
        metrics: Metrics,
        clock: Callable[[], datetime.datetime],
    ) -> None:
        self._cluster, self._world, self._observer, self._applier = cluster, world, observer, applier
        self._teardown, self._recorder, self._metrics, self._clock = teardown, recorder, metrics, clock
        self._states: dict[Job, State] = {}

    async def reconcile(self, job: Job) -> datetime.timedelta | None:
        """One pass; when to come again at the latest, None for a job that is gone. Raises ClusterError."""
        body = self._world.jobs.get(job)
        state = self._states.get(job)
        if body is None:
            self._states.pop(job, None)
            if state is not None:
                self._recorder.forget(state.uid)
            self._world.forget(job)
            self._metrics.forget(job)
            return None
        if state is None or state.uid != body["metadata"]["uid"]:
            state = self._states[job] = State(body["metadata"]["uid"])
        if "deletionTimestamp" in body["metadata"]:
            accepted = state.accepted.job if state.accepted is not None else None
            return await self._teardown.end(job, body, accepted) or decision.RESYNC
        await self._claim(job, body)
        observed = await self._observer.observe(job, body, state)
        decided = decision.decide(observed, state.memory, self._clock())
        state.memory = decided.memory
        await self._applier.apply(job, decided, state)
        await self._report(job, body, decided, state)
        return min(decided.again, REFUSED) if state.refusals else decided.again

    async def _claim(self, job: Job, body: dict[str, Any]) -> None:
        """Have a say in the end of the job, before there is anything to be cleared away."""
        metadata = body["metadata"]
        if names.FINALIZER in (metadata.get("finalizers") or ()):
            return
        claim = {
            "apiVersion": streamjob.API_VERSION,
            "kind": streamjob.KIND,
            "metadata": {"namespace": job[0], "name": job[1], "uid": metadata["uid"], "finalizers": [names.FINALIZER]},
        }
        self._world.saw_job(await self._cluster.apply(kinds.STREAM_JOB, claim))

    async def _report(self, job: Job, body: dict[str, Any], decided: Decision, state: State) -> None:
        """Status if it is another one, events, metrics."""
        self._metrics.job(job, decided.status)
        if decided.status != state.status:
            status = {
                "apiVersion": streamjob.API_VERSION,
                "kind": streamjob.KIND,
                "metadata": {"namespace": job[0], "name": job[1], "uid": state.uid},
                "status": decided.status.model_dump(mode="json", by_alias=True, exclude_none=True),
            }
            self._world.saw_job(await self._cluster.apply(kinds.STREAM_JOB, status, "status"))
            state.status = decided.status
        await self._recorder.record(body, decided.events)
