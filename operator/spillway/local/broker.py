"""A real Kafka broker on this machine: one process that is its own controller, on ports of the loopback interface."""

import contextlib
import dataclasses
import fcntl
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spillway.local import cache, installation, ports, process
from spillway.local import settings as kafka_settings
from spillway.model import errors

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

log = logging.getLogger(__name__)

READY_WITHIN = timedelta(seconds=60)  # 2 to 4 s here; a data directory after a hard kill is read through first
STOP_WITHIN = timedelta(seconds=20)  # under a second when idle; it moves its open transactions and groups to disk
ASK_SECONDS = 1.0  # for one metadata request, so that the end of the process is noticed between two
LOOK_SECONDS = 0.02
TOPIC_WITHIN = timedelta(seconds=10)
LOCKED_WITHIN = timedelta(seconds=2)  # a predecessor whose parent was killed is gone after a few hundredths of one
ATTEMPTS = 3  # with other ports, when somebody took one between our look and Kafka's bind

# What people can do about ends that Kafka explains to itself: a part of its log, and the sentence for it.
REASONS = (
    ("Address already in use", "one of its ports was taken meanwhile: start it again, or name another port"),
    ("node ID not found", "its data/meta.properties is damaged: remove this directory, or name another one"),
    ("OutOfMemoryError", "its heap is too small for what it holds"),
)


class BrokerError(errors.RetryError):
    """The broker did not start, or did not do what it was asked; the message ends with the end of its log."""


class Broker:
    """A broker, its data, and its port; may be stopped or killed and started again, on both.

    `data` is a directory that is made when it is not there and kept; without one a temporary directory is used, and
    removed by `close`. `port` 0 stands for a free one. `settings` are Kafka's own, and win over ours. One that is
    `lasting` takes a little longer to start, and is quicker once it has been at work for some seconds.
    As a context manager it is ready inside of the block, and closed after it. It never outlives this process.
    """

    def __init__(
        self,
        data: Path | None = None,
        *,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        lasting: bool = False,
        using: installation.Installation | None = None,
    ) -> None:
        self._using = using or (prepared().lasting() if lasting else prepared())
        self._settings = dict(settings or {})
        self._temporary = data is None
        self.directory = Path(tempfile.mkdtemp(prefix="spillway-broker-")) if data is None else data.resolve()
        self.log = self.directory / "broker.log"
        self.port = port
        self._process: process.Process | None = None

    @property
    def bootstrap(self) -> str:
        """The address that clients are given."""
        return f"{ports.LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id of Kafka itself, None when it does not run."""
        return self._process.pid if self._process is not None and self._process.running() else None

    def start(self) -> None:
        """Start it, or start it again, and return when it answers."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._locked() as lock:
            self._using.format(self.directory / "data")
            for attempt in range(1, ATTEMPTS + 1):
                port, controller_port = self._choose_ports()
                try:
                    self._run(port, controller_port, lock)
                except BrokerError as error:
                    self.kill()
                    if attempt == ATTEMPTS or "Address already in use" not in str(error):
                        raise
                else:
                    self.port = port
                    return

    def stop(self) -> None:
        """End it in order: what it has is on disk and marked complete, so the next start is quick."""
        if self._process is not None:
            self._process.stop(STOP_WITHIN)

    def kill(self) -> None:
        """End it hard, as a crash would; returns when the process is gone."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Stop it, and remove its directory if that is a temporary one."""
        try:
            self.stop()
        finally:  # also when somebody who presses Ctrl-C again does not want to wait
            if self._temporary:
                shutil.rmtree(self.directory, ignore_errors=True)

    def explain_end(self) -> None:
        """Raise an error that says why it ended by itself; nothing when it runs, or was never started."""
        if self._process is not None and not self._process.running():
            raise BrokerError(self._explained(self._process, f"ended by itself, with {self._process.exit_code()}"))

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic and return when it can be used; one that is there already stays as it is."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        topic = NewTopic(name, partitions, replication_factor=1, config=dict(settings or {}))
        admin = AdminClient(self._client_settings())  # held by a name: its requests end with it
        seconds = TOPIC_WITHIN.total_seconds()
        try:
            admin.create_topics([topic], request_timeout=seconds)[name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise BrokerError(self._no_topic(name, error.args[0].str())) from error
        # The controller has answered, but what it decided reaches the broker some milliseconds later.
        deadline = time.monotonic() + seconds
        while not self._has_leaders(admin, name):
            if time.monotonic() > deadline:
                raise BrokerError(self._no_topic(name, f"it has no leader after {TOPIC_WITHIN}"))
            time.sleep(LOOK_SECONDS)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Keep other brokers off the directory: here until the block ends, then until Kafka, which inherits it, does.

        Kafka has a lock too, but takes it after it has begun to work on the log of its metadata.
        """
        with (self.directory / "lock").open("w") as lock:
            deadline = time.monotonic() + LOCKED_WITHIN.total_seconds()
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > deadline:
                        message = f"another broker works on {self.directory}: stop it, or name another directory"
                        raise BrokerError(message) from error
                    time.sleep(LOOK_SECONDS)
            yield lock.fileno()

    def _choose_ports(self) -> tuple[int, int]:
        """Those of the first start again, because clients know the broker's; else the wanted one; else free ones."""
        free, controller = ports.free(2)
        if self.port == 0:
            return free, controller
        if ports.taken(self.port):
            message = (
                f"port {self.port} is taken by another program: stop that one, or name another port (0: any free one)"
            )
            raise BrokerError(message)
        return self.port, controller

    def _run(self, port: int, controller_port: int, lock: int) -> None:
        data, properties = self.directory / "data", self.directory / "server.properties"
        kafka_settings.write(kafka_settings.of_node(port, controller_port, data, self._settings), properties)
        self._process = running = process.Process(
            self._using.command("kafka.Kafka", properties),
            self.log,
            folder=self.directory,
            removed_with_us=self.directory if self._temporary else None,
            inherited=[lock],
        )
        self._wait_until_ready(running, port)

    def _wait_until_ready(self, running: process.Process, port: int) -> None:
        from confluent_kafka import KafkaException, Producer  # 0.1 s, while Kafka starts

        deadline = time.monotonic() + READY_WITHIN.total_seconds()
        client = None
        while time.monotonic() < deadline:
            if not running.running():
                raise BrokerError(self._explained(running, f"did not start: it ended with {running.exit_code()}"))
            if ports.answers(port):
                # Not earlier: a client that was refused once waits longer and longer before it tries again.
                client = client or Producer(self._client_settings(port))
                try:
                    if client.list_topics(timeout=ASK_SECONDS).cluster_id == self._cluster_id():
                        return
                except KafkaException:
                    continue
            time.sleep(LOOK_SECONDS)
        raise BrokerError(self._explained(running, f"did not start: it did not answer within {READY_WITHIN}"))

    def _cluster_id(self) -> str:
        """Written into the data when it was formatted; tells our broker from another one that has taken its port."""
        lines = (self.directory / "data" / "meta.properties").read_text("utf-8").splitlines()
        return next((line.removeprefix("cluster.id=") for line in lines if line.startswith("cluster.id=")), "")

    def _client_settings(self, port: int | None = None) -> dict[str, str | int]:
        address = f"{ports.LOOPBACK}:{port or self.port}"
        return {"bootstrap.servers": address, "log_level": 0}  # what goes wrong is raised, not printed

    def _has_leaders(self, admin: "AdminClient", name: str) -> bool:
        from confluent_kafka import KafkaException

        try:
            topic = admin.list_topics(name, timeout=ASK_SECONDS).topics[name]
        except KafkaException:  # it did not answer in time
            return False
        return topic.error is None and all(partition.leader >= 0 for partition in topic.partitions.values())

    def _no_topic(self, name: str, reason: str) -> str:
        return f"topic '{name}' could not be created on {self.bootstrap}: {reason}"

    def _explained(self, ended: process.Process, what: str) -> str:
        lines = ended.log_tail(200).splitlines()
        tail = "\n".join([line for line in lines if not line.startswith("\tat ")][-20:])  # without the stacks
        advice = [sentence for sign, sentence in REASONS if sign in tail]
        place = "" if self._temporary else f", {self.log}"
        return f"Kafka {'; '.join([what, *advice])}. The end of its log{place}:\n{tail}"


def prepared() -> installation.Installation:
    """Kafka with everything that makes its starts quick; the first call on a machine takes about 20 s, others 0.1 s."""
    found = installation.find()

    def make(scratch: Path) -> None:
        log.info("preparing Kafka for quick starts: once per version")
        installation.write_bootstrap(found, scratch)
        with Broker(using=found.training(scratch)) as trained:
            trained.create_topic("trained")

    folder = cache.kept(installation.prepared_name(found), make)
    return dataclasses.replace(found, prepared=folder)
