"""A driver of a few lines that answers over HTTP: it tells what it is given, and takes grants and orders."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from spillway.model import observation
from spillway.model.observation import Observation, SwitchAnswer, SwitchOrder


class FakeDriver:
    """What it tells, and what it was granted.

    Attributes:
        seen: what it tells.
        grants: all that came.
        granted: called at each grant with the number of workers; what it gives is told from then on.
        decisions: that it tells, the newest last.
        deciding: what it tells to decide now.
        orders: all that came.
        ordered: called at each order to switch; its answer.
    """

    def __init__(self, seen: Observation) -> None:
        self.seen = seen
        self.grants: list[int] = []
        self.granted: Callable[[Observation, int], Observation] = lambda before, _: before
        self.decisions: list[dict[str, Any]] = []
        self.deciding: dict[str, Any] | None = None
        self.orders: list[SwitchOrder] = []
        self.ordered: Callable[[SwitchOrder], SwitchAnswer] = lambda order: SwitchAnswer(
            observation.VERSION, False, (), order.to, "batches can't begin: Spark is off"
        )
        self.address = ""

    def take(self, body: bytes) -> bytes:
        grant = observation.grant(body)
        self.grants.append(grant.workers)
        self.seen = self.granted(msgspec.structs.replace(self.seen, granted=grant.workers), grant.workers)
        return observation.encode(grant)

    def order(self, body: bytes) -> bytes:
        order = observation.switch_order(body)
        self.orders.append(order)
        return observation.encode(self.ordered(order))


@contextlib.contextmanager
def answering(seen: Observation) -> Iterator[FakeDriver]:
    """The driver, at an address, until the block ends."""
    driver = FakeDriver(seen)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: dict[str, object] = {
                "/v1/observation": driver.seen,
                "/v1/decisions": driver.decisions,
                "/v1/deciding": {"version": observation.VERSION, "deciding": driver.deciding},
            }
            found = self.path in pages
            body = msgspec.json.encode(pages[self.path]) if found else b"there is no such page"
            self.answer(200 if found else 404, body)

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(200, driver.order(body) if self.path == "/v1/switch" else driver.take(body))

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        driver.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield driver
        finally:
            server.shutdown()
            thread.join()
