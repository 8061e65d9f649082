"""`spillway broker`, as somebody types it: it says where it is, and ends in order with Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import kafka_records
import remains

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("kafka")]

COMMAND = [sys.executable, "-m", "spillway.cli.main", "broker", "--port", "0"]
SAID = re.compile(
    r"Kafka [\d.]+ answers at (?P<bootstrap>127\.0\.0\.1:\d+)\n(  topics  (?P<topics>.*)\n)?  data    (?P<data>.*)\n"
    r"  log     (?P<log>.*)\n  try     (?P<example>.*)\nCtrl-C stops it\.\n"
)


@contextlib.contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    """The command, and what it has said by the time that it waits; interrupted when the block ends."""
    with subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        try:
            match = SAID.fullmatch(said)
            assert match is not None, said
            yield process, match
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of its foreground


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_and_removes_what_nobody_asked_to_keep(ending: signal.Signals) -> None:
    with running() as (process, said):
        directory = Path(said["data"].removesuffix(" (removed when it stops)"))
        assert Path(said["log"]).is_file()
        os.killpg(process.pid, ending)
        _, complaint = process.communicate(timeout=30)
    assert process.returncode == 0
    assert complaint == "stopped\n"
    assert remains.gone(directory)


def test_its_topics_are_there_and_its_example_works() -> None:
    with running("--topic", "ads:3", "--topic", "clicks") as (_, said):
        assert said["topics"] == "ads, clicks"
        known = Producer(kafka_records.client(said["bootstrap"])).list_topics(timeout=10).topics
        assert {name: len(topic.partitions) for name, topic in known.items()} == {"ads": 3, "clicks": 1}
        example = said["example"].replace("python", sys.executable, 1).replace("'ads', 'hello'", "'clicks', 'hello'")
        subprocess.run(example, shell=True, check=True)  # noqa: S602 - it is meant for a shell
        assert kafka_records.consume(said["bootstrap"], "clicks", 1) == ["hello"]


def test_with_a_folder_the_records_stay(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "kept"), "--topic", "ads")
    with running(*options) as (_, said):
        assert said["data"] == str(tmp_path / "kept")
        kafka_records.produce(said["bootstrap"], "ads", ["kept"])
    with running(*options) as (_, said):
        assert kafka_records.consume(said["bootstrap"], "ads", 1) == ["kept"]


@pytest.mark.parametrize("topic", ["", "no topic", "ads:0", "ads:many", "../ads"])
def test_a_topic_that_cannot_be_is_refused_before_anything_starts(topic: str) -> None:
    refused = subprocess.run([*COMMAND, "--topic", topic], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert f"'{topic}' is no topic" in refused.stderr


def test_its_end_by_itself_is_an_error_with_a_reason() -> None:
    with running() as (process, said):
        directory = said["data"].removesuffix(" (removed when it stops)")
        (kafka,) = [line for line in remains.processes(directory) if " kafka.Kafka " in line and "leash" not in line]
        os.kill(int(kafka.partition(":")[0]), signal.SIGKILL)
        _, complaint = process.communicate(timeout=30)
    assert process.returncode == 1
    assert complaint.startswith("spillway: Kafka ended by itself, with 137")
