"""What pods ask for, of processors and of memory: all of these numbers are here.

A request is what a pod has for sure, and what a scheduler counts by. What is free beside it may be used as well, for
nothing has a limit on CPU: that stops a process for tens of milliseconds in each hundred, which is latency. Where too
little is free, cores are divided as requests are, so a slot and a core of an executor ask for the same.

They are small, so that a first job fits beside everything else: on a node with two cores, of which 950m are Kubernetes'
own, a job with one worker, a Spark and an executor of one core asks for 750m. Whoever keeps a promise at full load on
nodes that others use too gives workers and executors a core for each slot, by `podTemplate`.
"""

from __future__ import annotations

from spillway.manager.manifests.parts import Manifest

# In thousandths of a core. A driver idles at 1 to 3 % of one and takes a whole one while it plans or Spark starts; it
# must not starve beside slots at full load, which wait for it when partitions move.
DRIVER_CPU, DRIVER_WITH_SPARK_CPU = 100, 200
# Of a slot, or a core of an executor: at full load each takes a whole core, and most are not at full load. Higher:
# jobs that idle, as most do, keep others off their nodes. Lower: a node takes more slots than it has room for at work.
SLOT_CPU = 250
# Of the worker itself, which looks after its slots and answers for them.
WORKER_CPU = 50

# In MiB, at the least and at the most. A driver takes 130 MB for a usual job, beside a Spark 500 to 720 more.
DRIVER_MEMORY, DRIVER_WITH_SPARK_MEMORY = (256, 1024), (1024, 2048)
SLOT_MEMORY = 384, 1024
WORKER_MEMORY = 128


def driver(*, spark: bool) -> Manifest:
    """Of a driver."""
    if spark:
        return _resources(DRIVER_WITH_SPARK_CPU, DRIVER_WITH_SPARK_MEMORY)
    return _resources(DRIVER_CPU, DRIVER_MEMORY)


def worker(slots: int) -> Manifest:
    """Of a worker with so many slots."""
    least, most = (WORKER_MEMORY + slots * memory for memory in SLOT_MEMORY)
    return _resources(WORKER_CPU + slots * SLOT_CPU, (least, most))


def executor(cores: int) -> Manifest:
    """Of an executor; its memory Spark sets itself, by what the job says."""
    return {"requests": {"cpu": f"{cores * SLOT_CPU}m"}}


def _resources(cpu: int, memory: tuple[int, int]) -> Manifest:
    least, most = memory
    return {"requests": {"cpu": f"{cpu}m", "memory": f"{least}Mi"}, "limits": {"memory": f"{most}Mi"}}
