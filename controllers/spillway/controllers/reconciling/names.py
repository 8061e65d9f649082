"""What the children of a job are called, and how they are marked.

Names follow from the name of the job alone: whoever looks twice, or has forgotten everything, finds the same child
and makes no second one.
"""

from __future__ import annotations

import dataclasses
from typing import Self

from spillway.model import streamjob

MANAGED_BY = "spillway"

NAME = "app.kubernetes.io/name"
MANAGER = "app.kubernetes.io/managed-by"
COMPONENT = "app.kubernetes.io/component"
INSTANCE = "app.kubernetes.io/instance"
JOB = f"{streamjob.GROUP}/job"

# Labels that are ours alone: a user's pod template can't set them.
LABELS = (NAME, MANAGER, COMPONENT, INSTANCE, JOB)

SELECTOR = f"{MANAGER}={MANAGED_BY},{JOB}"

FINALIZER = f"{streamjob.GROUP}/finalizer"

# On every child: a digest of what was applied, so that a manager that has just started knows what is as it should be.
APPLIED = f"{streamjob.GROUP}/applied"
# On pods: a digest of the spec. A new value makes the kubelet bring mounted files up to date at once.
SPEC_HASH = f"{streamjob.GROUP}/spec-hash"
# On pod templates: a digest of the user's Python files, so that new code is another template and rolls the pods.
CODE_HASH = f"{streamjob.GROUP}/code-hash"
# On the set of workers: how many were decided on. Replicas are more than that while the last ones are being emptied.
WANTED_WORKERS = f"{streamjob.GROUP}/wanted-workers"
WANTED_EXECUTORS = f"{streamjob.GROUP}/wanted-executors"

DRIVER, WORKER, EXECUTOR = "driver", "worker", "executor"
MAIN = "main"  # the container, in every pod


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """The names of one job's children."""

    job: str

    @classmethod
    def of(cls, job: streamjob.StreamJob) -> Self:
        """Those of a job."""
        return cls(job.metadata.name)

    @property
    def driver(self) -> str:
        """The set of the driver, its Service, its account, its Role and RoleBinding."""
        return f"{self.job}-{DRIVER}"

    @property
    def worker(self) -> str:
        """The set of the workers, its Service and its disruption budget."""
        return f"{self.job}-{WORKER}"

    @property
    def spec(self) -> str:
        """The ConfigMap with the accepted manifest."""
        return f"{self.job}-spec"

    @property
    def token(self) -> str:
        """The Secret with the token of the HTTP contract."""
        return f"{self.job}-token"

    def labels(self, component: str | None = None) -> dict[str, str]:
        """The labels of a child."""
        found = {NAME: MANAGED_BY, MANAGER: MANAGED_BY, INSTANCE: self.job, JOB: self.job}
        return found if component is None else {**found, COMPONENT: component}
