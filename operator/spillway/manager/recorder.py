"""Events of a StreamJob, as `kubectl describe` shows them: each once, and again only after a while."""

from __future__ import annotations

import datetime
import logging
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from spillway.controllers.reconciling.decision import Event
from spillway.manager import kinds
from spillway.manager.cluster import Cluster
from spillway.manager.errors import ClusterError
from spillway.model import streamjob

# The same thing is not told again before that. The API server keeps events for an hour.
SAME = datetime.timedelta(minutes=10)
# Characters that an event may have.
LONGEST = 1024

_log = logging.getLogger(__name__)


class Recorder:
    """Writes events; that one can't be written stops nothing."""

    def __init__(self, cluster: Cluster, clock: Callable[[], datetime.datetime], instance: str) -> None:
        self._cluster, self._clock, self._instance = cluster, clock, instance
        self._told: dict[str, dict[Event, datetime.datetime]] = {}  # by the uid of a job

    async def record(self, job: dict[str, Any], events: Iterable[Event]) -> None:
        """Tell what is new."""
        now, uid = self._clock(), job["metadata"]["uid"]
        told = {event: at for event, at in self._told.get(uid, {}).items() if now - at < SAME}
        fresh = [event for event in events if event not in told]
        self._told[uid] = told | dict.fromkeys(fresh, now)
        for event in fresh:
            try:
                await self._cluster.create(kinds.EVENT, self._manifest(job, event, now))
            except ClusterError as error:
                _log.warning("event %s of job %s can't be written: %s", event.reason, job["metadata"]["name"], error)

    def forget(self, uid: str) -> None:
        """The job is gone."""
        self._told.pop(uid, None)

    def _manifest(self, job: dict[str, Any], event: Event, now: datetime.datetime) -> dict[str, Any]:
        metadata = job["metadata"]
        at = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        message = event.message if len(event.message) <= LONGEST else event.message[: LONGEST - 2] + " …"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}", "namespace": metadata["namespace"]},
            "involvedObject": {
                "apiVersion": streamjob.API_VERSION,
                "kind": streamjob.KIND,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
                "resourceVersion": metadata.get("resourceVersion", ""),
            },
            "type": "Warning" if event.warning else "Normal",
            "reason": event.reason,
            "message": message,
            "source": {"component": "spillway-manager"},
            "reportingComponent": "spillway.dev/manager",
            "reportingInstance": self._instance,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        }
