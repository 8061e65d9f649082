"""A burst on a slot that reads a stream and the edge that it writes: what waits, waits in the stream."""

from __future__ import annotations

import time
from typing import Any

from running_job import RunningJob, running
from spillway.local.broker import Broker

LINES, WORDS = 60_000, 20


def document(bootstrap: str) -> dict[str, Any]:
    """Words with their lines, which is sixteen times as many bytes, and what is counted of them."""
    counts = {"by": ["word"], "values": ["count(*) as n", "max(length(line)) as longest"]}
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "begun", "namespace": "test"},
        "spec": {
            "kafka": {"bootstrapServers": [bootstrap]},
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": "begun.lines", "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word"}},
                {"name": "counts", "input": "words", "aggregate": counts},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": "begun.counts"}],
        },
    }


def _seen(job: RunningJob, segment: str) -> tuple[int, int]:
    """Messages of a segment that are processed, and that wait, as far as its slot knows."""
    report = job.reports.get("w0.0")
    places = [place for place in report.places if place.segment == segment] if report else []
    waiting = sum(max(0, place.end - place.position) for place in places if place.end is not None)
    return sum(place.position for place in places), waiting


def test_in_a_burst_records_wait_in_the_stream_and_not_between_operators(broker: Broker) -> None:
    line = " ".join(f"word{number % 17:06d}" for number in range(WORDS)).encode()
    with running(document(broker.bootstrap), frame=100) as job:
        for partition in range(2):
            job.feed("begun.lines", [line] * (LINES // 2), partition)
        job.start("w0.0")
        job.spread("w0.0")

        between, deadline = [0], time.monotonic() + 60
        done = waiting = 0
        while done < LINES or waiting:
            assert time.monotonic() < deadline
            job.driver.step(0.02)
            done, _ = _seen(job, "words")
            _, waiting = _seen(job, "counts")
            between.append(waiting)
        assert max(between) < 600  # of 12 000 frames: some 350; 900 to 1600 where one answer brings all lines
