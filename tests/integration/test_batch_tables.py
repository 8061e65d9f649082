"""Batches look rows up in tables just as they were when the intent was made, however often it is run."""

from __future__ import annotations

import json

import pytest

import kafka_records
import programs
from running_job import accepted
from spillway.controllers.protocol.values import Reach
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.runtime import admin, clients
from spillway.runtime.batch import hop
from spillway.runtime.batch.ranges import Order, Range
from spillway.runtime.clients import Access
from spillway.runtime.programs import cutting

DOCUMENT = {
    "apiVersion": "spillway.dev/v1alpha1",
    "kind": "StreamJob",
    "metadata": {"name": "rooms", "namespace": "tables"},
    "spec": {
        "latency": {"bound": "1s"},
        "streams": [{"name": "events", "topic": "rooms.events", "columns": "k string"}],
        "tables": [{"name": "rooms", "topic": "rooms.rooms", "key": ["k"], "columns": "k string, room string"}],
        "operators": [{"name": "placed", "input": "events", "join": {"table": "rooms", "by": ["k"], "asOf": "latest"}}],
        "outputs": [{"name": "result", "input": "placed", "topic": "rooms.placed"}],
    },
}


@pytest.mark.broker
def test_an_intent_that_is_run_again_finds_the_rows_that_it_found_first(broker: Broker) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    document["spec"]["kafka"] = {"bootstrapServers": [broker.bootstrap]}
    job = accepted(document)
    access = Access(job.spec.kafka)
    admin.create(clients.admin(access), [Topic(f"rooms.{name}", 1) for name in ("events", "rooms", "placed")])
    kafka_records.produce(broker.bootstrap, "rooms.events", ['{"k": "a"}'])
    rooms = [json.dumps({"k": "a", "room": room}) for room in ("hall", "attic", "cellar")]
    kafka_records.produce(broker.bootstrap, "rooms.rooms", rooms)
    (program,) = cutting.cut(job.spec, programs.together(job.spec), {})

    reaches = [1, 3, 1, 2, 0]
    for reach in reaches:
        tables = (Reach("rooms.rooms", 0, reach),)
        order = Order(access, Names.of(job), 1, program, {}, 1, tables=tables)
        hop.one(order, Range(0, 0, 1, 1))

    shadow = Order(
        access, Names.of(job), 1, program, {}, 1, tables=(Reach("rooms.rooms", 0, 3),), shadow=True, repeat=5
    )
    result = hop.one(shadow, Range(0, 0, 1, 1))
    assert (result.messages, result.sent) == (5, 5)  # as if that were five records, of which nothing is sent

    found = [json.loads(value)["room"] for value in kafka_records.consume(broker.bootstrap, "rooms.placed", 4)]
    assert found == ["hall", "cellar", "hall", "attic"]  # and with none at all, no row is met
