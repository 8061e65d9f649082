"""What the manager tells Prometheus: of itself, and a few things of each job, gone when the job is."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from spillway.manager.world import Job
from spillway.model.status import ConditionStatus, ConditionType, Status

# Seconds. A pass that asks nothing takes one millisecond, one that makes a job half a second.
_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_OF_JOB = ("namespace", "job")
# Labels by the name of the metric.
LABELS: dict[str, tuple[str, ...]] = {
    "spillway_manager_passes": ("result",),
    "spillway_manager_pass_seconds": (),
    "spillway_manager_errors": ("kind",),
    "spillway_manager_requests": ("verb", "resource", "code"),
    "spillway_manager_last_pass_age_seconds": (),
    "spillway_manager_jobs": (),
    "spillway_manager_leading": (),
    "spillway_manager_epoch": (),
    "spillway_job_condition": (*_OF_JOB, "type"),
    "spillway_job_workers_wanted": _OF_JOB,
    "spillway_job_workers_present": _OF_JOB,
    "spillway_job_operators_in_batch": _OF_JOB,
}
_VALUES = {ConditionStatus.TRUE: 1, ConditionStatus.FALSE: 0, ConditionStatus.UNKNOWN: -1}


class Metrics:
    """All of them, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._passes = Counter(
            *self._of("spillway_manager_passes", "Passes over jobs, by how they ended."), registry=self.registry
        )
        self._seconds = Histogram(
            *self._of("spillway_manager_pass_seconds", "How long good passes took."),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._errors = Counter(
            *self._of("spillway_manager_errors", "Passes that failed, by the kind of error."), registry=self.registry
        )
        what = "Requests to the API server, by verb, resource and code of the answer; 0 for none."
        self._requests = Counter(*self._of("spillway_manager_requests", what), registry=self.registry)
        what = "Time since a pass over any job ended."
        self._age = Gauge(*self._of("spillway_manager_last_pass_age_seconds", what), registry=self.registry)
        self._jobs = Gauge(*self._of("spillway_manager_jobs", "Jobs that are kept."), registry=self.registry)
        self._leading = Gauge(
            *self._of("spillway_manager_leading", "1 while this process has the lease."), registry=self.registry
        )
        what = "How often the lease has changed hands, up to ours."
        self._epoch = Gauge(*self._of("spillway_manager_epoch", what), registry=self.registry)
        self._conditions = Gauge(
            *self._of("spillway_job_condition", "Conditions of a job, as its status has them."), registry=self.registry
        )
        self._wanted = Gauge(
            *self._of("spillway_job_workers_wanted", "Workers that a job should have."), registry=self.registry
        )
        self._present = Gauge(
            *self._of("spillway_job_workers_present", "Workers of a job that are ready."), registry=self.registry
        )
        what = "Operators of a job that run in batches."
        self._batch = Gauge(*self._of("spillway_job_operators_in_batch", what), registry=self.registry)

    @staticmethod
    def _of(name: str, what: str) -> tuple[str, str, tuple[str, ...]]:
        return name, what, LABELS[name]

    def watch(self, finished: Callable[[], float], count: Callable[[], int]) -> None:
        """From now on tell how long ago a pass was, and how many jobs there are."""
        self._age.set_function(lambda: time.monotonic() - finished())
        self._jobs.set_function(lambda: float(count()))

    def passed(self, result: str, seconds: float | None) -> None:
        """A pass has ended."""
        self._passes.labels(result).inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def failed(self, kind: str) -> None:
        """A pass has failed."""
        self._errors.labels(kind).inc()

    def asked(self, verb: str, resource: str, code: int) -> None:
        """A request was made."""
        self._requests.labels(verb, resource, str(code)).inc()

    def leads(self, epoch: int) -> None:
        """The lease is ours."""
        self._leading.set(1)
        self._epoch.set(epoch)

    def job(self, job: Job, status: Status) -> None:
        """How a job is."""
        for condition in status.conditions:
            self._conditions.labels(*job, str(condition.type)).set(_VALUES[condition.status])
        self._wanted.labels(*job).set(status.workers.wanted)
        self._present.labels(*job).set(status.workers.present)
        self._batch.labels(*job).set(sum(one.paradigm == "batch" for one in status.operators))

    def forget(self, job: Job) -> None:
        """It is gone, and so is what was told of it."""
        for kind in ConditionType:
            _drop(self._conditions, *job, str(kind))
        for gauge in (self._wanted, self._present, self._batch):
            _drop(gauge, *job)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)


def _drop(gauge: Gauge, *labels: str) -> None:
    try:
        gauge.remove(*labels)
    except KeyError:
        return
