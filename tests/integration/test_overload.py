"""A slot that is given 1.4 times what it can do, or more: how many records are in time, and none is lost or repeated.

On a busy machine the slot does less, and more is put off: so what is asked is the share of what it did meanwhile.
"""

from __future__ import annotations

from typing import Any

import pytest

import overloaded
from overloaded import Overloaded
from running_job import RunningJob, running
from spillway.local.broker import Broker
from spillway.runtime.slots import process

RATE, SECONDS = 1.4 / 0.0105, 6.0
MOST = {"overload": "mostInTime"}


def _fed(job: RunningJob, partitions: int = 2) -> Overloaded:
    load = Overloaded(job, partitions)
    job.start("w0.0")
    job.spread("w0.0")
    load.feed(RATE, SECONDS)
    return load


@pytest.mark.parametrize(
    ("policy", "least", "most"), [({}, 0.0, 0.6), (MOST, 0.85, 1.0), (MOST | {"drop": True}, 0.9, 1)]
)
def test_in_overload_what_is_done_is_in_time(broker: Broker, policy: dict[str, Any], least: float, most: float) -> None:
    name = f"overload{len(policy)}"
    with running(overloaded.manifest(broker.bootstrap, name, policy=policy), code=overloaded.CODE) as job:
        load = _fed(job)

        assert least <= load.in_time() <= most
        job.finish()
        came = load.came()
        assert all(len(times) == 1 for times in came.values())
        assert policy.get("drop") or came.keys() == load.sent.keys()
        dropped = sum(place.dropped for place in job.reports["w0.0"].places)
        assert len(came) + dropped == len(load.sent)


def test_with_a_table_behind_one_partition_is_in_time_and_each_key_keeps_its_order(broker: Broker) -> None:
    manifest = overloaded.manifest(broker.bootstrap, "overload-counted", counted=True, policy=MOST)
    with running(manifest, code=overloaded.CODE) as job:
        load = _fed(job)

        assert load.in_time() >= 0.5
        job.finish()
        for times in load.counted().values():
            assert times == list(range(1, len(times) + 1))
        assert sum(map(len, load.counted().values())) == len(load.sent)


def _moved(job: RunningJob, run: process.Run = process.run) -> Overloaded:
    """Under load partitions move to another slot, which is killed, and come back."""
    load = Overloaded(job, 2)
    job.start("w0.0", run)
    job.start("w1.0", run)
    job.spread("w0.0")
    load.feed(RATE, 3)
    job.driver.want("w1.0")
    load.feed(RATE, 3)
    job.driver.until(job.driver.settled)
    job.kill("w1.0")
    job.lose("w1.0")
    job.driver.want("w0.0")
    load.feed(RATE / 2, 3)
    job.driver.until(job.driver.settled)
    job.finish(120)
    return load


def _exactly(broker: Broker, name: str) -> dict[str, Any]:
    execution = {"delivery": "exactly-once"}
    return overloaded.manifest(broker.bootstrap, name, policy=MOST, execution=execution)


@pytest.mark.timeout(300)
def test_what_was_set_aside_goes_with_its_partition_also_from_the_dead(broker: Broker) -> None:
    with running(_exactly(broker, "overload-moved"), code=overloaded.CODE) as job:
        load = _moved(job)

        came = load.came()
        assert came.keys() == load.sent.keys()
        assert [n for n, times in came.items() if len(times) > 1] == []


@pytest.mark.timeout(300)
def test_slots_that_forget_what_they_have_done_ahead_repeat_it(broker: Broker) -> None:
    with running(_exactly(broker, "overload-forgotten"), code=overloaded.CODE) as job:
        load = _moved(job, overloaded.forgetful)

        assert any(len(times) > 1 for times in load.came().values())
