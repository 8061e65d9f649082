"""How long what is sent takes, by the client's own statistics."""

from __future__ import annotations

import json

import pytest

from spillway.runtime import emitter


def _statistics(*brokers: tuple[float, int, float, float]) -> str:
    """Of each: microseconds in the queue of so many messages, in the socket, and for the round trip."""
    told = {
        str(number): {
            "int_latency": {"avg": queued, "cnt": count, "p99": 1},
            "outbuf_latency": {"avg": written, "cnt": min(count, 1)},
            "rtt": {"avg": answered, "cnt": min(count, 1)},
        }
        for number, (queued, count, written, answered) in enumerate(brokers)
    }
    return json.dumps({"name": "rdkafka#producer-1", "brokers": told})


def test_it_is_the_queue_the_socket_and_the_way_there() -> None:
    assert emitter.network(_statistics((1000.0, 10, 50.0, 400.0))) == pytest.approx(1250e-6)


def test_brokers_count_by_what_went_to_them() -> None:
    found = emitter.network(_statistics((1000.0, 30, 0.0, 0.0), (5000.0, 10, 0.0, 0.0), (9e9, 0, 9e9, 9e9)))

    assert found == pytest.approx(2000e-6)


@pytest.mark.parametrize("told", [_statistics(), _statistics((0.0, 0, 0.0, 0.0)), "{}"])
def test_where_nothing_was_sent_nothing_is_known(told: str) -> None:
    assert emitter.network(told) is None
