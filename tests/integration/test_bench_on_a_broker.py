"""The bench against real slots: a full topic is worked through and right, and a stop can't be hidden."""

from __future__ import annotations

import pytest

from spillway.bench.record import drains, events, jobs, latency, logs, systems, verify
from spillway.bench.record.systems import System
from spillway.local.broker import Broker

RECORDS = 500


@pytest.mark.timeout(120)
def test_a_drained_job_is_right_and_has_its_price(broker: Broker) -> None:
    source = systems.created_one(broker.bootstrap)
    with System(jobs.CHAIN, broker.bootstrap, source, frame=1000, deadline=0.005) as system:
        found = drains.drained(system, broker.bootstrap, "orders", RECORDS, verify.outputs("orders"))
        records = logs.read(broker.bootstrap, system.output)
    times = range(events.START_MS, events.START_MS + drains.WARM + RECORDS)

    verify.check("orders", records, times)
    with pytest.raises(verify.WrongError):
        verify.check("orders", records[1:], times)
    assert 1 < found.micros < 100_000
    assert found.records == RECORDS


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_stalled_slot_shows_in_the_reported_maximum(broker: Broker) -> None:
    found = latency.run(broker.bootstrap, 2.0, frame=1, stop=1.0)

    assert max(found.latencies) >= 980
    assert sum(value > 200 for value in found.latencies) > 300  # all that were due meanwhile waited, not one of them
