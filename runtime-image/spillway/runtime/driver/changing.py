"""Which manifest is used, which one waits, and what is wrong with the last one that was written.

A manifest that can't be used, or whose programs can't follow on those that there are, changes nothing: the job goes on
with the last one that could. One that can waits until the last change is done (`rollout.done`).
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping

from confluent_kafka.admin import AdminClient

from spillway.controllers import rollout, topics
from spillway.controllers.protocol import log, messages
from spillway.controllers.rollout import Shape
from spillway.controllers.topics import Names, Topic
from spillway.model.errors import SpillwayError
from spillway.model.streamjob import Spec, StreamJob
from spillway.runtime import admin
from spillway.runtime.driver import plans, shapes, supply
from spillway.runtime.driver.conditions import Kind, Reason, condition
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.manifest import Candidate, Manifest, UnfitError
from spillway.runtime.driver.plans import Made, PlanError

_log = logging.getLogger(__name__)

# Reasons that pass without anybody writing another manifest.
_PASSING = (Reason.TOPIC_MISSING, Reason.LOOKING)


@dataclasses.dataclass(frozen=True)
class Ready:
    """A manifest that can be used, and its plan."""

    candidate: Candidate
    made: Made


class Changes:
    """The manifest of a job over time.

    Attributes:
        job: the manifest that is used.
        accepted: whether the last one that was read is.
        generation: of that one.
    """

    def __init__(
        self, manifest: Manifest, job: StreamJob, client: AdminClient, hands: Hands, *, apart: bool = False
    ) -> None:
        """`job` is what the manifest said first; its policy is used until another one is accepted.

        `apart`: its plans have each operator in a segment of its own.
        """
        self._apart = apart
        self._manifest, self._client, self._hands = manifest, client, hands
        self.job = job
        self.generation = job.metadata.generation
        self.accepted = condition(Kind.ACCEPTED, True, Reason.WAITING, "the manifest is being looked at")
        self._ready: Ready | None = None
        self._busy = False
        self._open = True  # something has changed, and was not considered yet

    def consider(self, state: log.State, known: Mapping[str, Shape], before: Mapping[str, Topic]) -> None:
        """Look whether there is another manifest, and what it would mean; `known` are the shapes of all programs."""
        self._open |= self._manifest.changed()
        if self._busy or not self._open:
            return
        self._busy, self._open = True, False
        plan = state.plan
        width = plan.width if plan else topics.width(self.job)
        self._hands.do(lambda: self._considered(plan, dict(known), before, width), self._found, self._refused)

    def again(self) -> None:
        """Consider it again: topics have changed."""
        self._open = True

    def due(self, state: log.State, known: Mapping[str, Shape]) -> messages.Plan | None:
        """The plan to be written now, if there is one."""
        if self._ready is None:
            return None
        candidate, made = self._ready.candidate, self._ready.made
        self.generation = candidate.job.metadata.generation
        if plans.same(state.plan, made.plan):
            self._use(candidate.job)
            return None
        if state.plan is not None and not rollout.done(state, known):
            text = "the last change of programs has to be done first; going back to the manifest before is possible"
            self.accepted = condition(Kind.ACCEPTED, True, Reason.WAITING, text)
            return None
        number = state.plan.number + 1 if state.plan else 1
        _log.info("plan %d: %s", number, made.sentence)
        self._use(candidate.job)
        return plans.numbered(made.plan, state.leader, number)

    def give_up(self, plan: messages.Plan, why: str) -> None:
        """The job goes back to this plan, because of the last manifest."""
        self._ready = None
        spec = Spec.model_validate_json(plan.spec)
        self.job = self.job.model_copy(update={"spec": spec})
        text = f"slots could not run the new programs, so the job went back to those before: {why}"
        self.accepted = condition(Kind.ACCEPTED, False, Reason.ROLLED_BACK, text)

    def _use(self, job: StreamJob) -> None:
        self._ready, self.job = None, job
        self.accepted = condition(Kind.ACCEPTED, True, Reason.VALID)

    def _considered(
        self, plan: messages.Plan | None, known: Mapping[str, Shape], before: Mapping[str, Topic], width: int
    ) -> Ready:
        """Everything that takes time: code is imported, topics are looked at and made, programs are compiled."""
        candidate = self._manifest.read()
        job, names = candidate.job, Names.of(candidate.job)
        self._check_same(job)
        there = admin.present(self._client, topics.of_user(job))
        if missing := sorted(plans.inputs(job) - there.keys()):
            raise UnfitError(Reason.TOPIC_MISSING, f"topics that are read are missing: {', '.join(missing)}")
        made = plans.made(job, candidate.digests, there, width, plan, apart=self._apart)
        self._manifest.compile(candidate, made.programs)
        if why := rollout.refused(known.values(), shapes.of(made.programs, names).values()):
            raise UnfitError(Reason.NOT_COMPATIBLE, "; ".join(why))
        supply.look(self._client, job, made.programs, width, before)
        return Ready(candidate, made)

    def _check_same(self, job: StreamJob) -> None:
        """What a job is known by can't change while it runs."""
        mine, new = self.job, job
        if (mine.metadata.namespace, mine.metadata.name) != (new.metadata.namespace, new.metadata.name):
            name = f"{new.metadata.namespace}/{new.metadata.name}"
            raise UnfitError(Reason.NOT_COMPATIBLE, f"this is another job, {name}; start a driver for it")
        if mine.spec.kafka.bootstrap_servers != new.spec.kafka.bootstrap_servers:
            text = "spec.kafka.bootstrapServers can't change: positions and state belong to one cluster; make a new job"
            raise UnfitError(Reason.NOT_COMPATIBLE, text)

    def _found(self, ready: Ready) -> None:
        self._busy, self._ready = False, ready

    def _refused(self, error: Exception) -> None:
        """It stays as it is; what may pass by itself is considered again with the next look at topics."""
        self._busy, self._ready = False, None
        self.generation = self._manifest.generation or self.generation
        reason = Reason.LOOKING
        if isinstance(error, UnfitError):
            reason = error.reason
        elif isinstance(error, PlanError):
            reason = Reason.NOT_ACCEPTED
        passing = reason in _PASSING
        self.accepted = condition(Kind.ACCEPTED, passing, reason, str(error))
        if not passing or not isinstance(error, SpillwayError):
            _log.warning("the manifest is not used: %s", error)

    @property
    def waits(self) -> bool:
        """Whether something has to pass by itself before the manifest can be considered again."""
        return self.accepted.reason in _PASSING
