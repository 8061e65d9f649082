"""What a worker answers over HTTP. Everything is JSON, but for the metrics.

| path | answers |
|---|---|
| `/healthz` | 200 while the loop that looks after the slots comes round, else 503 |
| `/readyz` | 200 if every slot has joined and works on all of its partitions, else 503 and why not |
| `/metrics` | for Prometheus |
| `/v1/tables/<operator>?key=` | the rows of a key; 404 without such a table, 400 for a key that is none, 503 while \
nobody here has its partition or some slot doesn't answer |
"""

from __future__ import annotations

import datetime
import http.server
import json
import logging
import socket
import socketserver
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, exposition

from spillway.model.errors import RetryError
from spillway.runtime.worker import readiness, tables
from spillway.runtime.worker.metrics import Collector
from spillway.runtime.worker.supervisor import Supervisor
from spillway.runtime.worker.tables import KeyUnfitError, TableError, Tables

# Seconds without a turn of the loop: it turns five times a second, and starting a process takes less than one.
STALLED = 10.0
# Requests at a time, each in a thread of its own; one more is hung up on. Prometheus, the kubelet and the driver make
# a few; point queries take 2 s at the most.
MOST = 32
PATIENCE = 10.0  # seconds for who asks to say what, and to take the answer
JSON = "application/json"

_log = logging.getLogger(__name__)


class AddressError(RetryError):
    """Nobody can listen there."""


class Reply(NamedTuple):
    """What is answered."""

    status: HTTPStatus
    body: bytes
    kind: str = JSON


class Answers:
    """What is answered to which path."""

    def __init__(self, supervisor: Supervisor, known: Tables, collector: Collector) -> None:
        self._supervisor, self._tables = supervisor, known
        self._registry = CollectorRegistry()
        self._registry.register(collector)
        self._paths: Mapping[str, Callable[[str], Reply]] = {
            "/healthz": self._healthy,
            "/readyz": self._ready,
            "/metrics": self._metrics,
        }

    def get(self, target: str, accept: str) -> Reply:
        """The answer to a GET; `accept` says which format of metrics is wanted."""
        path, _, query = target.partition("?")
        if path in self._paths:
            return self._paths[path](accept)
        if path.startswith("/v1/tables/"):
            return self._table(urllib.parse.unquote(path.removeprefix("/v1/tables/")), query)
        return _reply(HTTPStatus.NOT_FOUND, {"problem": f"there is no {path[:60]!r} here", "paths": [*self._paths]})

    def _healthy(self, _: str) -> Reply:
        stalled = time.monotonic() - self._supervisor.turned
        if stalled > STALLED:
            return _reply(HTTPStatus.SERVICE_UNAVAILABLE, {"problem": f"no slot was looked after for {stalled:.0f} s"})
        return _reply(HTTPStatus.OK, {"healthy": True})

    def _ready(self, _: str) -> Reply:
        missing = readiness.missing(self._supervisor.seats, time.monotonic())
        status = HTTPStatus.SERVICE_UNAVAILABLE if missing else HTTPStatus.OK
        return _reply(status, {"ready": not missing, "missing": missing})

    def _metrics(self, accept: str) -> Reply:
        encode, kind = exposition.choose_encoder(accept)
        return Reply(HTTPStatus.OK, encode(self._registry), kind)

    def _table(self, operator: str, query: str) -> Reply:
        try:
            given = urllib.parse.parse_qs(query, keep_blank_values=True, max_num_fields=4)
        except ValueError as error:
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": str(error)})
        if given.keys() != {"key"} or len(given["key"]) > 1:
            problem = "write one key, and nothing else: ?key=JSON, or ?key=TEXT for a table with one column to ask by"
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": problem})
        try:
            key = self._tables.key(operator, given["key"][0])
        except TableError as error:
            return _reply(HTTPStatus.NOT_FOUND, {"problem": str(error)})
        except KeyUnfitError as error:
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": str(error)})
        lives = [life for seat in self._supervisor.seats if (life := seat.life) is not None]
        found = tables.ask(lives, operator, key)
        if found is None:
            problem = f"not all slots have answered within {tables.PATIENCE:g} s; ask again"
            return _reply(HTTPStatus.SERVICE_UNAVAILABLE, {"problem": problem})
        if found.problem:
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": found.problem})
        if not found.found:
            problem = f"no slot of this worker has the partition of that key of {operator!r} now"
            return _reply(HTTPStatus.SERVICE_UNAVAILABLE, {"problem": problem})
        as_of = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return _reply(HTTPStatus.OK, {"operator": operator, "key": key, "rows": found.rows, "as_of": as_of})


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    timeout = PATIENCE
    server: Server

    def do_GET(self) -> None:
        """The answer, or that there is none."""
        reply = self.server.answers.get(self.path, self.headers.get("Accept", ""))
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def version_string(self) -> str:
        """Who answers; versions are nobody's concern."""
        return "spillway-worker"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called there
        """Requests are no events."""


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Listens at once, answers from `start` to `stop`."""

    daemon_threads = True
    request_queue_size = MOST

    answers: Answers

    def __init__(self, host: str, port: int) -> None:
        """On a port, or any that is free for 0; raises AddressError where nobody can listen."""
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            message = f"can't listen on {_joined(host, port)}: {error}; name another --port, or 0 for any"
            raise AddressError(message) from None
        self._thread = threading.Thread(target=self.serve_forever, name="http", daemon=True)

    @property
    def address(self) -> str:
        """Where others reach it, as host:port: if it listens everywhere, where the name of this machine leads."""
        host, port = str(self.server_address[0]), int(self.server_address[1])
        if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
            name = socket.gethostname()
            try:
                host = str(socket.getaddrinfo(name, None, self.address_family)[0][4][0])
            except OSError:
                host = name
        return _joined(host, port)

    def start(self, answers: Answers) -> None:
        """Answer so, in a thread."""
        self.answers = answers
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()

    def server_bind(self) -> None:
        """Without asking for the name of the address, as HTTPServer does: that can take seconds."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, if there is room for one more."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no more threads
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Make room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has hung up, or was too slow; anything else is ours."""
        if not isinstance(sys.exception(), OSError):
            _log.exception("a request of %s could not be answered", client_address)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reply(status: HTTPStatus, body: Mapping[str, Any]) -> Reply:
    return Reply(status, json.dumps(body).encode() + b"\n")
