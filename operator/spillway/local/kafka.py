"""Where the topics of a run are: on a broker of our own, whose data stay for the next run, or on somebody's Kafka.

On a broker of our own the manifest's addresses and credentials do not count, and topics of the user that are missing
are made. On somebody's Kafka nothing is made unless that was asked for: a misspelt topic is a mistake there.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spillway.local import ports, topics
from spillway.local.broker import Broker, BrokerError
from spillway.local.events import Event, Kind, Look
from spillway.local.state import State
from spillway.model.errors import RetryError, SpillwayError
from spillway.model.streamjob import StreamJob

USUAL_PORT = 9092  # where everybody looks for Kafka
TRIES = 3  # of a broker that ended by itself


class UnreachableError(RetryError):
    """Kafka can't be asked; the message has its address."""


@dataclasses.dataclass(frozen=True, slots=True)
class Where:
    """Which Kafka.

    Attributes:
        servers: of somebody's Kafka; None for a broker of our own.
        port: of our own broker; None for the one that the manifest names, if it is free.
        create: whether topics may be made on somebody's Kafka.
        secret: the directory with the credentials for it.
        cores: of this machine, from which the partitions of new topics follow.
    """

    servers: tuple[str, ...] | None
    port: int | None
    create: bool
    secret: Path | None
    cores: int


class Kafka:
    """The Kafka of a run."""

    def __init__(self, where: Where, state: State, tell: Callable[[Event], None]) -> None:
        self._where, self._state, self._tell = where, state, tell
        self._broker: Broker | None = None
        self._tries = 0
        self.bootstrap = ",".join(where.servers or ())

    @property
    def ours(self) -> bool:
        """Whether it is a broker of our own."""
        return self._where.servers is None

    def start(self, job: StreamJob) -> None:
        """Start the broker, if it is ours."""
        if not self.ours:
            self._tell(Event(Kind.NOTE, f"looking at the topics on {self.bootstrap}"))
            return
        port, taken = _port(self._where.port, job.spec.kafka.bootstrap_servers)
        self._broker = Broker(self._state.broker, port=port, lasting=True)
        self._broker.start()
        self.bootstrap = self._broker.bootstrap
        data = {"what": "broker", "bootstrap": self.bootstrap, "pid": self._broker.pid}
        self._tell(Event(Kind.STARTED, f"Kafka answers at {self.bootstrap}", data=data))
        if taken is not None:
            text = f"port {taken} is taken; if that is a Kafka that the job should use: --bootstrap localhost:{taken}"
            self._tell(Event(Kind.NOTE, text))

    def placed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest with the addresses that count here."""
        found = copy.deepcopy(dict(document))
        kafka = found["spec"]["kafka"]
        kafka["bootstrapServers"] = self.bootstrap.split(",")
        if self.ours:
            kafka.pop("security", None)
        return found

    def fit(self, job: StreamJob) -> tuple[str, ...]:
        """Make the topics of the user that are missing, if we may; else say which those are. `job` as it is placed."""
        try:
            missing = topics.missing(job, self._where.secret)
        except SpillwayError as error:
            message = f"{self.bootstrap}: {error}"
            raise UnreachableError(message) from None
        if not missing:
            return ()
        if not (self.ours or self._where.create):
            return tuple(
                f"topic {name!r} of {what} is not there: create it, or let --create-topics do it"
                for name, what in missing.items()
            )
        partitions = topics.make(job, list(missing), self._where.cores, self._where.secret)
        text = f"topics made, {partitions} partitions each: {', '.join(missing)}"
        self._tell(Event(Kind.TOPICS, text, data={"topics": list(missing), "partitions": partitions}))
        return ()

    def keep(self) -> None:
        """Start the broker again if it has ended by itself; what it has stays."""
        broker = self._broker
        if broker is None or broker.pid is not None:
            return
        try:
            broker.explain_end()
        except BrokerError as error:
            first, *rest = str(error).splitlines()
            text = "\n".join([f"broker: {first.removeprefix('Kafka ')}", *rest[-6:]])
            self._tell(Event(Kind.ENDED, text, Look.BAD, {"what": "broker"}))
            self._tries += 1
            if self._tries > TRIES:
                raise
        broker.start()
        text = f"Kafka answers at {self.bootstrap} again, with all that it had"
        self._tell(Event(Kind.STARTED, text, Look.GOOD, {"what": "broker", "pid": broker.pid}))

    def end(self) -> None:
        """End the broker, if it is ours."""
        if self._broker is not None:
            self._broker.close()

    def kill(self) -> None:
        """The same at once."""
        if self._broker is not None:
            self._broker.kill()


def _port(asked: int | None, servers: tuple[str, ...]) -> tuple[int, int | None]:
    """The port of our broker, and the one that was wanted but is taken.

    That of the manifest if it names this machine, so that what is written for it works as it is; else the usual one.
    """
    if asked is not None:
        return asked, None
    hosts = ("localhost", "127.0.0.1", "[::1]")
    named = [int(port) for host, _, port in (server.rpartition(":") for server in servers) if host in hosts]
    wanted = next((port for port in named if 0 < port < 2**16), USUAL_PORT)
    return (ports.free(1)[0], wanted) if ports.taken(wanted) else (wanted, None)
