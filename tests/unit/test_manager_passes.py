"""Passes over a job, with a small cluster: whatever breaks at whichever step, what comes after ends in the same."""

from __future__ import annotations

import asyncio
import copy
import datetime
import json
from typing import Any

import msgspec

import bad_manifests
import cluster_verbs
import reconciled
from fake_cluster import FakeCluster
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.names import Names
from spillway.controllers.reconciling.observed import Broker
from spillway.manager import kinds
from spillway.manager.applying import Applier
from spillway.manager.errors import ClusterError, DriverError, UnreachableError
from spillway.manager.manifests.parts import Settings
from spillway.manager.metrics import Metrics
from spillway.manager.observing import Observer
from spillway.manager.reconcile import Reconciler
from spillway.manager.recorder import Recorder
from spillway.manager.teardown import Teardown
from spillway.manager.world import World
from spillway.model.observation import Observation
from spillway.model.streamjob import StreamJob

JOB = "ns", "j"
CHILDREN = 11


class Dies(BaseException):
    """The end of a process, at whatever it was doing."""


class Driver:
    """It tells what it is given, and takes grants; of no worker, its workers hold nothing some looks later."""

    def __init__(self) -> None:
        self.told: Observation | None = None
        self.grants: list[tuple[int, int | None]] = []
        self.looks = 3

    async def observation(self, namespace: str, job: str) -> Observation:
        if self.told is None:
            raise DriverError(job)
        if self.told.granted == 0:
            self.looks -= 1
            if self.looks == 0:
                self.told = reconciled.told(granted=0, held=())
        return self.told

    async def grant(self, namespace: str, job: str, token: str, workers: int, executors: int | None) -> None:
        assert len(token) >= 32
        self.grants.append((workers, executors))
        if self.told is not None:
            self.told = msgspec.structs.replace(self.told, granted=workers)

    @property
    def rests(self) -> bool:
        """Whether it has told that nobody holds anything."""
        return self.told is not None and self.told.granted == 0 and not self.told.slots


class Kafka:
    """Nobody knows what it has; its topics can be deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def view(self, job: StreamJob) -> Broker:
        return Broker()

    async def delete(self, job: StreamJob) -> int:
        self.deleted.append(job.metadata.name)
        return 1


class Manager:
    """One life of a manager: it knows nothing but what is in the cluster."""

    def __init__(
        self, cluster: FakeCluster, driver: Driver, kafka: Kafka, later: datetime.timedelta = datetime.timedelta()
    ) -> None:
        def clock() -> datetime.datetime:
            return reconciled.NOW + later

        self.cluster, self.world = cluster, World()
        observer = Observer(cluster, self.world, driver, kafka, clock)
        applier = Applier(cluster, self.world, driver, observer, Settings("image:1"))
        recorder = Recorder(cluster, clock, "test")
        teardown = Teardown(cluster, applier, driver, recorder, kafka, clock, pod_monitors=False)
        self._reconciler = Reconciler(cluster, self.world, observer, applier, teardown, recorder, Metrics(), clock)

    async def see(self) -> None:
        """What watches would tell."""
        found = self.cluster.objects.get((kinds.STREAM_JOB.name, *JOB))
        if found is None:
            self.world.jobs.pop(JOB, None)
        else:
            self.world.saw_job(copy.deepcopy(found))
        await self.world.refresh(self.cluster, (None,))

    async def work(self, passes: int = 12) -> None:
        """Pass over the job until it is at rest."""
        for _ in range(passes):
            await self.see()
            await self._reconciler.reconcile(JOB)


def create(cluster: FakeCluster, **policy: Any) -> None:
    job = copy.deepcopy(bad_manifests.GOOD)
    job["metadata"] = {"name": "j", "namespace": "ns"}
    job["spec"]["policy"] = {"cooldown": "0s", "scaleDownDelay": "0s", **policy}
    asyncio.run(cluster.create(kinds.STREAM_JOB, job))


def delete(cluster: FakeCluster) -> None:
    job = cluster.objects[kinds.STREAM_JOB.name, *JOB]
    asyncio.run(cluster.delete(kinds.STREAM_JOB, *JOB, job["metadata"]["uid"]))


def run_pods(cluster: FakeCluster) -> None:
    """A driver and a worker that run."""
    for component in (names.DRIVER, names.WORKER):
        labels = Names("j").labels(component)
        pod = {"metadata": {"name": f"j-{component}-0", "namespace": "ns", "labels": labels}}
        asyncio.run(cluster.create(kinds.POD, {**pod, "status": {"phase": "Running"}}))


def essence(cluster: FakeCluster) -> dict[str, Any]:
    """What is there, without what differs from one life to the next."""
    found: dict[str, Any] = {}
    jobs = [one for (kind, *_), one in cluster.objects.items() if kind == kinds.STREAM_JOB.name]
    uid = jobs[0]["metadata"]["uid"] if jobs else "?"
    for (kind, _, name), one in cluster.objects.items():
        if kind == kinds.EVENT.name:
            continue
        kept = copy.deepcopy(one)
        for field in ("uid", "resourceVersion", "generation"):
            kept["metadata"].pop(field)
        kept["metadata"].get("annotations", {}).pop(names.APPLIED, "")  # a digest also of the owner's uid
        if kind == kinds.SECRET.name:
            kept["data"] = sorted(kept["data"])
        found[f"{kind} {name}"] = json.loads(json.dumps(kept).replace(uid, "UID"))
    return found


def lives(story: Any, at: int | None, error: type[BaseException]) -> tuple[dict[str, Any], int, Kafka]:
    """Play a story in which the n-th step breaks; what is there at the end, and how many steps there were."""
    cluster, driver, kafka = FakeCluster(), Driver(), Kafka()
    steps = 0

    def verb(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            message = "step"
            raise error(message)

    def tries(work: Any) -> None:
        """Until it has been done without anything breaking; a process that died is followed by another."""
        manager = Manager(cluster, driver, kafka)
        cluster.verb = verb
        while True:
            try:
                asyncio.run(work(manager))
                break
            except ClusterError:
                continue
            except Dies:
                manager = Manager(cluster, driver, kafka)
        cluster.verb = lambda _: None

    story(cluster, driver, tries)
    return essence(cluster), steps, kafka


def _create(cluster: FakeCluster, driver: Driver, tries: Any) -> None:
    create(cluster)
    tries(lambda manager: manager.work(3))


def _create_and_delete(cluster: FakeCluster, driver: Driver, tries: Any) -> None:
    create(cluster, deleteTopics=True)
    asyncio.run(Manager(cluster, driver, Kafka()).work(3))
    delete(cluster)
    tries(lambda manager: manager.work(3))


def _run_and_delete(cluster: FakeCluster, driver: Driver, tries: Any) -> None:
    """A job at work; no pod of it may be ended before its driver tells that nobody holds anything."""
    create(cluster)
    asyncio.run(Manager(cluster, driver, Kafka()).work(3))
    run_pods(cluster)
    driver.told = reconciled.told()
    delete(cluster)
    ended = []

    def watched(verb: str, before: Any = cluster.verb) -> None:
        if verb == f"before delete {kinds.STATEFUL_SET.name}":
            ended.append(driver.rests)
        before(verb)

    tries(lambda manager: _watched(manager, watched))
    assert ended
    assert all(ended), "a pod was ended while it held something"
    for component in (names.DRIVER, names.WORKER):
        del cluster.objects[kinds.POD.name, "ns", f"j-{component}-0"]


async def _watched(manager: Manager, watched: Any) -> None:
    cluster, counted = manager.cluster, manager.cluster.verb
    cluster.verb = lambda verb: watched(verb, counted)
    try:
        await manager.work(6)
    finally:
        cluster.verb = counted


def _at_every_step(story: Any) -> dict[str, Any]:
    right, steps, _ = lives(story, None, Dies)
    assert steps > CHILDREN, "nothing was counted"
    for error in (Dies, UnreachableError):
        for at in range(1, steps + 1):
            found, _, _ = lives(story, at, error)
            assert found == right, f"{error.__name__} at step {at} of {steps}"
    return right


def test_a_manager_that_dies_or_hears_nothing_at_any_step_of_a_creation_makes_the_same() -> None:
    right = _at_every_step(_create)
    assert len(right) == CHILDREN + 1


def test_a_manager_that_dies_or_hears_nothing_at_any_step_of_a_deletion_leaves_nothing() -> None:
    assert _at_every_step(_create_and_delete) == {}


def test_a_manager_that_dies_or_hears_nothing_at_any_step_lets_workers_rest_before_it_ends_them() -> None:
    assert _at_every_step(_run_and_delete) == {}


def _ends(told: Observation | None, later: float) -> bool:
    """Whether a job is gone after some looks, so many seconds after it was deleted."""
    cluster, driver = FakeCluster(), Driver()
    driver.looks = 1000  # it never comes to rest
    create(cluster)
    asyncio.run(Manager(cluster, driver, Kafka()).work(3))
    run_pods(cluster)
    delete(cluster)
    driver.told = told
    asyncio.run(Manager(cluster, driver, Kafka(), datetime.timedelta(seconds=later)).work(6))
    return (kinds.STREAM_JOB.name, *JOB) not in cluster.objects


def test_the_end_of_a_job_is_not_put_off_for_long_by_a_driver_that_hangs_or_is_silent() -> None:
    assert not _ends(reconciled.told(), 10.0)
    assert _ends(reconciled.told(), 20.0)
    assert not _ends(None, 1.0)
    assert _ends(None, 6.0)


def test_topics_are_deleted_where_the_job_asks_for_it_also_when_no_manager_saw_the_deletion() -> None:
    _, _, kafka = lives(_create_and_delete, None, Dies)
    assert kafka.deleted == ["j"]


def test_a_job_at_rest_is_not_written() -> None:
    cluster, driver = FakeCluster(), Driver()
    create(cluster)
    manager = Manager(cluster, driver, Kafka())
    asyncio.run(manager.work(3))
    changes: list[str] = []
    cluster.verb = changes.append
    asyncio.run(manager.work(5))
    assert changes == []


def test_after_a_start_everything_is_applied_once_and_nothing_changes() -> None:
    cluster, driver = FakeCluster(), Driver()
    create(cluster)
    asyncio.run(Manager(cluster, driver, Kafka()).work(3))
    before = {key: one["metadata"]["resourceVersion"] for key, one in cluster.objects.items()}
    changes: list[str] = []
    cluster.verb = changes.append
    asyncio.run(Manager(cluster, driver, Kafka()).work(3))
    assert len([change for change in changes if change.startswith("before apply")]) == CHILDREN
    after = {key: one["metadata"]["resourceVersion"] for key, one in cluster.objects.items() if key in before}
    assert after == before


def test_the_small_cluster_does_what_a_real_one_does() -> None:
    """`test_manager_lease` holds a real one against the same."""
    asyncio.run(cluster_verbs.hold(FakeCluster()))
