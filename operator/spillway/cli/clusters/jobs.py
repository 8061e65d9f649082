"""StreamJobs on a cluster, and their drivers: reached through the API server, which passes requests on to a pod.

That takes the right to `get pods/proxy`, and to change something also `update pods/proxy` and to read the Secret with
the token of the job: what Kubernetes' own role `edit` has in a namespace. Where a NetworkPolicy keeps the API server
out, a forwarded port leads there all the same.
"""

from __future__ import annotations

import json

from spillway.cli.clusters.connections import Connection, Object
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.names import Names
from spillway.local.driver import Driver, DriverError
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


def driver(connection: Connection, namespace: str, job: str) -> Driver:
    """The driver of a job; it raises DriverError where it can't be reached."""
    where = f"{namespace}/{Names(job).driver}-0"
    token: list[str] = []

    def ask(rest: str, body: bytes | None) -> bytes:
        try:
            if body is None:
                status, found = connection.send("GET", path(namespace, job, rest))
            else:
                token[:] = token or [_token(connection, namespace, job)]
                headers = {TOKEN_HEADER: token[0], "Content-Type": "application/json"}
                status, found = connection.send("PUT", path(namespace, job, rest), json.loads(body), headers)
        except ForbiddenError as error:
            message = f"the driver {where} can't be asked: {error}"
            raise DriverError(message) from None
        except ClusterError as error:
            raise DriverError(_silent(where, namespace, job, str(error))) from None
        if status == 200:
            return found
        said = _said(found)
        if status in (502, 503, 504):
            raise DriverError(_silent(where, namespace, job, said))
        message = f"the driver {where} answers {rest} with {status}: {said}"
        raise DriverError(message)

    return Driver(where, ask=ask)


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


def _token(connection: Connection, namespace: str, job: str) -> str:
    return configs.token_of(connection.get(kinds.SECRET, namespace, Names(job).token))


def _silent(where: str, namespace: str, job: str, why: str) -> str:
    return (
        f"the driver {where} does not answer through the API server: {why}. If a NetworkPolicy keeps that out, forward"
        f" a port (kubectl --namespace {namespace} port-forward {Names(job).driver}-0 {PORT}) and give --driver"
        f" localhost:{PORT}"
    )


def _said(body: bytes) -> str:
    """The message of a Status, or of a driver; else the first words."""
    try:
        found = json.loads(body)
    except ValueError:
        found = {}
    text = found.get("message") or found.get("problem") if isinstance(found, dict) else ""
    return str(text or body[:300].decode(errors="replace")).strip()
