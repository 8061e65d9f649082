"""Executors that are pods: Spark's own scheduler for Kubernetes, in client mode from the pod of the driver.

The driver's JVM creates executor pods that are owned by the driver's pod, so they go with it. A container that is
started again in the same pod owns nothing by that: what the process before it has left is swept, by label, before the
next Spark begins. Spark needs to touch nothing but pods: create, get, list, watch, delete, deletecollection.

What of this is not Spark's default has its reason beside it.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from spillway.model.streamjob import StreamJob
from spillway.runtime.batch import cluster, limits, machine
from spillway.runtime.batch.cluster import ClusterError, Pod
from spillway.runtime.batch.executors import Executors
from spillway.runtime.batch.jvm import NoSparkError
from spillway.runtime.batch.template import Template

if TYPE_CHECKING:
    from pyspark import SparkContext

RPC, BLOCKS = 7078, 7079  # ports of the driver, where executors reach it
# MiB of an executor beside its heap: code and threads of the JVM, and what Spark takes outside of the heap by default.
BESIDE = 384
# MiB of each Python worker, one for each core. With clients and a program one has 60 of its own; rows of a range that
# are added up take a few hundred bytes for each key. The more, the less fits on a node.
WORKER = 512
# Seconds until the first executor has to be there. An image that is pulled, or a node that is added first, takes
# minutes; longer: who looks at the job is told late why nothing starts.
PATIENCE = 300.0
LOOK = 0.2  # seconds between two looks whether it is there

SETTINGS: Mapping[str, str] = {
    "spark.dynamicAllocation.enabled": "false",  # it goes by tasks that wait, and ours never do
    # Spark touches nothing but pods, so no right to anything else is needed.
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
    # By default as few as three pods that can't be created (a quota, an admission that is away) end the driver's JVM.
    "spark.executor.maxNumFailures": "1000000",
    "spark.executor.failuresValidityInterval": "10m",
    # How soon pods are asked for again. 100 ms hammers the API server while it refuses.
    "spark.kubernetes.allocation.batch.delay": "500ms",
    "spark.kubernetes.executor.eventProcessingInterval": "200ms",
    # A pod that was deleted by force, or with its node, is only noticed by asking: after a minute by default.
    "spark.kubernetes.executor.apiPollingInterval": "5s",
    "spark.kubernetes.executor.missingPodDetectDelta": "5s",
    "spark.kubernetes.dynamicAllocation.deleteGracePeriod": "2s",
    # An executor whose node does not answer: a batch waits for it no longer than this.
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "5s",
    # There is always somebody else who can take a task: no data is anywhere near.
    "spark.locality.wait": "0s",
    "spark.scheduler.minRegisteredResourcesRatio": "0",  # whether there are enough is asked here
    # Whoever reaches the ports of the driver can't just call himself an executor.
    "spark.authenticate": "true",
    # It pipes records to Python workers and back: the quick compiler starts it in half the time. Out of memory it
    # ends, rather than to go on by halves.
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError",
}

_log = logging.getLogger(__name__)


class Pods:
    """The executors of a job on the cluster that its driver runs on."""

    workers = 0  # on this machine

    def __init__(self, pod: Pod, template: Template, job: StreamJob, count: int, patience: float = PATIENCE) -> None:
        """As the job says that they are to be; `count` of them at first, the first of them within `patience`."""
        self._pod, self._template, self._job, self._count, self._patience = pod, template, job, count, patience

    @property
    def labels(self) -> Mapping[str, str]:
        """By which executors of the job are told from all other pods."""
        return {"spillway.dev/job": self._job.metadata.name, "app.kubernetes.io/component": "executor"}

    def begin(self) -> Mapping[str, str]:
        """Sweep, then the settings: under a name of their own, for pods that are swept may take a while to go."""
        try:
            swept = self._pod.sweep(self.labels)
        except ClusterError as error:
            raise NoSparkError(str(error)) from None
        if swept:
            _log.info("swept %d executors that an earlier process has left", swept)
        return self._settings(uuid.uuid4().hex)

    def joined(self, context: SparkContext, said: Callable[[], str]) -> Executors:
        """Waits for the first of them."""
        found = _Registered(context, self._job.spec.execution.executors.cores)
        until = time.monotonic() + self._patience
        while not found.there:
            if time.monotonic() > until:
                message = f"no executor has started within {self._patience:.0f} s: {self._why(said())}"
                raise NoSparkError(message)
            time.sleep(LOOK)
        return found

    def _why(self, said: str) -> str:
        try:
            return cluster.waiting(self._pod.pods(self.labels)) or cluster.refused(said) or "nobody says why"
        except ClusterError as error:
            return str(error)

    def _settings(self, unique: str) -> dict[str, str]:
        size, pod, name = self._job.spec.execution.executors, self._pod, self._job.metadata.name
        heap = size.memory.amount // machine.MIB
        return {
            **SETTINGS,
            "spark.master": f"k8s://{pod.api}",
            "spark.app.id": f"spillway-{unique}",  # a label: with the name of the job it could be too long
            # The address of the pod itself: no Service, and no DNS in the path.
            "spark.driver.host": pod.address,
            "spark.driver.bindAddress": pod.address,
            "spark.driver.port": str(RPC),
            "spark.driver.blockManager.port": str(BLOCKS),
            "spark.blockManager.port": str(BLOCKS),
            "spark.kubernetes.namespace": pod.namespace,
            "spark.kubernetes.authenticate.oauthTokenFile": str(pod.account / "token"),
            "spark.kubernetes.authenticate.caCertFile": str(pod.account / "ca.crt"),
            # Executors are owned by it. A job's name has up to 40 characters, so that names of pods have less than 63,
            # and are their host names too.
            "spark.kubernetes.driver.pod.name": pod.name,
            "spark.kubernetes.executor.podNamePrefix": f"{name}-{unique[:6]}",
            **{f"spark.kubernetes.executor.label.{label}": value for label, value in self.labels.items()},
            **self._template.settings,
            "spark.executor.instances": str(self._count),
            "spark.executor.cores": str(size.cores),
            "spark.executor.memory": f"{heap}m",
            "spark.executor.memoryOverhead": f"{BESIDE + size.cores * WORKER}m",
            f"spark.executorEnv.{limits.MEMORY}": str(WORKER * machine.MIB),
        }


class _Registered:
    """Those that have called the driver, by the numbers that Spark gives them."""

    def __init__(self, context: SparkContext, cores: int) -> None:
        self._context: Any = context
        self._cores = cores

    @property
    def there(self) -> frozenset[str]:
        # As one text: each element would be a question to the JVM.
        return frozenset(str(self._scheduler.getExecutorIds().mkString(" ")).split())

    @property
    def tasks(self) -> int:
        return max(1, len(self.there) * self._cores)

    def resize(self, count: int) -> None:
        """The youngest go first. To kill one lowers what is asked for, so what is to be there is said after that."""
        names = self._context._jvm.PythonUtils  # noqa: SLF001 - PySpark has no other way to it
        surplus = sorted(self.there, key=int)[count:]
        if surplus:
            self._scheduler.killExecutors(names.toSeq(surplus))
        self._scheduler.requestTotalExecutors(count, 0, names.toScalaMap({}))

    @property
    def _scheduler(self) -> Any:
        return self._context._jsc.sc()  # noqa: SLF001 - as PySpark itself asks it
