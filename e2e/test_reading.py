"""What people read with kubectl alone."""

from __future__ import annotations

import pytest

from cluster import kind
from jobs import Job, word_count
from spaces import Space, until

pytestmark = pytest.mark.timeout(240)


def test_explain_tells_what_a_field_is_for_and_what_it_is_without_being_set() -> None:
    told = kind.kubectl("explain", "streamjob.spec.latency")
    assert "bound" in told
    assert "From the event's arrival in its topic to its result" in told
    told = kind.kubectl("explain", "streamjob.spec.execution.workers.max")
    assert "Never more worker pods than this." in told


def test_get_shows_a_job_in_one_line_that_fits_a_terminal(space: Space) -> None:
    job = Job(space, word_count(space))
    job.until_ready()

    def columns() -> dict[str, str]:
        header, line = space.kubectl("get", "streamjobs").splitlines()
        assert len(line) <= 120
        return dict(zip(header.split(), line.split(), strict=False))

    # The job may work before the kubelet has asked its worker's probe.
    seen = until("one worker of one", lambda: told if (told := columns())["WORKERS"] == "1/1" else None, 15, job.told)
    assert seen["NAME"] == job.name
    assert seen["READY"] == "True"
    assert space.kubectl("get", "sj").splitlines()[1].split()[0] == job.name


def test_describe_ends_with_events_that_tell_what_was_done(space: Space) -> None:
    job = Job(space, word_count(space))
    job.until_ready()
    told = space.kubectl("describe", "streamjob", job.name)
    body, _, events = told.partition("\nEvents:")
    assert "<none>" not in events.split("\n", 1)[0]
    assert "Every partition has an owner" in body or "Running" in body
    for event in space.events(job.name):
        assert event["message"].strip().endswith((".", ")")) or event["message"], event
        assert event["type"] in ("Normal", "Warning")
