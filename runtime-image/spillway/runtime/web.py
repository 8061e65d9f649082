"""HTTP as workers and drivers answer it: a few requests at a time, each in a thread, from a table of paths."""

from __future__ import annotations

import hmac
import http.server
import json
import logging
import socket
import socketserver
import sys
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.registry import Collector

from spillway.model.errors import RetryError, SpillwayError, TerminalError
from spillway.model.observation import TOKEN_HEADER

# Requests at a time; one more is hung up on. Prometheus, the kubelet, the driver and the manager make a few.
MOST = 32
PATIENCE = 10.0  # seconds for who asks to say what, and to take the answer
LARGEST = 10_000  # bytes that somebody may send; what is put to us has less than a hundred
JSON = "application/json"
CHALLENGE = MappingProxyType({"WWW-Authenticate": "Bearer"})  # as who answers 401 has to say what would do

_log = logging.getLogger(__name__)


class AddressError(RetryError):
    """Nobody can listen there."""


class QueryError(SpillwayError):
    """What stands behind the path of a request can't be understood."""


class TokenError(TerminalError):
    """There is no token to compare with."""


class Token:
    """What whoever changes something has to bring, in a file that may be written again while we run.

    It is compared in a time that tells nothing of it, and appears in no log and no message.
    """

    def __init__(self, file: Path) -> None:
        """Raises TokenError where there is none."""
        self._file = file
        self._read()

    def fits(self, authorization: str) -> bool:
        """Whether the header of that name brings it; raises TokenError where the file is gone."""
        kind, _, brought = authorization.partition(" ")
        return hmac.compare_digest(brought.strip().encode(), self._read()) and kind.lower() == "bearer"

    def _read(self) -> bytes:
        try:
            found = self._file.read_bytes().strip()
        except OSError as error:
            message = f"the token in {self._file} can't be read: {error.strerror}"
            raise TokenError(message) from None
        if not found:
            message = f"{self._file} is empty, so nobody could bring the token that is in it"
            raise TokenError(message)
        return found


class Reply(NamedTuple):
    """What is answered."""

    status: HTTPStatus
    body: bytes
    kind: str = JSON
    headers: Mapping[str, str] = MappingProxyType({})


class Stream(NamedTuple):
    """An answer that goes on: `take` gets the connection after the head, writes what it likes to, and closes it.

    It holds neither a thread nor a place among the requests.
    """

    kind: str
    take: Callable[[socket.socket], None]


Answer = Reply | Stream


def reply(status: HTTPStatus, body: Mapping[str, Any]) -> Reply:
    """An answer as JSON."""
    return Reply(status, json.dumps(body).encode() + b"\n")


def problem(status: HTTPStatus, message: str) -> Reply:
    """Why there is no answer."""
    return reply(status, {"problem": message})


def key_asked(query: str) -> str:
    """The text of the one key that a table is asked for; raises QueryError where the query is not `key=...` alone."""
    try:
        given = urllib.parse.parse_qs(query, keep_blank_values=True, max_num_fields=4)
    except ValueError as error:
        raise QueryError(str(error)) from None
    if given.keys() != {"key"} or len(given["key"]) > 1:
        message = "write one key, and nothing else: ?key=JSON, or ?key=TEXT for a table with one column to ask by"
        raise QueryError(message)
    return given["key"][0]


class Metrics:
    """The metrics of a collector, in the format that is asked for."""

    def __init__(self, collector: Collector) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(collector)

    def __call__(self, accept: str) -> Reply:
        """The answer to `/metrics`; `accept` is what the header of that name says."""
        encode, kind = exposition.choose_encoder(accept)
        return Reply(HTTPStatus.OK, encode(self._registry), kind)


class Paths:
    """What is answered to which path.

    A path that ends with `/` stands for all that begin with it, but for `/` itself, which is the root alone. What gets
    a GET is given the rest of the path, the query behind it, and the header `Accept`; what gets a PUT gets the body.
    """

    def __init__(
        self,
        gets: Mapping[str, Callable[[str, str, str], Answer]],
        puts: Mapping[str, Callable[[bytes], Reply]] | None = None,
        token: Token | None = None,
    ) -> None:
        """With a `token`, every PUT has to bring it."""
        self._gets, self._puts, self._token = gets, puts or {}, token

    def get(self, target: str, accept: str) -> Answer:
        """The answer to a GET."""
        path, _, query = target.partition("?")
        if (answer := self._gets.get(path)) is not None and (path == "/" or not path.endswith("/")):
            return answer("", query, accept)
        for begin, answer in self._gets.items():
            if begin != "/" and begin.endswith("/") and path.startswith(begin):
                return answer(path.removeprefix(begin), query, accept)
        message = f"there is no {path[:60]!r} here; there are {', '.join(self._gets)}"
        return problem(HTTPStatus.NOT_FOUND, message)

    def put(self, target: str, body: bytes, authorization: str = "") -> Reply:
        """The answer to a PUT; `authorization` is what the header of that name says."""
        try:
            if self._token is not None and not self._token.fits(authorization):
                message = "only who brings the token may change something: Authorization: Bearer TOKEN"
                return problem(HTTPStatus.UNAUTHORIZED, message)._replace(headers=CHALLENGE)
        except TokenError as error:
            return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        if (answer := self._puts.get(target)) is None:
            return problem(HTTPStatus.NOT_FOUND, f"nothing can be put to {target[:60]!r}")
        return answer(body)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Listens at once, answers from `start` to `stop`."""

    daemon_threads = True
    request_queue_size = MOST
    paths: Paths

    def __init__(self, host: str, port: int, who: str) -> None:
        """On a port, or any that is free for 0; raises AddressError where nobody can listen. `who` answers."""
        self.who = who
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

    def start(self, paths: Paths) -> None:
        """Answer so, in a thread."""
        self.paths = paths
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


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    timeout = PATIENCE
    server: Server

    def do_GET(self) -> None:
        """The answer, or that there is none."""
        self._send(self.server.paths.get(self.path, self.headers.get("Accept", "")))

    def do_PUT(self) -> None:
        """The same for what changes something."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > LARGEST:
            message = f"say with Content-Length how much comes, at most {LARGEST} bytes"
            self._send(problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message))
            return
        body = self.rfile.read(int(length))
        authorization = self.headers.get("Authorization", "")
        if not authorization and (token := self.headers.get(TOKEN_HEADER)):
            authorization = f"Bearer {token}"
        self._send(self.server.paths.put(self.path, body, authorization))

    def version_string(self) -> str:
        """Who answers; versions are nobody's concern."""
        return self.server.who

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called there
        """Requests are no events."""

    def _send(self, found: Answer) -> None:
        if isinstance(found, Stream):
            self._hand_over(found)
            return
        self.send_response(found.status)
        self.send_header("Content-Type", found.kind)
        self.send_header("Content-Length", str(len(found.body)))
        for name, value in found.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(found.body)

    def _hand_over(self, found: Stream) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", found.kind)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        # Detached, so that the end of this request doesn't close it.
        found.take(socket.socket(fileno=self.connection.detach()))


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
