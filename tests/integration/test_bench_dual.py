"""The comparison of paradigms, on a real broker: a full topic is worked off and right, by us and by others."""

from __future__ import annotations

from typing import Any

import pytest

from spillway.bench import engines
from spillway.bench.dual import courses, judging
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.loads import Phase
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import Maker
from spillway.bench.record import logs, systems
from spillway.bench.workloads import words
from spillway.local.broker import Broker


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at the figures: no more of what doesn't count than has to be there."""
    monkeypatch.setattr(courses, "WARM", 0.5)
    monkeypatch.setattr(courses, "FILLED", 2_000)


@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_full_topic_is_worked_off_and_what_is_missing_would_be_found(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def noted(*given: Any) -> Judged:
        told.append(given)
        return judged(*given)

    judged = judging.judged
    monkeypatch.setattr(judging, "judged", noted)
    run = courses.drained(Maker(engines.R, words.WORDS), broker.bootstrap, 1.0)

    assert not run.problem
    assert run.judged.lost == run.judged.wrong == 0
    assert run.rate > 0
    assert run.cpu > 0
    assert run.told()["system"] == "R"
    ((results, expected, dues, *_),) = told
    key = next(iter(results))
    less = {**results, key: results[key]._replace(counts=results[key].counts - 1)}
    assert judged(less, expected, dues).problem


@pytest.mark.long
@pytest.mark.timeout(200)
def test_structured_streaming_gets_the_same_topic_and_is_right(broker: Broker) -> None:
    run = courses.paced(Maker(engines.FASTEST, words.GREP), broker.bootstrap, [Phase("low", 200.0, 2.0)], patience=60.0)

    assert not run.judged.problem
    assert len(run.judged.latencies)
    assert run.seconds()


def test_a_topic_that_is_read_again_goes_on_where_it_was(broker: Broker) -> None:
    topic = systems.created_one(broker.bootstrap)
    tail = Tail(broker.bootstrap, topic, words.WORDS)
    tail.read()
    for count in (1, 2):
        logs.write(broker.bootstrap, topic, [(b"a", b'{"word":"a","n":%d}' % count)])
        tail.read()
        assert tail.done() == tail.messages == count
    tail.close()
