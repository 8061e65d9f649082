"""The API server of the cluster, asked directly: four looks a second by processes of kubectl take half a core."""

from __future__ import annotations

import base64
import functools
import http.client
import json
import ssl
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from cluster import kind
from cluster.shell import ClusterError

PATIENCE = 20.0  # seconds for one answer
GROUPS = {"streamjobs": "/apis/spillway.dev/v1alpha1", "statefulsets": "/apis/apps/v1"}  # others are of the core


def path(namespace: str, what: str, name: str = "") -> str:
    """Where objects of a kind are, or one of them."""
    return "/".join([GROUPS.get(what, "/api/v1"), "namespaces", namespace, what, *([name] if name else [])])


def get(where: str, **query: str) -> Any | None:
    """What is there; None if nothing is."""
    status, body = _asked(f"{where}?{urllib.parse.urlencode(query)}" if query else where)
    if status == http.HTTPStatus.NOT_FOUND:
        return None
    if status != http.HTTPStatus.OK:
        message = f"the API server answers {where} with {status}: {body[:500].decode(errors='replace')}"
        raise ClusterError(message)
    return json.loads(body)


def followed(where: str, seconds: int) -> Iterator[dict[str, Any]]:
    """All objects that are there, by their identity, and again after each change, for so long.

    Over a connection of its own, so any thread may.
    """
    connection = _connected(seconds + PATIENCE)
    try:
        listed = json.loads(_told(connection, where).read())
        found = {one["metadata"]["uid"]: one for one in listed["items"]}
        yield found
        query = {"watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": seconds}
        for event in map(json.loads, _told(connection, f"{where}?{urllib.parse.urlencode(query)}")):
            if event["type"] == "ERROR":  # where it stood is too long ago
                return
            one = event["object"]
            found = {uid: other for uid, other in found.items() if uid != one["metadata"]["uid"]}
            if event["type"] != "DELETED":
                found[one["metadata"]["uid"]] = one
            yield found
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"the API server tells no more of {where}: {error}"
        raise ClusterError(message) from None
    finally:
        connection.close()


def _told(connection: http.client.HTTPSConnection, where: str) -> http.client.HTTPResponse:
    connection.request("GET", where, headers={"Accept": "application/json"})
    answer = connection.getresponse()
    if answer.status != http.HTTPStatus.OK:
        message = f"status {answer.status}"
        raise http.client.HTTPException(message)
    return answer


def _asked(where: str) -> tuple[int, bytes]:
    """Over the connection that is there, or, where that has ended meanwhile, over another one."""
    for connection in (_connection(), None):
        try:
            used = connection or _again()
            used.request("GET", where, headers={"Accept": "application/json"})
            answer = used.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            problem = error
    message = f"the API server does not answer: {problem}"
    raise ClusterError(message)


def _again() -> http.client.HTTPSConnection:
    _connection.cache_clear()
    return _connection()


@functools.cache
def _connection() -> http.client.HTTPSConnection:
    return _connected(PATIENCE)


def _connected(patience: float) -> http.client.HTTPSConnection:
    config = yaml.safe_load(Path(kind.kubeconfig()).read_text("utf-8"))
    cluster = next(one["cluster"] for one in config["clusters"] if one["name"] == kind.CONTEXT)
    user = next(one["user"] for one in config["users"] if one["name"] == kind.CONTEXT)
    tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.TemporaryDirectory() as scratch:  # what the library wants to have as files
        certificate, key = Path(scratch, "certificate"), Path(scratch, "key")
        certificate.write_bytes(base64.b64decode(user["client-certificate-data"]))
        key.write_bytes(base64.b64decode(user["client-key-data"]))
        tls.load_cert_chain(certificate, key)
    server = urllib.parse.urlsplit(cluster["server"])
    return http.client.HTTPSConnection(server.netloc, timeout=patience, context=tls)
