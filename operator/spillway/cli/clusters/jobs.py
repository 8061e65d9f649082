"""StreamJobs on a cluster, and their drivers: reached through the API server, which passes requests on to a pod.

That takes the right to `get pods/proxy`, and to change something also `update pods/proxy` and to read the Secret with
the token of the job: what Kubernetes' own role `edit` has in a namespace. Where a NetworkPolicy keeps the API server
out, and there is a kubectl, a forwarded port leads there all the same (`create pods/portforward`).
"""

from __future__ import annotations

import json

from spillway.cli.clusters.connections import PATIENCE, Connection, Object
from spillway.cli.clusters.forwarding import ForwardError
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.names import Names
from spillway.local.driver import Ask, Driver, DriverError, over_http
from spillway.manager import kinds
from spillway.manager.errors import ClusterError, ForbiddenError
from spillway.manager.manifests import configs
from spillway.manager.manifests.parts import PORT
from spillway.model.observation import TOKEN_HEADER


def path(namespace: str, job: str, rest: str) -> str:
    """Where the API server passes requests on to the driver of a job."""
    return pod_path(namespace, f"{Names(job).driver}-0", rest)


def pod_path(namespace: str, pod: str, rest: str) -> str:
    """Where it does to a pod."""
    return f"{kinds.POD.path(namespace, f'http:{pod}:{PORT}')}/proxy{rest}"


class FarDriver:
    """The way to the driver of a job: through the API server, and where that can't reach it, by a forwarded port."""

    def __init__(self, connection: Connection, namespace: str, job: str) -> None:
        self._connection, self._namespace, self._job = connection, namespace, job
        self._pod = f"{Names(job).driver}-0"
        self._token = self._why = self._address = ""
        self._forwarded: Ask | None = None

    @property
    def where(self) -> str:
        """Which driver, for people."""
        return f"{self._namespace}/{self._pod}"

    def ask(self, rest: str, body: bytes | None) -> bytes:
        """What it answers. Raises DriverError."""
        try:
            if self._forwarded is None:
                found = self._through_api_server(rest, body)
                if found is not None:
                    return found
                self._forward()
            return self._over_port(rest, body)
        except ClusterError as error:
            message = f"the driver {self.where} can't be asked: {error}"
            raise DriverError(message) from None

    def _through_api_server(self, rest: str, body: bytes | None) -> bytes | None:
        """None where it can't reach the pod."""
        where = path(self._namespace, self._job, rest)
        if body is None:
            status, found = self._connection.send("GET", where)
        else:
            headers = {TOKEN_HEADER: self._known_token(), "Content-Type": "application/json"}
            status, found = self._connection.send("PUT", where, json.loads(body), headers)
        if status == 200:
            return found
        self._why = _said(found)
        if status in (403, 502, 503, 504):
            return None
        message = f"the driver {self.where} answers {rest} with {status}: {self._why}"
        raise DriverError(message)

    def _forward(self) -> None:
        try:
            address = self._connection.forwarded(self._namespace, self._pod, PORT)
        except ForwardError as error:
            message = (
                f"the driver {self.where} can't be reached through the API server ({self._why}), nor past it: {error}"
            )
            raise DriverError(message) from None
        self._forwarded = over_http(address, patience=PATIENCE)
        self._address = address

    def _over_port(self, rest: str, body: bytes | None) -> bytes:
        assert self._forwarded is not None  # noqa: S101 - for the type alone
        if body is None:
            return self._forwarded(rest, None)
        return over_http(self._address, self._known_token(), PATIENCE)(rest, body)

    def _known_token(self) -> str:
        if not self._token:
            found = self._connection.get(kinds.SECRET, self._namespace, Names(self._job).token)
            self._token = configs.token_of(found)
        return self._token


def driver(connection: Connection, namespace: str, job: str) -> Driver:
    """The driver of a job; it raises DriverError where it can't be reached."""
    far = FarDriver(connection, namespace, job)
    return Driver(far.where, ask=far.ask)


def find(connection: Connection, namespace: str, job: str) -> Object:
    """The StreamJob. Raises NotFoundError and other ClusterErrors."""
    return connection.get(kinds.STREAM_JOB, namespace, job)


def all_of(connection: Connection, namespace: str | None) -> list[Object]:
    """All StreamJobs of a namespace, or of all; where nobody may list all, of the one that is meant."""
    try:
        found = connection.listed(kinds.STREAM_JOB, namespace)
    except ForbiddenError:
        if namespace is not None:
            raise
        found = connection.listed(kinds.STREAM_JOB, connection.namespace)
    return sorted(found, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"]))


def pods(connection: Connection, namespace: str, job: str) -> list[Object]:
    """Those of a job, in the order of their names."""
    found = connection.listed(kinds.POD, namespace, f"{names.JOB}={job}")
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def _said(body: bytes) -> str:
    """The message of a Status, or of a driver; else the first words."""
    try:
        found = json.loads(body)
    except ValueError:
        found = {}
    text = found.get("message") or found.get("problem") if isinstance(found, dict) else ""
    return str(text or body[:300].decode(errors="replace")).strip()
