"""A burst is answered, in batches or by another worker, and when it is over all is as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from jobs import HEAD, MODEST, Job, ready, word_count
from loads import Feeder, Results, assert_right, judge
from spaces import Space, came, until
from spillway.model.observation import MoveKind, Observation, Segment, StandbyState
from spillway.model.operators import Paradigm

LOW = 20.0  # lines per second, 24 results each
# A burst is so many times what a slot does; one that only just is none takes seconds to be one, and says nothing.
TIMES = 3.0
LEAST, MOST = 700.0, 5_600.0
SECONDS = 12.0  # of each of them: the verifier goes through all in some minutes, and through the first in seconds
# A worker that gets a third of a core: so a burst leaves the cluster itself enough of two cores.
SHARE = {"limits": {"cpu": "300m"}, "requests": {"cpu": "50m"}}
SMALL = {"spec": {"containers": [{"name": "main", "resources": SHARE}]}}
# A function that waits: a slot does 200 records per second with it, and a node of two cores is not busy.
SLOW = {"slow.py": "import time\n\n\ndef slow(record):\n    time.sleep(0.005)\n    return record\n"}
TOO_MUCH = 250.0
WARM = 180.0  # seconds until Spark, its executor and the first batches for measurement are there
ANSWERED = 90.0
POLICY = {"cooldown": "10s", "scaleDownDelay": "30s"}

pytestmark = pytest.mark.timeout(600)


def test_a_burst_switches_a_job_to_batches_and_back_and_a_lost_executor_costs_no_result(
    space: Space, record_property: Callable[[str, object], None]
) -> None:
    executors = {"min": 1, "max": 1, "memory": "512Mi", "podTemplate": MODEST}
    job = _applied(space, word_count(space, workers={"min": 1, "max": 1, "podTemplate": SMALL}, executors=executors))
    with Feeder(job) as feeder, Results(job.output) as results:
        feeder.pour(LOW)
        results.until_any(30)
        until("batches could begin", lambda: _could(job), WARM, lambda: _stands(job))
        # What a slot with a third of a core does is guessed from what its records cost: the load grows until it is one.
        rate = min(MOST, max(LEAST, TIMES * _able(job)))
        for grown in (rate, 2 * rate, 4 * rate):
            record_property("lines per second of the burst", grown)
            began = feeder.pour(grown, SECONDS)
            if came(lambda: _head(job).paradigm is Paradigm.BATCH, SECONDS):
                break
        until("batches", lambda: _head(job).paradigm is Paradigm.BATCH, 1.0, lambda: _stands(job))
        switched = [move for move in _told(job).moves if move.kind is MoveKind.SWITCH and move.at >= began]
        record_property(
            "seconds from a burst to the first partition in batches", min(one.at for one in switched) - began
        )
        record_property("longest pause of that switch, in ms", max(one.pause_ms or 0.0 for one in switched))
        executor = job.kill("executor")
        until(
            "another executor",
            lambda: [pod for pod in job.pods("executor") if pod["metadata"]["name"] != executor and ready(pod)],
            ANSWERED,
            lambda: _stands(job),
        )
        results.until_more(60)
        feeder.pour(LOW)
        until("record by record", lambda: _head(job).paradigm is Paradigm.RECORD, 2 * ANSWERED, lambda: _stands(job))
        assert MoveKind.SWITCH in {move.kind for move in _told(job).moves}
        sent = feeder.stop()
    assert_right(judge(job, sent), sent)


def test_without_batches_a_burst_brings_another_worker_which_goes_when_it_is_over(space: Space) -> None:
    configured = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "slow"}, "data": SLOW}
    space.apply(configured)
    document = word_count(space, code={"configMap": "slow"})
    python = {"function": "slow:slow", "as": "map", "returns": "line string"}
    document["spec"]["operators"].insert(0, {"name": "slow", "input": "lines", "python": python})
    document["spec"]["operators"][1]["input"] = "slow"
    job = _applied(space, document)
    with Feeder(job) as feeder:
        feeder.pour(TOO_MUCH)
        until("two workers", lambda: len(job.pods("worker")) == 2, ANSWERED, lambda: _stands(job))
        until("both work", lambda: len(_at_work(job)) == 2, ANSWERED, lambda: _stands(job))
        feeder.pour(LOW)
        until("one worker", lambda: len(job.pods("worker")) == 1, 2 * ANSWERED, lambda: _stands(job))
        job.until_ready(30)
        sent = feeder.stop()
    assert_right(judge(job, sent, SLOW), sent)


def _able(job: Job) -> float:
    """Lines per second that a slot does, as the driver has it."""
    found = re.search(r"'P_D': '(\d+)", str(job.deciding()))
    return float(found[1]) if found else 0.0


def _could(job: Job) -> bool:
    """Whether Spark is there, and somebody has measured what batches do."""
    warm = _told(job).standby.state is StandbyState.WARM
    return warm and re.search(r"'P_O': '\d", str(job.deciding())) is not None


def _applied(space: Space, document: dict[str, Any]) -> Job:
    document["spec"]["policy"] = POLICY
    job = Job(space, document)
    job.until_ready()
    return job


def _at_work(job: Job) -> set[str]:
    return {slot.slot for slot in _told(job).slots if slot.partitions and not slot.silent}


def _told(job: Job) -> Observation:
    return until("the driver answers", job.observation, 30, job.told)


def _head(job: Job) -> Segment:
    return next(one for one in _told(job).segments if one.name == HEAD)


def _stands(job: Job) -> str:
    told = job.observation()
    decided = job.deciding()
    seen = [] if told is None else [str(told.standby), *(str(one) for one in told.segments), str(told.recommended)]
    return "\n".join([job.told(), *seen, str(decided.get("switching", ""))[:3000]])
