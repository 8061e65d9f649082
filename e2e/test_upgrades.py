"""The operator is upgraded and rolled back with helm, as users do it, while a job works: it works on, all is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cluster import release
from jobs import MODEST, Job, ready, word_count
from loads import Feeder, Results, assert_right, judge
from spaces import Space, until

RATE = 40.0  # lines per second, as under disturbances
WORKERS = 2
ROLLED = 150.0  # seconds for three pods, those of a set one after the other, to be others and to work

Step = Callable[[], None]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Whatever becomes of a test, the next one has the operator that `make e2e` installed."""
    revision = release.revision()
    yield
    if release.revision() != revision:
        release.rollback(revision)


def test_what_is_installed_says_that_it_works() -> None:
    told = release.check()
    assert "/readyz 200" in told


def test_a_job_works_on_while_its_operator_is_upgraded_and_rolled_back(space: Space) -> None:
    job = _applied(space)
    with Feeder(job) as feeder, Results(job.output) as results:
        feeder.pour(RATE)
        results.until_any(30)
        lives = job.lives()
        steps: tuple[Step, ...] = (lambda: release.upgrade(podAnnotations={"e2e": "upgraded"}), release.rollback)
        for step in steps:
            step()
            results.until_more(30)
            assert job.lives() == lives, "pods of the job were touched"
        job.edit(lambda spec: spec.update(policy={"cooldown": "61s"}))
        until("the operator looks after the job", lambda: _caught_up(job), 60, job.told)
        sent = feeder.stop()
    assert_right(judge(job, sent), sent)


def test_where_an_upgrade_changes_pods_of_jobs_they_roll_and_no_result_is_lost(space: Space) -> None:
    job = _applied(space)
    with Feeder(job) as feeder, Results(job.output) as results:
        feeder.pour(RATE)
        results.until_any(30)
        steps: tuple[Step, ...] = (lambda: release.upgrade(jobImage={"pullPolicy": "Never"}), release.rollback)
        for step in steps:
            before = {uid for uid, _ in job.lives().values()}
            step()
            until("all pods are others, and work", lambda before=before: _others(job, before), ROLLED, job.told)  # type: ignore[misc]
            job.until_ready(ROLLED)
            results.until_more(60)
        sent = feeder.stop()
    assert_right(judge(job, sent), sent)


def _applied(space: Space) -> Job:
    workers = {"min": WORKERS, "max": WORKERS, "podTemplate": MODEST}
    job = Job(space, word_count(space, workers=workers))
    job.until_ready()
    return job


def _others(job: Job, before: set[str]) -> bool:
    pods = job.pods()
    there = {pod["metadata"]["uid"] for pod in pods}
    return len(pods) == WORKERS + 1 and not there & before and all(ready(pod) for pod in pods)


def _caught_up(job: Job) -> bool:
    seen = job.seen()
    return bool(seen["status"].get("observedGeneration") == seen["metadata"]["generation"])
