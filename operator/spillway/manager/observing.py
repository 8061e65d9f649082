"""Everything that a decision about one job looks at, put together from what is known, and asked for where it isn't."""

from __future__ import annotations

import datetime
import logging
import secrets
from collections.abc import Callable
from typing import Any, Protocol

import pydantic

from spillway.controllers import acceptance
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.names import Names
from spillway.controllers.reconciling.observed import Broker, Child, Heard, Key, Observed, Refusal
from spillway.manager import kinds, sketches
from spillway.manager.cluster import Cluster
from spillway.manager.errors import DriverError, ForbiddenError, NotFoundError
from spillway.manager.manifests import children, configs
from spillway.manager.state import Accepted, State
from spillway.manager.world import Job, World
from spillway.model.observation import Observation
from spillway.model.status import Status
from spillway.model.streamjob import StreamJob

# The user's files are not watched: who may watch some ConfigMaps would have to watch all. New code is noticed so soon.
CODE = datetime.timedelta(seconds=30)
# Secrets are not listed with the rest; that one was changed by hand is noticed so late, or when the driver says so.
TOKEN = datetime.timedelta(minutes=10)
# Events of refusals older than this are of another try: sets try again within seconds, and after a while every few
# minutes, so what was refused lately and still lacks its pod is refused now.
RECENT = datetime.timedelta(minutes=20)

_log = logging.getLogger(__name__)


class Telling(Protocol):
    """Who tells what a driver tells."""

    async def observation(self, namespace: str, job: str) -> Observation:
        """Raises DriverError."""


class Kafka(Protocol):
    """Who knows what Kafka has."""

    def view(self, job: StreamJob) -> Broker:
        """What was seen last; somebody looks again now and then."""


class Observer:
    """Looks at one job."""

    def __init__(
        self,
        cluster: Cluster,
        world: World,
        drivers: Telling,
        kafka: Kafka,
        clock: Callable[[], datetime.datetime],
    ) -> None:
        self._cluster, self._world, self._drivers, self._kafka, self._clock = cluster, world, drivers, kafka, clock

    async def observe(self, job: Job, body: dict[str, Any], state: State) -> Observed:
        """Look at it. Raises ClusterError."""
        metadata, now = body["metadata"], self._clock()
        await self._judge(job, body, state)
        if state.status is None:
            state.status = _status(body)
        known, accepted = self._world.of(job), state.accepted
        of_names = Names(job[1])
        refusals = state.refusals
        if accepted is not None:
            await self._look_at_others(job, state)
            await self._look_at_token(job, state, now)
            await self._look_at_code(job, accepted.job, state, now)
            await self._hear(job, state)
            refusals = (*refusals, *await self._refused(job, now))
        return Observed(
            name=job[1],
            namespace=job[0],
            uid=metadata["uid"],
            generation=metadata.get("generation", 0),
            verdict=state.verdict,  # type: ignore[arg-type]  # judged above
            accepted=accepted.job if accepted is not None else None,
            accepted_generation=accepted.generation if accepted is not None else 0,
            present=dict(known.children),
            workers=known.sets.get(of_names.worker),
            driver=known.sets.get(of_names.driver),
            pods=tuple(known.pods.values()),
            heard=state.heard,
            refusals=refusals,
            broker=self._kafka.view(accepted.job) if accepted is not None else Broker(),
            code_missing=state.code_missing,
            status=state.status,
        )

    async def _judge(self, job: Job, body: dict[str, Any], state: State) -> None:
        """Whether the manifest can be run; if not, find the one that could."""
        generation = body["metadata"].get("generation", 0)
        if state.verdict is None or state.judged != generation:
            plain = {key: body[key] for key in ("apiVersion", "kind", "metadata", "spec") if key in body}
            state.verdict, state.judged = acceptance.accept(plain), generation
        if state.verdict.accepted and state.verdict.job is not None:
            if state.accepted is None or state.accepted.generation != generation:
                state.accepted = Accepted(state.verdict.job, generation, {"spec": body["spec"]})
        elif state.accepted is None and not state.looked:
            state.accepted = await self._left_behind(job, state.uid)
        state.looked = True

    async def _left_behind(self, job: Job, uid: str) -> Accepted | None:
        """The manifest that a predecessor accepted last, if it is of this job."""
        try:
            found = await self._cluster.get(kinds.CONFIG_MAP, job[0], Names(job[1]).spec)
        except NotFoundError:
            return None
        if sketches.child(kinds.CONFIG_MAP.name, found).owner != uid:
            return None
        document = configs.read(found)
        verdict = acceptance.accept(document)
        if document is None or not verdict.accepted or verdict.job is None:
            return None
        return Accepted(verdict.job, verdict.job.metadata.generation, document)

    async def _look_at_others(self, job: Job, state: State) -> None:
        """Whether what is somebody else's still is; no watch tells, because it has none of our labels."""
        for key, child in list(self._world.of(job).children.items()):
            if child.owner != state.uid:
                await self.look(job, key)

    async def look(self, job: Job, key: Key) -> Child | None:
        """Look at a child itself; None if it isn't there."""
        kind = kinds.OF_NAME[key[0]]
        try:
            found = await self._cluster.get(kind, job[0], key[1])
        except NotFoundError:
            self._world.lost(job, key)
            return None
        return self._world.found(job, kind, found)

    async def _look_at_token(self, job: Job, state: State, now: datetime.datetime) -> None:
        """The token that pods have, or a new one for a Secret that is not there yet."""
        if state.token and state.token_at is not None and now - state.token_at < TOKEN:
            return
        key = kinds.SECRET.name, Names(job[1]).token
        try:
            found = await self._cluster.get(kinds.SECRET, *(job[0], key[1]))
        except NotFoundError:
            self._world.lost(job, key)
            state.token = state.token or secrets.token_urlsafe(32)
        else:
            child = self._world.found(job, kinds.SECRET, found)
            known = configs.token_of(found)
            if child.owner == state.uid and known:
                state.token = known
            state.token = state.token or secrets.token_urlsafe(32)
        state.token_at = now

    async def _look_at_code(self, job: Job, accepted: StreamJob, state: State, now: datetime.datetime) -> None:
        """A digest of the user's files."""
        code = accepted.spec.execution.code
        if code is None:
            state.code_hash, state.code_at, state.code_missing = "", None, ""
            return
        if state.code_at is not None and now - state.code_at < CODE:
            return
        state.code_at = now
        try:
            found = await self._cluster.get(kinds.CONFIG_MAP, job[0], code.config_map)
        except NotFoundError:
            # The hash stays: pods that run go on with the files that they have.
            state.code_missing = code.config_map
        else:
            state.code_missing = ""
            state.code_hash = children.digest([found.get("data"), found.get("binaryData")])

    async def _hear(self, job: Job, state: State) -> None:
        """What the driver tells, if there is a pod of it that could."""
        drivers = [pod for pod in self._world.of(job).pods.values() if pod.component == names.DRIVER]
        if not any(pod.phase == "Running" for pod in drivers):
            return
        try:
            state.heard = Heard(await self._drivers.observation(*job), self._clock())
        except DriverError as error:
            _log.info("job %s/%s: %s", *job, error)

    async def _refused(self, job: Job, now: datetime.datetime) -> tuple[Refusal, ...]:
        """Why a set has fewer pods than it should; only its events tell."""
        found = []
        for name, numbers in self._world.of(job).sets.items():
            if not numbers.settled or numbers.there >= numbers.asked:
                continue
            fields = f"involvedObject.kind=StatefulSet,involvedObject.name={name},reason=FailedCreate"
            last: tuple[str, str] | None = None
            try:
                async for event in self._cluster.all(kinds.EVENT, job[0], fields=fields):
                    at = event.get("lastTimestamp") or event.get("eventTime") or ""
                    if _recent(at, now) and (last is None or at > last[0]):
                        last = at, event.get("message", "")
            except ForbiddenError:
                continue
            if last is not None:
                found.append(Refusal(f"pods of {name}", last[1]))
        return tuple(found)


def _recent(at: str, now: datetime.datetime) -> bool:
    try:
        return now - datetime.datetime.fromisoformat(at.replace("Z", "+00:00")) <= RECENT
    except ValueError:
        return False


def _status(body: dict[str, Any]) -> Status | None:
    """As a predecessor wrote it; None for what none of ours can have written."""
    if not body.get("status"):
        return None
    try:
        return Status.model_validate_json(pydantic.TypeAdapter(dict).dump_json(body["status"]))
    except pydantic.ValidationError:
        return None
