"""A job under steady load, in the middle of which parts of it go: it works on, and in the end all results are right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from cluster import release
from jobs import MODEST, Job, ready, word_count
from loads import Feeder, Results, assert_right, judge
from spaces import Space, until

RATE = 40.0  # lines per second, 24 results each: a third of what one worker does on a machine that is busy besides
WORKERS = 2
BACK = 90.0  # seconds for a pod that is gone to be there again, and to work

pytestmark = pytest.mark.timeout(300)


class Steady:
    """The job, its load, and what happened to it."""

    def __init__(self, job: Job) -> None:
        self.job, self.feeder, self.results = job, Feeder(job), Results(job.output)
        self.happened: list[str] = []

    def flows(self, seconds: float = 30.0) -> None:
        """Results that were not there yet come out."""
        self.results.until_more(seconds)

    def works(self) -> None:
        """Everything is as it was before something happened."""
        until("all pods ready, and each worker with partitions that it works on", self._whole, BACK, self.job.told)
        self.job.until_ready(BACK)
        self.flows()

    def leader(self) -> int:
        """How often a driver has begun to lead."""
        return until("the driver answers", self.job.observation, BACK, self.job.told).leader

    def given_on(self, worker: str, since: float) -> float:
        """When the last partition that a worker had then was somebody else's, in seconds since 1970."""
        told = until("the driver answers", self.job.observation, BACK, self.job.told)
        number = worker.rpartition("-")[2]
        first: dict[str, float] = {}
        for move in sorted(told.moves, key=lambda move: move.at):
            if move.at >= since and str(move.source).startswith(f"w{number}."):
                first.setdefault(move.partition, move.at)
        assert first, f"no partition of {worker} was given to anybody"
        return max(first.values())

    def _whole(self) -> bool:
        told, pods = self.job.observation(), self.job.pods()
        if told is None or not told.ready or len(pods) != WORKERS + 1 or not all(ready(pod) for pod in pods):
            return False
        return len([slot for slot in told.slots if slot.partitions and not slot.silent]) == WORKERS


@pytest.fixture(scope="module")
def steady(shared_space: Space) -> Iterator[Steady]:
    job = Job(shared_space, word_count(shared_space, workers={"min": WORKERS, "max": WORKERS, "podTemplate": MODEST}))
    job.until_ready()
    found = Steady(job)
    found.feeder.pour(RATE)
    found.flows()
    yield found
    found.feeder.stop()
    found.results.close()


def test_without_its_operator_a_job_works_on_and_the_next_one_takes_over_without_starting_anything_again(
    steady: Steady,
) -> None:
    before = steady.job.lives()
    release.scale(0)
    try:
        for _ in range(5):
            steady.flows(5)
            time.sleep(1)
    finally:
        release.scale(1)
    steady.job.edit(lambda spec: spec.update(policy={"cooldown": "61s"}))
    until("the new operator takes the edit", lambda: _caught_up(steady.job), 60, steady.job.told)
    assert steady.job.lives() == before
    steady.works()
    steady.happened.append("operator")


@pytest.mark.parametrize("component", ["worker", "driver"])
def test_a_pod_that_is_lost_is_replaced_and_results_go_on(
    steady: Steady, component: str, record_property: Callable[[str, object], None]
) -> None:
    before, led = steady.job.lives(component), steady.leader()
    began = time.time()
    gone = steady.job.kill(component)
    until(
        f"another {gone}",
        lambda: (now := steady.job.lives(component)) and gone in now and now[gone] != before[gone],
        BACK,
        steady.job.told,
    )
    steady.works()
    assert (steady.leader() > led) == (component == "driver")
    if component == "worker":
        record_property("seconds until another worker had all of a lost one", steady.given_on(gone, began) - began)
    steady.happened.append(component)


def test_a_new_version_of_the_program_takes_over_under_load_without_a_new_pod(steady: Steady) -> None:
    before = steady.job.lives()
    steady.job.edit(lambda spec: spec["operators"][1].update(filter="length(word) > 0"))
    generation = steady.job.seen()["metadata"]["generation"]
    until(
        "the driver runs the new version",
        lambda: (told := steady.job.observation()) is not None and told.generation >= generation and told.ready,
        60,
        steady.job.told,
    )
    steady.works()
    assert steady.job.lives() == before
    steady.happened.append("program")


def test_after_all_of_that_no_result_is_lost_or_wrong(steady: Steady) -> None:
    assert steady.happened, "nothing happened to the job, so there is nothing to judge"
    sent = steady.feeder.stop()
    assert_right(judge(steady.job, sent), sent)


def _caught_up(job: Job) -> bool:
    seen = job.seen()
    return bool(seen["status"].get("observedGeneration") == seen["metadata"]["generation"])
