"""A burst is answered: in batches at once, by another worker when it lasts, and back again when it is over."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from jobs import HEAD, MODEST, Job, word_count
from loads import Feeder, Results, assert_right, judge
from spaces import Space, until
from spillway.model.observation import MoveKind, Observation, Segment
from spillway.model.operators import Paradigm

LOW = 20.0  # lines per second
# A worker that gets a third of a core: so a burst is one at rates that leave the cluster itself enough of two cores.
SMALL = {
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "300m"}, "requests": {"cpu": "100m"}}}]}
}
WARM = 180.0  # seconds until Spark, its executor and the first batches for measurement are there
ANSWERED = 90.0

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def job(space: Space) -> Job:
    execution: dict[str, Any] = {
        "workers": {"min": 1, "max": 2, "podTemplate": SMALL},
        "executors": {"min": 1, "max": 1, "memory": "512Mi", "podTemplate": MODEST},
    }
    document = word_count(space, **execution)
    document["spec"]["policy"] = {"cooldown": "10s", "scaleDownDelay": "30s"}
    return Job(space, document)


def test_a_burst_switches_and_scales_a_job_and_both_come_back_with_every_result_right(job: Job) -> None:
    job.until_ready()
    feeder, results = Feeder(job), Results(job.output)
    feeder.pour(LOW)
    results.until_more(30)
    capacities = until("both paradigms are measured", lambda: _measured(job), WARM, lambda: _stands(job))
    feeder.pour(min(1.6 * capacities["P_D"], 0.8 * capacities["P_O"]))
    until("batches", lambda: _head(job).paradigm is Paradigm.BATCH, ANSWERED, lambda: _stands(job))
    executor = job.kill("executor")
    until("two workers", lambda: len(job.pods("worker")) == 2, ANSWERED, lambda: _stands(job))
    until(
        "another executor",
        lambda: [pod for pod in job.pods("executor") if pod["metadata"]["name"] != executor],
        ANSWERED,
        job.told,
    )
    results.until_more(30)
    feeder.pour(LOW)
    until("record by record", lambda: _head(job).paradigm is Paradigm.RECORD, ANSWERED, lambda: _stands(job))
    until("one worker", lambda: len(job.pods("worker")) == 1, 2 * ANSWERED, lambda: _stands(job))
    job.until_ready(30)
    told = _told(job)
    assert {move.kind for move in told.moves} >= {MoveKind.SWITCH, MoveKind.RESIZE}
    sent = feeder.stop()
    results.close()
    assert_right(judge(job, sent), sent)


def _told(job: Job) -> Observation:
    return until("the driver answers", job.observation, 30, job.told)


def _head(job: Job) -> Segment:
    return next(one for one in _told(job).segments if one.name == HEAD)


def _measured(job: Job) -> dict[str, float]:
    """P_D and P_O, when both are known."""
    verdicts = job.deciding().get("switching", {}).get("verdicts", [])
    inputs: dict[str, Any] = next((one.get("inputs", {}) for one in verdicts if one.get("point") == HEAD), {})
    found = {}
    for name in ("P_D", "P_O"):
        with contextlib.suppress(KeyError, ValueError):  # nobody has measured it yet
            found[name] = float(str(inputs[name]).removesuffix("/s"))
    return found if len(found) == 2 else {}


def _stands(job: Job) -> str:
    told = job.observation()
    decided = job.deciding()
    seen = [] if told is None else [str(told.standby), *(str(one) for one in told.segments), str(told.recommended)]
    return "\n".join([job.told(), *seen, str(decided.get("switching", ""))[:3000]])
