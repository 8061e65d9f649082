"""What a slot reads before it works: every committed row, also one that can't be seen yet, and every message."""

from __future__ import annotations

import time

import msgspec

from running_job import RunningJob, manifest, running
from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients, control
from spillway.runtime.clients import Access
from spillway.runtime.control import ControlLog
from spillway.runtime.emitter import Emitter
from spillway.runtime.task import ORIGINS


def _has(job: RunningJob, name: str) -> bool:
    return job.ask(name, "counts", {"word": "aaa"}).found


def test_an_heir_waits_for_rows_that_are_committed_and_cannot_be_seen_yet(broker: Broker) -> None:
    """A transaction on the changelog that is left open stands for one whose markers are still under way."""
    with running(manifest("word-count", broker.bootstrap, "restores")) as job:
        job.start("w0.0")
        job.start("w1.0")
        job.spread("w0.0")
        job.feed(job.job.spec.streams[0].topic, [b"aaa aaa"])
        job.finish()
        slow = clients.committer(job.access, "restores.slow")
        slow.init_transactions(20)
        slow.begin_transaction()
        nobody = ORIGINS + msgspec.msgpack.encode((0, Partition("nobody", 0)))
        for number in range(job.driver.partitions["counts"]):
            slow.produce(job.driver.names.state("counts"), None, nobody, number)
        assert slow.flush(20) == 0

        job.spread("w1.0")
        time.sleep(0.5)
        before = _has(job, "w1.0")
        slow.commit_transaction(20)
        deadline = time.monotonic() + 20
        while not _has(job, "w1.0"):
            assert time.monotonic() < deadline
            time.sleep(0.05)

        assert not before
        assert job.ask("w1.0", "counts", {"word": "aaa"}).rows[0]["occurrences"] == 2


def test_who_stops_reading_the_control_log_goes_on_there(broker: Broker) -> None:
    access, names = Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,))), Names("test.reads-on.")
    admin.create(clients.admin(access), [Topic(names.control, 1)])
    log, emitter = ControlLog(access, names), Emitter(access)
    log.restored()
    joins = [messages.Join(f"w{number}.0", "process") for number in range(3)]
    for join in joins:
        emitter.send(*control.record(names, join))
    assert emitter.flush(20)

    found: list[messages.Any] = []
    deadline = time.monotonic() + 20
    while len(found) < 3 and time.monotonic() < deadline:
        found += [message for _, message in zip(range(1), (message for _, message in log.read(0.2)), strict=False)]

    assert found == joins
    log.close()
