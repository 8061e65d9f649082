"""The topics of a job: which it needs, and what is done about what is there."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from spillway.controllers import acceptance, topics
from spillway.controllers.topics import Judgement, Reason, Topic
from spillway.model.streamjob import StreamJob

EXAMPLES = Path(__file__).parents[2] / "examples"


def _job(name: str = "ysb", **execution: object) -> StreamJob:
    manifest = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    manifest["metadata"]["namespace"] = "ads"
    if execution:
        manifest["spec"]["execution"] = execution
    verdict = acceptance.accept(manifest)
    assert verdict.job is not None, verdict.mistakes
    return verdict.job


JOB = _job()
NEEDED = topics.needed(JOB, ["counts"], {"counts": 16})
USER = topics.of_user(JOB)


def _present(*without: str, **partitions: int) -> dict[str, Topic]:
    there = {topic.name: topic for topic in NEEDED} | {name: Topic(name, 4) for name in USER}
    there |= {name: dataclasses.replace(there[name], partitions=count) for name, count in partitions.items()}
    return {name: topic for name, topic in there.items() if name not in without}


def _judge(present: dict[str, Topic], before: dict[str, Topic] | None = None) -> Judgement:
    return topics.judge(NEEDED, USER, present, before or {})


def test_a_job_has_topics_under_its_own_name_only() -> None:
    assert [topic.name for topic in NEEDED] == [
        "ads.ysb.control",
        "ads.ysb.telemetry",
        "ads.ysb.decisions",
        "ads.ysb.dead",
        "ads.ysb.edge.counts",
        "ads.ysb.state.counts",
    ]
    assert not USER.keys() & {topic.name for topic in NEEDED}


def test_authority_needs_one_order_so_the_control_log_has_one_partition_and_forgets_nothing() -> None:
    control = NEEDED[0]

    assert control.partitions == 1
    assert control.settings["retention.ms"] == "-1"
    assert control.settings["cleanup.policy"] == "delete"


def test_tables_are_compacted_and_nothing_else_is() -> None:
    compacted = [topic.name for topic in NEEDED if topic.settings["cleanup.policy"] == "compact"]

    assert compacted == ["ads.ysb.state.counts"]


@pytest.mark.parametrize(("workers", "partitions"), [({"max": 1}, 8), ({"max": 8}, 16), ({"max": 10, "slots": 4}, 80)])
def test_an_edge_has_two_partitions_for_each_slot_that_there_may_be(workers: dict[str, int], partitions: int) -> None:
    assert topics.width(_job(workers=workers)) == partitions


def test_with_all_there_is_nothing_to_do() -> None:
    found = _judge(_present())

    assert (found.reason, found.create, found.change, found.wrong) == (Reason.COMPLETE, (), (), ())


def test_what_is_missing_of_ours_is_created_as_it_is_needed() -> None:
    found = _judge(_present("ads.ysb.edge.counts"))

    assert found.reason is Reason.CREATE
    assert found.create == (NEEDED[4],)


def test_what_is_missing_of_the_user_is_never_created() -> None:
    found = _judge(_present("ad-events", "ads.ysb.dead"))

    assert found.reason is Reason.MISSING
    assert found.wrong == ("topic 'ad-events' of stream 'events' does not exist; create it",)
    assert [topic.name for topic in found.create] == ["ads.ysb.dead"]


def test_an_edge_with_other_partitions_would_put_keys_elsewhere_and_is_refused() -> None:
    found = _judge(_present(**{"ads.ysb.edge.counts": 4}))

    assert found.reason is Reason.UNFIT
    assert "has 4 partitions and the job needs 16" in found.sentence


def test_a_setting_that_somebody_changed_is_set_right_and_others_are_left_alone() -> None:
    there = _present()
    edge = there["ads.ysb.edge.counts"]
    there[edge.name] = Topic(edge.name, edge.partitions, {**edge.settings, "retention.ms": "1000", "flush.ms": "1"})
    found = _judge(there)

    assert found.reason is Reason.CREATE
    assert found.change == (Topic(edge.name, edge.partitions, {"retention.ms": "-1"}),)


def test_partitions_that_the_user_adds_are_noticed() -> None:
    found = _judge(_present(**{"ad-events": 6}), {"ad-events": Topic("ad-events", 4)})

    assert found.reason is Reason.GREW
    assert found.grew == ("topic 'ad-events' has 6 partitions, 4 before",)


@pytest.mark.parametrize("now", [Topic("ad-events", 4, identity="b"), Topic("ad-events", 2, identity="a")])
def test_a_topic_that_was_made_anew_stops_the_job_rather_than_reading_on_at_some_record(now: Topic) -> None:
    found = _judge(_present() | {"ad-events": now}, {"ad-events": Topic("ad-events", 4, identity="a")})

    assert found.reason is Reason.MADE_ANEW
    assert found.wrong == ("topic 'ad-events' was deleted and made anew: positions in it mean nothing any more",)
