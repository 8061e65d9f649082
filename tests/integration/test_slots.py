"""Slots of a real job on a real broker: partitions move, slots die, and every word counts once."""

from __future__ import annotations

import pytest

import broken_slots
from fed import Fed, counted
from running_job import RunningJob, manifest, running
from spillway.local.broker import Broker
from spillway.runtime.slots import process


@pytest.mark.parametrize("frame", [1, 100])
def test_partitions_move_under_load_and_nothing_is_lost_or_counted_twice(broker: Broker, frame: int) -> None:
    with running(manifest("word-count", broker.bootstrap, f"moves{frame}"), frame=frame) as job:
        fed = Fed(job)
        job.start("w0.0")
        job.spread("w0.0")
        fed.some()
        job.start("w1.0")
        for names in (["w0.0", "w1.0"], ["w1.0"], ["w1.0", "w0.0"], []):
            job.driver.want(*names)
            fed.meanwhile(0.3)
            job.driver.until(job.driver.settled)
        fed.some()
        job.spread("w0.0", "w1.0")
        job.finish()

        assert counted(job) == fed.right
        assert job.ask("w0.0", "counts", {"word": "aaa"}).found != job.ask("w1.0", "counts", {"word": "aaa"}).found
        job.driver.want()
        job.driver.until(job.driver.settled)
        assert [job.stop("w0.0"), job.stop("w1.0")] == [0, 0]


def _killed(job: RunningJob, run: process.Run = process.run) -> tuple[dict[str, int], dict[str, int]]:
    """Counts found and right, after slots were killed three times under load."""
    fed = Fed(job)
    job.start("w0.0", run)
    job.start("w1.0", run)
    job.spread("w0.0", "w1.0")
    for victim, heir in (("w0.0", "w1.0"), ("w1.0", "w0.0"), ("w0.0", "w1.0")):
        fed.meanwhile(0.7)
        job.kill(victim)
        job.lose(victim)
        job.driver.want(heir)
        fed.meanwhile(0.5)
        job.start(victim, run)
        job.driver.until(job.driver.settled)
        job.driver.want("w0.0", "w1.0")
    job.driver.until(job.driver.settled)
    fed.some()
    job.finish()
    return counted(job), fed.right


def test_slots_are_killed_under_load_and_every_word_counts_once(broker: Broker) -> None:
    with running(manifest("word-count", broker.bootstrap, "killed")) as job:
        found, right = _killed(job)
        assert found == right


@pytest.mark.parametrize("run", [broken_slots.forgetful, broken_slots.credulous])
def test_slots_that_break_a_rule_count_wrong(broker: Broker, run: process.Run) -> None:
    with running(manifest("word-count", broker.bootstrap, f"wrong-{run.__name__}")) as job:
        found, right = _killed(job, run)
        assert found != right
