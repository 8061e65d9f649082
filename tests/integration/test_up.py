"""`spillway up`, as somebody uses it: start, feed, read, edit, Ctrl-C; and start again."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import kafka_records
import remains
from spillway.local import interrupts
from spillway.local.broker import Broker

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMAND = [sys.executable, "-m", "spillway.cli.main", "up"]
PATIENCE = 40.0  # seconds; two cores are shared with other tests


class Up:
    """A run, and what it has told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.told: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def until(self, kind: str, matches: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The next thing of a kind that it tells."""
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                line = ""
            assert line, f"nothing of {kind!r} was told, only:\n" + "\n".join(str(one) for one in self.told)
            self.told.append(json.loads(line))
            if self.told[-1]["kind"] == kind and matches(self.told[-1]):
                return self.told[-1]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask for its end, as a terminal does it: all of its foreground."""
        os.killpg(self.process.pid, number)
        return self.process.wait(PATIENCE)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")


@contextlib.contextmanager
def running(manifest: Path, state: Path, *options: str) -> Iterator[Up]:
    """A run, killed if the block has not ended it; its temporary files would be in a folder of their own."""
    scratch = state.parent / "tmp"
    scratch.mkdir(exist_ok=True)
    command = [*COMMAND, str(manifest), "--state", str(state), "--port", "0", "-o", "json", *options]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0, env=environment
    ) as process:
        try:
            yield Up(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def bootstrap(up: Up) -> str:
    return str(up.until("started", lambda told: told["what"] == "broker")["bootstrap"])


def counted(bootstrap: str, **wanted: int) -> bool:
    """Whether the counts of words come to be these, and no others."""
    settings: kafka_records.Settings = {"group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer(kafka_records.client(bootstrap, **settings))
    partitions = consumer.list_topics("word-counts", timeout=10).topics["word-counts"].partitions
    consumer.assign([TopicPartition("word-counts", partition, 0) for partition in partitions])
    newest: dict[str, int] = {}

    def read() -> bool:
        for message in consumer.consume(1000, 0.1):
            row = json.loads(message.value())
            newest[row["word"]] = row["occurrences"]
        return all(newest.get(word) == count for word, count in wanted.items())

    try:
        return remains.within(remains.PATIENCE * 2, read)
    finally:
        consumer.close()


def nothing_left(state: Path) -> bool:
    return remains.within(remains.PATIENCE, lambda: not remains.processes(str(state))) and not any(
        (state.parent / "tmp").iterdir()
    )


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("up")
def test_a_job_runs_is_edited_ends_and_goes_on(tmp_path: Path) -> None:
    manifest, state = tmp_path / "job.yaml", tmp_path / "state"
    shutil.copy(EXAMPLES / "word-count.yaml", manifest)

    with running(manifest, state) as up:
        kafka = bootstrap(up)
        assert up.until("topics")["topics"] == ["lines", "word-counts"]
        assert up.until("ready")["partitions"] == 24
        kafka_records.produce(kafka, "lines", ["to be or not to be", "to do"])
        assert counted(kafka, to=3, be=2, do=1)

        second = subprocess.run(
            [*COMMAND, str(manifest), "--state", str(state)], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert f"this job runs already: process {up.process.pid}, since " in second.stderr

        assert up.end() == 0
        assert up.until("stopped")["left"] == 0
    assert nothing_left(state)

    with running(manifest, state) as up:
        kafka = bootstrap(up)
        up.until("ready")
        kafka_records.produce(kafka, "lines", ["to be"])
        assert counted(kafka, to=4, be=3, do=1)

        text = manifest.read_text()
        manifest.write_text(text.replace("word <> ''", "wrd <> ''"))
        (mistake,) = up.until("refused")["mistakes"]
        assert mistake.startswith(f"{manifest}: spec.operators[1].filter: unknown column 'wrd', did you mean 'word'?")
        manifest.write_text(text.replace("word <> ''", "length(word) > 2"))
        up.until("edited")
        up.until("plan")

        (worker,) = {told["pid"] for told in up.told if told.get("what") == "worker 0"}
        os.kill(worker, signal.SIGKILL)
        assert up.until("ended")["code"] == 128 + signal.SIGKILL
        up.until("moves")
        kafka_records.produce(kafka, "lines", ["to boldly go", "not to", "boldly"])
        assert counted(kafka, boldly=2, to=4, be=3, do=1)  # of "to" no more are counted
        assert up.end(signal.SIGTERM) == 0
    assert nothing_left(state)


def test_on_somebody_s_kafka_a_second_interrupt_ends_at_once_and_leaves_nothing(broker: Broker, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(EXAMPLES / "grep.yaml", state, "--bootstrap", broker.bootstrap, "--create-topics") as up:
        driver = up.until("started", lambda told: told["what"] == "driver")["pid"]
        up.until("ready")
        os.kill(driver, signal.SIGSTOP)  # so that nothing comes to rest
        os.killpg(up.process.pid, signal.SIGINT)
        time.sleep(2 * interrupts.ECHO)
        os.killpg(up.process.pid, signal.SIGINT)

        assert up.process.wait(PATIENCE) == 130
    assert nothing_left(state)
