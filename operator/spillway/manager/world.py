"""What is known of all jobs at once: fed by watches, and put right by a list now and then.

A watch can miss that something went: what was deleted while it was down is never told. So every minute everything is
listed, once for all jobs, and only the metadata: what is of another version than we know is read as a whole. Nothing is
destroyed by what stands here: who deletes looks at the object itself first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.observed import Child, Key, Pod, Replicas
from spillway.manager import kinds, sketches
from spillway.manager.cluster import Cluster
from spillway.manager.errors import NotFoundError
from spillway.manager.kinds import Kind

Job = tuple[str, str]  # namespace and name
Wake = Callable[[Job], None]
Object = dict[str, Any]


@dataclasses.dataclass(slots=True)
class Known:
    """What is known of one job's objects."""

    children: dict[Key, Child] = dataclasses.field(default_factory=dict)
    sets: dict[str, Replicas] = dataclasses.field(default_factory=dict)
    pods: dict[str, Pod] = dataclasses.field(default_factory=dict)
    # Of what stands here: newer than what a list or a late event may bring.
    versions: dict[Key, tuple[str, int]] = dataclasses.field(default_factory=dict)


class World:
    """All jobs and what is theirs.

    Attributes:
        jobs: the manifests as they are, by namespace and name.
    """

    def __init__(self, wake: Wake = lambda _: None) -> None:
        self.wake = wake
        self.jobs: dict[Job, Object] = {}
        self._known: dict[Job, Known] = {}
        self._listed: list[Kind] = []
        self.know_pod_monitors(False)

    def know_pod_monitors(self, known: bool) -> None:
        """Whether the cluster knows PodMonitors."""
        self._listed = [kind for kind in kinds.CHILDREN if kind.listed and (known or kind is not kinds.POD_MONITOR)]

    def notice(self, job: Job) -> None:
        """Something concerns this job, if there is one of that name."""
        if job in self.jobs:
            self.wake(job)

    def of(self, job: Job) -> Known:
        """What is known of one job's objects."""
        return self._known.setdefault(job, Known())

    def saw_job(self, found: Object, *, gone: bool = False) -> None:
        """A StreamJob as a watch tells it. What we write into its status ourselves is no news."""
        metadata = found["metadata"]
        job = metadata["namespace"], metadata["name"]
        before = self.jobs.get(job)
        if gone:
            if before is not None and before["metadata"]["uid"] == metadata["uid"]:
                del self.jobs[job]
                self.wake(job)
            return
        metadata.pop("managedFields", None)
        if before is not None and _older(metadata, before["metadata"]):
            return
        self.jobs[job] = found
        if before is None or _news(found) != _news(before):
            self.wake(job)

    def saw(self, kind: Kind, found: Object, *, gone: bool = False) -> None:
        """A child or a pod as a watch, or the answer to our own write, tells it."""
        job = sketches.job_of(found)
        if job is None:
            return
        before = self._sketch(job, kind, found["metadata"]["name"])
        self._forget(job, kind, found) if gone else self._put(job, kind, found)
        if self._sketch(job, kind, found["metadata"]["name"]) != before:
            self.notice(job)

    def found(self, job: Job, kind: Kind, found: Object) -> Child:
        """An object that has a name of this job's children; whose it is may be somebody else's."""
        self._put(job, kind, found)
        return self.of(job).children[kind.name, found["metadata"]["name"]]

    def lost(self, job: Job, key: Key) -> None:
        """There is no such child."""
        known = self.of(job)
        known.children.pop(key, None)
        known.versions.pop(key, None)
        known.sets.pop(key[1], None) if key[0] == kinds.STATEFUL_SET.name else None

    def forget(self, job: Job) -> None:
        """The job is gone."""
        self._known.pop(job, None)

    async def refresh(self, cluster: Cluster, namespaces: Iterable[str | None]) -> None:
        """Look at everything, and forget what is no longer there."""
        for namespace in namespaces:
            there = set()
            async for found in cluster.all(kinds.STREAM_JOB, namespace, metadata=True):
                metadata = found["metadata"]
                there.add((metadata["namespace"], metadata["name"], metadata["uid"]))
            for job, body in list(self.jobs.items()):
                if namespace in (None, job[0]) and (*job, body["metadata"]["uid"]) not in there:
                    del self.jobs[job]
                    self.wake(job)
            for kind in (*self._listed, kinds.POD):
                await self._refresh(cluster, kind, namespace)
        # Late news of what is over leave nothing behind.
        for job in [job for job in self._known if job not in self.jobs]:
            del self._known[job]

    async def _refresh(self, cluster: Cluster, kind: Kind, namespace: str | None) -> None:
        before = {
            (job, name): sketch
            for job in list(self._known)
            if namespace in (None, job[0])
            for name, sketch in self._sketches(job, kind)
        }
        there, others = set(), []
        # What stands in these matters; watches tell of it, so they are seldom of another version than we know.
        whole = kind in (kinds.POD, kinds.STATEFUL_SET)
        async for found in cluster.all(kind, namespace, names.SELECTOR, metadata=True):
            if (job := sketches.job_of(found)) is None:
                continue
            name = found["metadata"]["name"]
            there.add((job, name))
            if whole and not self._knows(job, kind, found):
                others.append((job, name))
            elif not whole:
                self._take(job, kind, found, before.get((job, name)))
        for job, name in others:
            try:
                self._take(job, kind, await cluster.get(kind, job[0], name), before.get((job, name)))
            except NotFoundError:
                there.discard((job, name))
        for (job, name), sketch in before.items():
            # What came while the list was read is not in it, and not the same as before either.
            if (job, name) not in there and self._sketch(job, kind, name) == sketch:
                if kind is kinds.POD:
                    self.of(job).pods.pop(name, None)
                else:
                    self.lost(job, (kind.name, name))
                self.notice(job)

    def _take(self, job: Job, kind: Kind, found: Object, before: object) -> None:
        self._put(job, kind, found)
        if self._sketch(job, kind, found["metadata"]["name"]) != before:
            self.notice(job)

    def _knows(self, job: Job, kind: Kind, found: Object) -> bool:
        """Whether it is known as it is."""
        metadata = found["metadata"]
        return self.of(job).versions.get((kind.name, metadata["name"])) == (metadata.get("uid", ""), _ordinal(metadata))

    def _put(self, job: Job, kind: Kind, found: Object) -> None:
        known, metadata = self.of(job), found["metadata"]
        name, key = metadata["name"], (kind.name, metadata["name"])
        at = metadata.get("uid", ""), _ordinal(metadata)
        before = known.versions.get(key)
        if before is not None and before[0] == at[0] and at[1] < before[1]:
            return
        known.versions[key] = at
        if kind is kinds.POD:
            known.pods[name] = sketches.pod(found)
            return
        known.children[key] = sketches.child(kind.name, found)
        if kind is kinds.STATEFUL_SET:
            known.sets[name] = sketches.replicas(found)

    def _forget(self, job: Job, kind: Kind, found: Object) -> None:
        name, key = found["metadata"]["name"], (kind.name, found["metadata"]["name"])
        known = self.of(job)
        if known.versions.get(key, ("",))[0] not in ("", found["metadata"].get("uid", "")):
            return  # another life of the same name is known already
        known.pods.pop(name, None) if kind is kinds.POD else self.lost(job, key)
        known.versions.pop(key, None)

    def _sketch(self, job: Job, kind: Kind, name: str) -> object:
        known = self._known.get(job)
        if known is None:
            return None
        if kind is kinds.POD:
            return known.pods.get(name)
        child = known.children.get((kind.name, name))
        return None if child is None else (child, known.sets.get(name) if kind is kinds.STATEFUL_SET else None)

    def _sketches(self, job: Job, kind: Kind) -> Iterator[tuple[str, object]]:
        known = self._known[job]
        listed = known.pods if kind is kinds.POD else [name for of, name in known.children if of == kind.name]
        for name in list(listed):
            yield name, self._sketch(job, kind, name)


def _news(found: Object) -> tuple[object, ...]:
    """What of a StreamJob concerns us."""
    metadata = found["metadata"]
    return metadata["uid"], metadata.get("generation"), metadata.get("deletionTimestamp"), metadata.get("finalizers")


def _ordinal(metadata: Object) -> int:
    """Versions are numbers that grow, on every API server there is; where they aren't, each counts as newer."""
    version = str(metadata.get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0


def _older(metadata: Object, than: Object) -> bool:
    return metadata["uid"] == than["uid"] and _ordinal(metadata) < _ordinal(than)
