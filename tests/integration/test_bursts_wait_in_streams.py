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


def _waiting(job: RunningJob, segment: str) -> int | None:
    """Messages that wait in front of a segment, as far as its slot knows."""
    report = job.reports.get("w0.0")
    places = [place for place in report.places if place.segment == segment] if report else []
    return sum(max(0, place.end - place.position) for place in places if place.end is not None) if places else None


def test_in_a_burst_records_wait_in_the_stream_and_not_between_operators(broker: Broker) -> None:
    line = " ".join(f"word{number % 17:06d}" for number in range(WORDS)).encode()
    with running(document(broker.bootstrap), frame=100) as job:
        job.start("w0.0")
        job.feed("begun.lines", [line] * 10)
        job.spread("w0.0")
        job.finish()
        for partition in range(2):
            job.feed("begun.lines", [line] * (LINES // 2), partition)

        seen: list[tuple[int, int]] = []
        deadline = time.monotonic() + 60
        while not seen or seen[-1] != (0, 0):
            assert time.monotonic() < deadline
            job.driver.step(0.02)
            seen.append((_waiting(job, "words") or 0, _waiting(job, "counts") or 0))
        assert max(stream for stream, _ in seen) > LINES / 2  # it was a burst
        assert max(edge for _, edge in seen) < 700  # of 12 000 frames; 1200 to 1600 where one answer brings all lines
