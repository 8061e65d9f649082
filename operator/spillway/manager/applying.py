"""Makes what is there what was decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Protocol

from spillway.controllers.reconciling import children as comparing
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.children import Written
from spillway.controllers.reconciling.decision import Decision, Shape
from spillway.controllers.reconciling.observed import Child, Key, Refusal
from spillway.manager import kinds, sketches
from spillway.manager.cluster import Cluster
from spillway.manager.errors import ConflictError, DriverError, ForbiddenError, InvalidObjectError, NotFoundError
from spillway.manager.manifests import children
from spillway.manager.manifests.parts import Built, Manifest, Settings
from spillway.manager.observing import Observer
from spillway.manager.state import State
from spillway.manager.vacancies import Vacancies
from spillway.manager.world import Job, World

_log = logging.getLogger(__name__)


class Granting(Protocol):
    """Who tells drivers what they are granted."""

    async def grant(self, namespace: str, job: str, token: str, workers: int, executors: int | None) -> None:
        """Raises DriverError."""


class Applier:
    """Writes children, and tells the driver."""

    def __init__(
        self, cluster: Cluster, world: World, drivers: Granting, observer: Observer, settings: Settings
    ) -> None:
        self._cluster, self._world, self._drivers, self._observer = cluster, world, drivers, observer
        self._settings = settings
        self._vacancies = Vacancies(cluster)

    async def apply(self, job: Job, decision: Decision, state: State) -> None:
        """Do it. Raises ClusterError; what a person has to mend is kept for the next look instead."""
        shape = decision.shape
        if shape is None:
            return
        if decision.grant is not None:
            await self._grant(job, decision.grant, state)
        made = self._want(shape, state)
        changes = comparing.changes(state.wanted, self._world.of(job).children, state.written, state.uid)
        state.refusals = ()
        if changes.apply:
            made = made or self._build(shape, state)
            # What pods need comes before pods; the rest is in no order.
            sets = [key for key in changes.apply if key[0] == kinds.STATEFUL_SET.name]
            await self._write_all(job, [key for key in changes.apply if key not in sets], made, state)
            await self._write_all(job, sets, made, state)
        for child in changes.delete:
            await self.delete(job, child, state.uid)
        await self._mark_pods(job, state)

    async def delete(self, job: Job, child: Child, owner: str) -> None:
        """Delete a child, if it is still what we took it for."""
        kind = kinds.OF_NAME[child.kind]
        try:
            found = await self._cluster.get(kind, job[0], child.name)
            metadata = found["metadata"]
            if sketches.child(child.kind, found).owner == owner:
                _log.info("job %s/%s: %s %s is deleted", *job, child.kind, child.name)
                await self._cluster.delete(kind, job[0], child.name, metadata["uid"], metadata["resourceVersion"])
        except NotFoundError:
            self._world.lost(job, child.key)

    def _want(self, shape: Shape, state: State) -> dict[Key, Manifest] | None:
        """What is wanted. Built only when it is another shape than the last time: most passes change nothing."""
        basis = (shape.generation, shape.replicas, shape.workers, shape.executors, state.code_hash, state.token)
        if basis == state.shape:
            return None
        made = self._build(shape, state)
        state.wanted = {key: children.applied(manifest) for key, manifest in made.items()}
        state.spec_hash, state.shape = children.spec_hash(made), basis
        return made

    def _build(self, shape: Shape, state: State) -> dict[Key, Manifest]:
        document = state.accepted.document if state.accepted is not None else {}
        return children.build(Built(shape, document, self._settings, state.uid, state.token, state.code_hash))

    async def _write_all(self, job: Job, keys: list[Key], made: Mapping[Key, Manifest], state: State) -> None:
        # All are waited for, also where one fails: else what is left of them would go on beside the next pass.
        writes = (self._write(job, key, made[key], state) for key in keys)
        found = await asyncio.gather(*writes, return_exceptions=True)
        state.refusals += tuple(refusal for refusal in found if isinstance(refusal, Refusal))
        for error in found:
            if isinstance(error, BaseException):
                raise error

    async def _write(self, job: Job, key: Key, manifest: Manifest, state: State) -> Refusal | None:
        """One child; why it was refused, if it was."""
        kind, known = kinds.OF_NAME[key[0]], self._world.of(job)
        there = known.children.get(key)
        if there is None and not await self._vacancies.free(kind, job[0], key[1]):
            # Nobody has told of it, and it may be there all the same, without our labels: a name is no claim.
            there = await self._observer.look(job, key)
            if there is not None and (there.owner != state.uid or there.leaving):
                return None
        numbers = known.sets.get(key[1]) if kind is kinds.STATEFUL_SET else None
        if numbers is not None and manifest["spec"]["replicas"] < numbers.asked:
            found = await self._cluster.get(kind, job[0], key[1])
            if sketches.child(kind.name, found).owner != state.uid:
                self._world.found(job, kind, found)
                return None
            # Between our look and this nobody may have changed it, or what we know of it is not so any more.
            version = {"uid": found["metadata"]["uid"], "resourceVersion": found["metadata"]["resourceVersion"]}
            manifest = {**manifest, "metadata": {**manifest["metadata"], **version}}
        try:
            written = await self._cluster.apply(kind, manifest)
        except (ForbiddenError, InvalidObjectError) as error:
            _log.warning("job %s/%s: %s %s is refused: %s", *job, *key, error)
            return Refusal(" ".join(key), str(error))
        child = self._world.found(job, kind, written)
        state.written[key] = Written(children.applied(manifest), child.version)
        return None

    async def _mark_pods(self, job: Job, state: State) -> None:
        """The digest of the spec on each pod that mounts it: so the kubelet brings the files up to date at once."""
        for pod in list(self._world.of(job).pods.values()):
            mounts = pod.component in (names.DRIVER, names.WORKER)
            if not mounts or pod.leaving or pod.spec_hash == state.spec_hash:
                continue
            patch = {"metadata": {"annotations": {names.SPEC_HASH: state.spec_hash}}}
            try:
                self._world.saw(kinds.POD, await self._cluster.merge(kinds.POD, job[0], pod.name, patch))
            except (NotFoundError, ConflictError):
                continue

    async def _grant(self, job: Job, grant: tuple[int, int | None], state: State) -> None:
        try:
            await self._drivers.grant(*job, state.token, *grant)
        except DriverError as error:
            # Perhaps the Secret was changed by hand: it is read again before the next try.
            state.token_at = None
            _log.warning("job %s/%s: %s", *job, error)
