"""What can't work is told within half a minute, in words that say what to do, and works when that is done."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.shell import ClusterError
from jobs import Job, word_count
from spaces import Space

TOLD = 30.0  # seconds


@pytest.mark.timeout(240)
def test_an_expression_that_cannot_be_used_is_told_with_its_place_and_the_job_runs_when_it_is_mended(
    space: Space,
) -> None:
    document = word_count(space)
    operator = document["spec"]["operators"][1]
    operator["filter"], right = "wrod <> ''", operator["filter"]
    job = Job(space, document)
    found = job.until_condition("Accepted", "False", TOLD, "InvalidExpression")
    assert "spec.operators[1].filter" in found["message"]
    assert "word" in found["message"]
    assert job.condition("Ready")["reason"] == "NotAccepted"
    assert job.pods() == []
    job.edit(lambda spec: spec["operators"][1].update(filter=right))
    job.until_ready()


@pytest.mark.timeout(240)
def test_a_running_job_goes_on_with_its_last_good_spec_when_a_bad_one_comes(space: Space) -> None:
    job = Job(space, word_count(space))
    job.until_ready()
    before = job.lives()
    job.edit(lambda spec: spec["operators"][1].update(filter="wrod <> ''"))
    job.until_condition("Accepted", "False", TOLD, "InvalidExpression")
    assert job.lives() == before
    told = job.observation()
    assert told is not None
    assert told.ready


@pytest.mark.timeout(60)
def test_what_the_schema_excludes_is_refused_at_once(space: Space) -> None:
    document = word_count(space)
    document["spec"]["latency"]["quantile"] = 2
    with pytest.raises(ClusterError, match=r"spec\.latency\.quantile"):
        Job(space, document)


@pytest.mark.timeout(300)
def test_an_image_that_is_nowhere_is_told_and_the_job_runs_when_the_right_one_is_named(space: Space) -> None:
    job = Job(space, word_count(space, image="spillway-nowhere:1"))
    found = job.until_condition("Ready", "False", TOLD, "ImageUnavailable")
    assert "spillway-nowhere:1" in found["message"]
    job.edit(lambda spec: spec["execution"].pop("image"))
    job.until_ready()


@pytest.mark.timeout(300)
def test_a_kafka_that_does_not_answer_is_told_and_the_job_runs_when_it_does(space: Space) -> None:
    document = word_count(space)
    document["spec"]["kafka"]["bootstrapServers"] = ["later:9092"]
    job = Job(space, document)
    found = job.until_condition("Ready", "False", TOLD, "KafkaUnreachable")
    assert "later:9092" in found["message"]
    space.apply(_alias("later", "kafka.kafka.svc.cluster.local"))
    job.until_ready(150)  # names that were not there are looked up again half a minute later


@pytest.mark.timeout(240)
def test_a_topic_that_is_not_there_is_named_and_the_job_runs_when_it_is_made(space: Space) -> None:
    document = word_count(space)
    document["spec"]["streams"][0]["topic"] = f"{space.name}.later"
    job = Job(space, document)
    found = job.until_condition("Ready", "False", TOLD, "TopicMissing")
    assert f"{space.name}.later" in found["message"]
    space.topic("later")
    job.until_ready()


def _alias(name: str, target: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "ExternalName", "externalName": target},
    }
