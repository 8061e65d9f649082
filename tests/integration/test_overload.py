"""A slot that is given 1.4 times what it can do, or more: how many records are in time, and none is lost or repeated.

On a busy machine the slot does less, and more is put off: so what is asked is the share of what it did meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overloaded
from deployed_job import Deployed, deployed
from overloaded import Overloaded
from running_job import RunningJob, running
from spillway.local.broker import Broker
from spillway.runtime.driver.positions import Positions
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

        # One of two partitions, but for what is late before the other one is put off.
        assert load.in_time() >= 0.42
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


class Numbers:
    """Fed to a job that is deployed; each is to come out once."""

    def __init__(self, job: Deployed, name: str) -> None:
        self._job, self._name = job, name
        self._positions = Positions(job.access, job.names)
        self.count = 0

    def feed(self, rate: float, seconds: float) -> None:
        """A tenth of a second's worth at once, and no faster."""
        start, first = time.monotonic(), self.count
        while (now := time.monotonic() - start) < seconds:
            upto = first + int(rate * (now + 0.1))
            values = [msgspec.json.encode({"n": n, "k": str(n)}).decode() for n in range(self.count, upto)]
            self._job.feed(f"{self._name}.in", values)
            self.count = upto
            time.sleep(0.1)

    def set_aside(self) -> int:
        """In how many partitions something is done ahead, as it is committed."""
        return len(self._positions.ahead("slowly", f"{self._name}.in", range(PARTITIONS)))

    def came(self) -> Counter[int]:
        """How often each has come."""
        return Counter(self._job.column(f"{self._name}.out", "n"))


PARTITIONS = 2


@pytest.mark.broker
@pytest.mark.timeout(300)
def test_what_was_set_aside_is_left_to_batches_and_what_is_done_is_not_done_again(
    broker: Broker, tmp_path: Path
) -> None:
    manifest = overloaded.manifest(broker.bootstrap, "overload-batched", policy=MOST)
    with deployed(broker, manifest, tmp_path, partitions=PARTITIONS) as job:
        job.start("driver", "--code", str(overloaded.CODE), "--spark", "local[2]")
        job.start("worker", "--worker", "0", "--code", str(overloaded.CODE))
        numbers = Numbers(job, "overload-batched")
        job.until(lambda: job.told.ready)
        job.until(lambda: job.told.standby.state == "warm")
        numbers.feed(RATE, 4)
        job.until(numbers.set_aside)

        job.switch("slowly", "batch")
        left = numbers.set_aside()
        numbers.feed(RATE / 4, 1)
        job.until(lambda: (batch := job.segment("slowly").batch) and batch.records)
        job.switch("slowly", "record")
        numbers.feed(RATE / 4, 1)

        job.until(lambda: len(numbers.came()) == numbers.count)
        assert left, "nothing was set aside when batches began: the run shows nothing"
        assert {n: times for n, times in numbers.came().items() if times > 1} == {}
