"""Ranges of an intent on a real broker: exactly what was asked for is read, and what comes of it is the same again."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

import kafka_records
from running_job import RunningJob, manifest, running
from spillway.local.broker import Broker
from spillway.runtime.batch import combining, hop
from spillway.runtime.batch.ranges import Order, Range
from spillway.runtime.frames import read


def _order(job: RunningJob, *, combine: bool) -> Order:
    made = job.driver.programs
    aims = combining.aims(made["words"], made) if combine else {}
    return Order(job.access, job.driver.names, 16, made["words"], aims, 50)


@pytest.mark.parametrize("combine", [True, False])
def test_a_range_is_read_exactly_and_gives_the_same_frames_again(broker: Broker, combine: bool) -> None:
    with running(manifest("word-count", broker.bootstrap, f"range-{combine}".lower())) as job:
        topic = job.job.spec.streams[0].topic
        job.feed(topic, [f"a b{n % 7} c{n}".encode() for n in range(300)])
        order = _order(job, combine=combine)
        edge = job.driver.names.edge("counts")
        results = [hop.one(order, Range(0, 20, 220, 3)) for _ in range(2)]
        found = [read(value or b"") for _, value in job.records(edge)]

    assert [(result.messages, result.letters) for result in results] == [(200, 0), (200, 0)]
    half = [frame for frame in found if frame.first[0] >= 20]
    assert len(half) == len(found)
    assert {(frame.epoch, frame.source, frame.partition) for frame in found} == {(3, f"words<{topic}", 0)}
    rows = sum(frame.count for frame in found)
    assert rows == (2 * (1 + 7 + 200) if combine else 2 * 3 * 200)
    texts = sorted(bytes(frame.rows) for frame in found)
    assert texts[::2] == texts[1::2]


def test_offsets_that_nobody_can_read_are_no_reason_to_wait(broker: Broker) -> None:
    with running(manifest("word-count", broker.bootstrap, "range-gaps")) as job:
        topic = job.job.spec.streams[0].topic
        producer = Producer(kafka_records.client(broker.bootstrap, **{"transactional.id": "range-gaps"}))
        producer.init_transactions(20)
        for committed in (True, False, True):
            producer.begin_transaction()
            producer.produce(topic, b"a b", partition=0)
            producer.flush(20)
            producer.commit_transaction(20) if committed else producer.abort_transaction(20)
        result = hop.one(_order(job, combine=True), Range(0, 0, 6, 1))

    assert result.messages == 2
    assert result.changes == ()


def test_of_a_range_that_is_left_out_which_a_slot_has_done(broker: Broker) -> None:
    with running(manifest("word-count", broker.bootstrap, "range-done")) as job:
        topic = job.job.spec.streams[0].topic
        job.feed(topic, [f"w{n}".encode() for n in range(300)])
        result = hop.one(_order(job, combine=False), Range(0, 20, 220, 3, done=((20, 30), (50, 100), (210, 220))))
        frames = [read(value or b"") for _, value in job.records(job.driver.names.edge("counts"))]

    assert result.messages == 130
    done = {n for frame in frames for n in range(frame.first[0], frame.last[0] + 1) if frame.count}
    assert sum(frame.count for frame in frames) == 130
    assert (min(done), max(done)) == (30, 209)
