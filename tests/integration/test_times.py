"""What a slot tells of the age of its results, and of where their time went, is of all that readers can see."""

from __future__ import annotations

import time

import pytest

from running_job import RunningJob, running
from spillway.local.broker import Broker
from spillway.runtime.telemetry import Report

LINES, TOLD = 200, 20.0


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_each_result_has_an_age_and_a_time_in_the_network(broker: Broker, delivery: str) -> None:
    name = f"times-{delivery}"
    document = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name},
        "spec": {
            "kafka": {"bootstrapServers": [broker.bootstrap]},
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": f"{name}-lines", "format": "raw", "columns": "line string"}],
            "operators": [{"name": "long", "input": "lines", "filter": "length(line) > 1"}],
            "outputs": [{"name": "result", "input": "long", "topic": f"{name}-long"}],
            "execution": {"delivery": delivery},
        },
    }
    with running(document) as job:
        job.start("w0.0")
        job.spread("w0.0")
        job.feed(f"{name}-lines", [b"a line"] * LINES)
        job.finish()
        report = _told(job, LINES)
        assert len(job.output("result")) == LINES
        spent = report.phases["long"]
        assert spent["queue"].records == spent["cpu"].records == LINES
        if delivery == "exactly-once":
            assert spent["network"].records == LINES
        else:  # the client tells its statistics every few seconds, and what left before is in no phase
            count, deadline = LINES, time.monotonic() + TOLD
            while "network" not in report.phases["long"]:
                assert time.monotonic() < deadline, report.phases
                job.feed(f"{name}-lines", [b"a line"])
                report = _told(job, count := count + 1)

    network = report.phases["long"]["network"]
    assert 0 < network.seconds / network.records < 1


def _told(job: RunningJob, count: int) -> Report:
    """What the slot tells once so many results have left, and no more have."""
    deadline = time.monotonic() + TOLD
    while _left(job) < count:
        assert time.monotonic() < deadline, job.reports
        job.driver.step(0.02)
    assert _left(job) == count
    return job.reports["w0.0"]


def _left(job: RunningJob) -> int:
    report = job.reports.get("w0.0")
    return report.latency["result"].count if report and "result" in report.latency else 0
