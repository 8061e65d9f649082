"""What was seen of a job, as values: its children, its pods, what its driver tells, what Kafka has."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers.acceptance import Verdict
from spillway.model.observation import Observation
from spillway.model.status import Condition, Status
from spillway.model.streamjob import StreamJob

Key = tuple[str, str]  # a child within its namespace: kind and name


@dataclasses.dataclass(frozen=True, slots=True)
class Child:
    """What is known of an object beside what stands in it.

    Attributes:
        kind, name: which.
        uid: of this life of it.
        owner: the uid of its controlling owner; empty if nobody controls it.
        version: changes with everything that we set: its generation, or its resourceVersion where it has none.
        applied: the digest of what was applied last, as its annotation says.
        leaving: it is being deleted.
    """

    kind: str
    name: str
    uid: str
    owner: str
    version: str
    applied: str
    leaving: bool = False

    @property
    def key(self) -> Key:
        """Kind and name."""
        return self.kind, self.name


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas:
    """A StatefulSet, as far as numbers go.

    Attributes:
        asked: replicas of its spec.
        there: pods that exist.
        ready: those that are ready.
        wanted_workers, wanted_executors: what was decided, as its annotations keep it.
        settled: its controller has seen the last change.
    """

    asked: int
    there: int
    ready: int
    wanted_workers: int | None = None
    wanted_executors: int | None = None
    settled: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    """A pod of the job.

    Attributes:
        name: of the pod.
        component: driver, worker or executor.
        phase: as Kubernetes says it.
        ready: whether it is.
        spec_hash: the digest of the spec that its annotation names.
        leaving: it is being deleted.
        waiting: the reason why its container does not run, such as ErrImagePull; empty if it does.
        message: what was said about that.
        restarts: of its containers.
        ended: how its container ended the last time, in words; empty if it never did.
        unschedulable: why no node takes it; empty if one does.
    """

    name: str
    component: str
    phase: str = "Running"
    ready: bool = True
    spec_hash: str = ""
    leaving: bool = False
    waiting: str = ""
    message: str = ""
    restarts: int = 0
    ended: str = ""
    unschedulable: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod, or a child, could not be made: the end of the sentence that the API server answered with."""

    what: str
    message: str

    @property
    def by_quota(self) -> bool:
        """Whether the quota of the namespace refused it."""
        return "exceeded quota" in self.message or "failed quota" in self.message


class Reach(enum.Enum):
    """What is known of Kafka."""

    UNKNOWN = "unknown"
    REACHED = "reached"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it answers, and does not let us in
    NO_CREDENTIALS = "no credentials"


@dataclasses.dataclass(frozen=True, slots=True)
class Broker:
    """What the manager found when it looked at Kafka itself.

    Attributes:
        reach: whether it could look.
        problem: why not.
        missing: topics of the user that do not exist, with what each is to the job.
        partitions: of the topics that do.
    """

    reach: Reach = Reach.UNKNOWN
    problem: str = ""
    missing: tuple[str, ...] = ()
    partitions: Mapping[str, int] = dataclasses.field(default_factory=lambda: MappingProxyType({}))


@dataclasses.dataclass(frozen=True, slots=True)
class Heard:
    """What the driver told last, and when we heard it by our own clock."""

    observation: Observation
    at: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a decision about one job looks at.

    Attributes:
        name, namespace, uid, generation: of the StreamJob.
        verdict: what `acceptance` says of the manifest as it is.
        accepted: the job that runs: of this manifest if it is accepted, else the last one that was.
        accepted_generation: the generation of that.
        present: children by kind and name, the job's and those of others that have names which are ours.
        workers, driver: the two sets; None where there is none.
        pods: those of the job.
        heard: what the driver told last; None if nothing was heard since we started.
        refusals: what could not be made lately.
        broker: what Kafka has.
        code_missing: the ConfigMap with the user's code that isn't there; empty if it is, or none is named.
        status: as it was written last; None if it never was.
    """

    name: str
    namespace: str
    uid: str
    generation: int
    verdict: Verdict
    accepted: StreamJob | None
    accepted_generation: int
    present: Mapping[Key, Child] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    workers: Replicas | None = None
    driver: Replicas | None = None
    pods: tuple[Pod, ...] = ()
    heard: Heard | None = None
    refusals: tuple[Refusal, ...] = ()
    broker: Broker = dataclasses.field(default_factory=Broker)
    code_missing: str = ""
    status: Status | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """As the status has them."""
        return self.status.conditions if self.status is not None else ()

    def of(self, component: str) -> tuple[Pod, ...]:
        """The pods of one component that are to stay."""
        return tuple(pod for pod in self.pods if pod.component == component and not pod.leaving)
