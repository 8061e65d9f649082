"""What a driver answers over HTTP. Everything is JSON, but for the metrics.

| path | answers |
|---|---|
| `GET /healthz` | 200 while the loop comes round, else 503 |
| `GET /readyz` | 200 while it leads, topics are there, and every partition that shall is worked on; else 503 and why |
| `GET /metrics` | for Prometheus |
| `GET /v1/observation` | all that is known of the job (`observation.Observation`) |
| `PUT /v1/grant` | how many workers may own partitions (`observation.Grant`); what it took |
| `GET /v1/decisions` | the last decisions, each with its reason, and what lost |
| `GET /v1/tables/<operator>?key=` | the rows of a key, from the worker that has them |
"""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import threading
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from prometheus_client import CollectorRegistry, exposition

from spillway.model.errors import RetryError
from spillway.runtime.driver import observation, tables
from spillway.runtime.driver.driver import clock
from spillway.runtime.driver.metrics import Collector
from spillway.runtime.driver.observation import VERSION
from spillway.runtime.driver.reporting import Board

# Seconds without a turn of the loop. It turns five times a second; to begin takes as long as a broker takes to answer.
STALLED = 60.0
# Requests at a time, each in a thread of its own; one more is hung up on.
MOST = 32
PATIENCE = 10.0  # seconds for who asks to say what, and to take the answer
LARGEST = 10_000  # bytes that somebody may send; a grant has 30
JSON = "application/json"


class AddressError(RetryError):
    """Nobody can listen there."""


class Reply(NamedTuple):
    """What is answered."""

    status: HTTPStatus
    body: bytes
    kind: str = JSON


class Answers:
    """What is answered to which request."""

    def __init__(
        self, board: Board, grant: Callable[[int], None], decisions: Callable[[], Sequence[Mapping[str, Any]]]
    ) -> None:
        self._board, self._grant, self._decisions = board, grant, decisions
        self._registry = CollectorRegistry()
        self._registry.register(Collector(board))
        self._gets: Mapping[str, Callable[[str], Reply]] = {
            "/healthz": self._healthy,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/v1/observation": lambda _: Reply(HTTPStatus.OK, observation.encode(board.view.observation)),
            "/v1/decisions": self._decided,
        }

    def get(self, target: str, accept: str) -> Reply:
        """The answer to a GET; `accept` says which format of metrics is wanted."""
        path, _, query = target.partition("?")
        if path in self._gets:
            return self._gets[path](accept)
        if path.startswith("/v1/tables/"):
            return self._table(urllib.parse.unquote(path.removeprefix("/v1/tables/")), query)
        return _reply(HTTPStatus.NOT_FOUND, {"problem": f"there is no {path[:60]!r} here", "paths": [*self._gets]})

    def put(self, target: str, body: bytes) -> Reply:
        """The answer to a PUT."""
        if target != "/v1/grant":
            return _reply(HTTPStatus.NOT_FOUND, {"problem": f"nothing can be put to {target[:60]!r}"})
        try:
            grant = observation.grant(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": f"this is no grant: {error}"})
        self._grant(grant.workers)
        return Reply(HTTPStatus.OK, observation.encode(grant))

    def _healthy(self, _: str) -> Reply:
        stalled = clock() - self._board.view.ticked
        if stalled > STALLED:
            return _reply(HTTPStatus.SERVICE_UNAVAILABLE, {"problem": f"nothing was decided for {stalled:.0f} s"})
        return _reply(HTTPStatus.OK, {"healthy": True})

    def _ready(self, _: str) -> Reply:
        told = self._board.view.observation
        status = HTTPStatus.OK if told.ready else HTTPStatus.SERVICE_UNAVAILABLE
        missing = [f"{one.type}: {one.message}" for one in told.conditions if not one.status and one.type != "Paused"]
        return _reply(status, {"ready": told.ready, "missing": [] if told.ready else missing})

    def _metrics(self, accept: str) -> Reply:
        encode, kind = exposition.choose_encoder(accept)
        return Reply(HTTPStatus.OK, encode(self._registry), kind)

    def _decided(self, _: str) -> Reply:
        return _reply(HTTPStatus.OK, {"version": VERSION, "decisions": list(self._decisions())})

    def _table(self, operator: str, query: str) -> Reply:
        try:
            given = urllib.parse.parse_qs(query, keep_blank_values=True, max_num_fields=4)
        except ValueError as error:
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": str(error)})
        if given.keys() != {"key"} or len(given["key"]) > 1:
            problem = "write one key, and nothing else: ?key=JSON, or ?key=TEXT for a table with one column to ask by"
            return _reply(HTTPStatus.BAD_REQUEST, {"problem": problem})
        return Reply(*tables.ask(self._board.view, operator, given["key"][0]))


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    timeout = PATIENCE
    server: Server

    def do_GET(self) -> None:
        """The answer, or that there is none."""
        self._send(self.server.answers.get(self.path, self.headers.get("Accept", "")))

    def do_PUT(self) -> None:
        """The same for what changes something."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST:
            self.close_connection = True
            problem = f"say with Content-Length how much comes, at most {LARGEST} bytes"
            self._send(_reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"problem": problem}))
            return
        self._send(self.server.answers.put(self.path, self.rfile.read(int(length))))

    def version_string(self) -> str:
        """Who answers; versions are nobody's concern."""
        return "spillway-driver"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called there
        """Requests are no events."""

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Answers from `start` to `stop`."""

    daemon_threads = True
    request_queue_size = MOST

    def __init__(self, host: str, port: int, answers: Answers) -> None:
        """On a port, or any that is free for 0; raises AddressError where nobody can listen."""
        self.answers = answers
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            message = f"can't listen on {_joined(host, port)}: {error}; name another --port, or 0 for any"
            raise AddressError(message) from None

    @property
    def address(self) -> str:
        """Where it listens, as host:port."""
        return _joined(str(self.server_address[0]), self.server_address[1])

    def start(self) -> None:
        """Answer, in a thread."""
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()

    def server_bind(self) -> None:
        """Without asking for the name of the address, as HTTPServer does: that can take seconds."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, if there is room for one more."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Make room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has hung up, or was too slow."""


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reply(status: HTTPStatus, body: Mapping[str, Any]) -> Reply:
    return Reply(status, json.dumps(body).encode() + b"\n")
