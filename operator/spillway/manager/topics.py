"""What Kafka has of the user's topics, as the manager sees it itself: reachable, there, so many partitions.

The driver sees the same, and sooner; this is for a job whose driver isn't there yet, and for the end of one. All jobs
on the same brokers with the same credentials are looked at together, now and then, beside the passes: Kafka that does
not answer holds nothing up. Credentials are read from the Secret for that alone, into a directory of this process
that is gone right after; nothing of them is kept, told, or logged.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import dataclasses
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from spillway.controllers import topics
from spillway.controllers.reconciling.observed import Broker, Reach
from spillway.controllers.topics import Names
from spillway.manager import kinds
from spillway.manager.cluster import Cluster
from spillway.manager.errors import ClusterError, ForbiddenError, NotFoundError
from spillway.manager.world import Job
from spillway.model.errors import RetryError, TerminalError
from spillway.model.kafka import Kafka, Protocol, Security
from spillway.model.streamjob import StreamJob

# Seconds between two looks at the same brokers.
EVERY = 30.0
# The same, for topics that nobody has looked for yet.
SOON = 1.0
# Seconds until brokers count as silent. A cold TLS handshake to far away takes one.
PATIENCE = 5.0
# Looks at once; each has a thread and a connection, and most of the time there is one Kafka.
AT_ONCE = 4
# A cluster that nobody has asked about for so long is forgotten.
IDLE = 300.0

_SSL_FILES = {"ca.crt": "ssl_cafile", "tls.crt": "ssl_certfile", "tls.key": "ssl_keyfile"}
# The client writes each try to connect, which is our condition's to tell.
logging.getLogger("kafka").setLevel(logging.CRITICAL)
_log = logging.getLogger(__name__)


class KafkaUnreachableError(RetryError):
    """No broker answers, or none lets us in."""

    def __init__(self, message: str, reach: Reach = Reach.UNREACHABLE) -> None:
        super().__init__(message)
        self.reach = reach


class CredentialsError(TerminalError):
    """The Secret is not there, or lacks a key."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Where:
    """Brokers and how to reach them. `secret` is in the namespace of the job."""

    servers: tuple[str, ...]
    security: Security | None
    namespace: str
    secret: str

    @classmethod
    def of(cls, job: StreamJob) -> _Where:
        kafka: Kafka = job.spec.kafka
        reference = kafka.security.secret_ref if kafka.security is not None else None
        if reference is None:
            return cls(kafka.bootstrap_servers, kafka.security, "", "")
        return cls(kafka.bootstrap_servers, kafka.security, job.metadata.namespace, reference.name)


@dataclasses.dataclass(slots=True)
class _Look:
    """What was seen last: partitions by topic, None for one that is not there; and which topics to look for."""

    at: float = -math.inf
    asked: float = 0.0
    reach: Reach = Reach.UNKNOWN
    problem: str = ""
    partitions: Mapping[str, int | None] = dataclasses.field(default_factory=dict)
    names: dict[str, float] = dataclasses.field(default_factory=dict)
    running: asyncio.Task[None] | None = None
    jobs: dict[Job, float] = dataclasses.field(default_factory=dict)


class Topics:
    """Looks at all Kafka clusters that jobs name."""

    def __init__(
        self,
        cluster: Cluster,
        wake: Callable[[Job], None],
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Brokers that say nothing for `patience` seconds count as silent."""
        self._cluster, self._wake, self._patience, self._clock = cluster, wake, patience, clock
        self._looks: dict[_Where, _Look] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def view(self, job: StreamJob) -> Broker:
        """What was seen last; looks again in the background when that is old."""
        where, now = _Where.of(job), self._clock()
        look = self._looks.setdefault(where, _Look())
        look.asked = now
        look.jobs[job.metadata.namespace, job.metadata.name] = now
        wanted = topics.of_user(job)
        due = EVERY if look.reach is not Reach.REACHED or wanted.keys() <= look.partitions.keys() else SOON
        look.names |= dict.fromkeys(wanted, now)
        if look.running is None and now - look.at >= due:
            look.running = asyncio.create_task(self._look(where, look))
            self._looks = {at: one for at, one in self._looks.items() if one.running or now - one.asked < IDLE}
        if look.reach is not Reach.REACHED:
            return Broker(look.reach, look.problem)
        # What nobody has looked for yet isn't missing.
        seen = {name: look.partitions[name] for name in wanted if name in look.partitions}
        missing = tuple(
            f"topic {name!r} of {wanted[name]} does not exist; create it"
            for name, count in seen.items()
            if count is None
        )
        there = {name: count for name, count in seen.items() if count is not None}
        return Broker(look.reach, "", missing, there)

    async def delete(self, job: StreamJob) -> int:
        """Delete the topics of a job itself; how many. Raises KafkaUnreachableError or CredentialsError."""
        where, prefix = _Where.of(job), Names.of(job).prefix
        async with self._turns:
            secret = await self._secret(where)
            return await asyncio.to_thread(_delete, where, secret, prefix, self._patience)

    async def stop(self) -> None:
        """Wait for no look any more."""
        for look in self._looks.values():
            if look.running is not None:
                look.running.cancel()

    async def _look(self, where: _Where, look: _Look) -> None:
        before, since = (look.reach, look.problem, look.partitions), self._clock() - IDLE
        look.names = {name: at for name, at in look.names.items() if at > since}
        look.jobs = {job: at for job, at in look.jobs.items() if at > since}
        try:
            async with self._turns:
                secret = await self._secret(where)
                names = sorted(look.names)
                look.partitions = await asyncio.to_thread(_partitions, where, secret, names, self._patience)
                look.reach, look.problem = Reach.REACHED, ""
        except KafkaUnreachableError as error:
            look.reach, look.problem = error.reach, str(error)
        except CredentialsError as error:
            look.reach, look.problem = Reach.NO_CREDENTIALS, str(error)
        except ClusterError as error:
            _log.info("credentials for Kafka can't be looked at: %s", error)
        finally:
            look.at, look.running = self._clock(), None
        if (look.reach, look.problem, look.partitions) != before:
            for job in look.jobs:
                self._wake(job)

    async def _secret(self, where: _Where) -> dict[str, bytes]:
        """The credentials, for the moment."""
        if not where.secret:
            return {}
        try:
            found = await self._cluster.get(kinds.SECRET, where.namespace, where.secret)
        except NotFoundError:
            message = f"Secret {where.secret} with the credentials for Kafka does not exist; create it"
            raise CredentialsError(message) from None
        except ForbiddenError as error:
            message = f"Secret {where.secret} with the credentials for Kafka can't be read: {error}"
            raise CredentialsError(message) from None
        try:
            return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}
        except binascii.Error:
            message = f"Secret {where.secret} with the credentials for Kafka can't be decoded"
            raise CredentialsError(message) from None


@contextlib.contextmanager
def _admin(where: _Where, secret: Mapping[str, bytes], patience: float) -> Iterator[Any]:
    """A client for one question."""
    settings: dict[str, Any] = {
        "bootstrap_servers": list(where.servers),
        "client_id": "spillway-manager",
        "bootstrap_timeout_ms": int(patience * 1000),
        "request_timeout_ms": int(patience * 1000),
    }
    servers = ", ".join(where.servers)
    with tempfile.TemporaryDirectory(prefix="spillway-kafka-") as directory:
        os.chmod(directory, 0o700)
        settings |= _security(where, secret, Path(directory))
        client = None
        try:
            client = KafkaAdminClient(**settings)
            yield client
        except KafkaError as error:
            kind, said = type(error).__name__, str(error)
            if "Authentication" in kind or "Authorization" in kind:
                message = f"Kafka at {servers} does not let us in ({kind}); check the Secret and the user's rights"
                raise KafkaUnreachableError(message, Reach.REFUSED) from None
            message = f"Kafka at {servers} does not answer ({kind}); check address, network policy and credentials"
            _log.debug("kafka: %s", said)
            raise KafkaUnreachableError(message) from None
        except (OSError, ValueError) as error:
            message = f"Kafka at {servers} can't be asked ({type(error).__name__}); check address and certificates"
            raise KafkaUnreachableError(message) from None
        finally:
            if client is not None:
                client.close()


def _security(where: _Where, secret: Mapping[str, bytes], directory: Path) -> dict[str, Any]:
    security = where.security
    if security is None:
        return {}
    found: dict[str, Any] = {"security_protocol": str(security.protocol)}
    if security.mechanism is not None:
        found["sasl_mechanism"] = str(security.mechanism)
        for key, setting in (("username", "sasl_plain_username"), ("password", "sasl_plain_password")):
            if key not in secret:
                message = f"Secret {where.secret} has no key {key!r}, which is needed to reach Kafka"
                raise CredentialsError(message)
            found[setting] = secret[key].decode(errors="replace").rstrip("\r\n")
    if security.protocol in (Protocol.SSL, Protocol.SASL_SSL):
        for key, setting in _SSL_FILES.items():
            if key in secret:
                path = directory / key
                path.touch(0o600)
                path.write_bytes(secret[key])
                found[setting] = str(path)
    return found


def _partitions(
    where: _Where, secret: Mapping[str, bytes], wanted: list[str], patience: float
) -> dict[str, int | None]:
    """How many each has; None where there is no such topic. Asking makes none."""
    with _admin(where, secret, patience) as client:
        found = {
            topic["name"]: len(topic["partitions"])
            for topic in client.describe_topics(wanted)
            if topic.get("error_code") in (0, None)
        }
        return {name: found.get(name) for name in wanted}


def _delete(where: _Where, secret: Mapping[str, bytes], prefix: str, patience: float) -> int:
    with _admin(where, secret, patience) as client:
        ours = [name for name in client.list_topics() if name.startswith(prefix)]
        if ours:
            client.delete_topics(ours, timeout_ms=int(patience * 1000), raise_errors=False)
        left = [name for name in client.list_topics() if name.startswith(prefix)]
        if left:
            message = (
                f"{len(left)} topics are still there, such as {left[0]!r}; the user needs the right to delete them"
            )
            raise KafkaUnreachableError(message, Reach.REFUSED)
        return len(ours)
