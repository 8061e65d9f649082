"""What a driver answers over HTTP. Everything is JSON, but for the metrics.

| path | answers |
|---|---|
| `GET /healthz` | 200 while the loop comes round, else 503 |
| `GET /readyz` | 200 while it leads, topics are there, and every partition that shall is worked on; else 503 and why |
| `GET /metrics` | for Prometheus |
| `GET /v1/observation` | all that is known of the job (`observation.Observation`) |
| `PUT /v1/grant` | how many workers may own partitions, and how many executors there may be (`observation.Grant`) |
| `PUT /v1/switch` | runs operators in another paradigm (`observation.SwitchOrder`); what becomes of that |
| `PUT /v1/deployment` | of a driver that is directed: what each operator has (`observation.Deployment`) |
| `GET /v1/deployment` | how far that is carried out (`observation.Deployed`) |
| `GET /v1/decisions` | the last decisions, each with its reason, and what lost |
| `GET /v1/tables/<operator>?key=` | the rows of a key, from the worker that has them |

To that comes the page (`page.serving`). Where the driver was given a token, a PUT has to bring it; else 401.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from spillway.model import observation
from spillway.model.observation import VERSION, Deployment, SwitchAnswer, SwitchOrder
from spillway.runtime import web
from spillway.runtime.driver import tables
from spillway.runtime.driver.conditions import Kind
from spillway.runtime.driver.driver import clock
from spillway.runtime.driver.metrics import Collector
from spillway.runtime.driver.reporting import Board
from spillway.runtime.web import Answer, Paths, QueryError, Reply, Token

# Seconds without a turn of the loop. It turns five times a second; to begin takes as long as a broker takes to answer.
STALLED = 60.0


class Answers:
    """Of one driver; its methods are called in threads."""

    def __init__(
        self,
        board: Board,
        grant: Callable[[int, int | None], None],
        order: Callable[[SwitchOrder], SwitchAnswer],
        decisions: Callable[[], Sequence[Mapping[str, Any]]],
        page: Mapping[str, Callable[[str, str, str], Answer]],
        token: Token | None = None,
        direct: Callable[[Deployment], None] | None = None,
    ) -> None:
        """`grant` takes how many workers may own partitions, and how many executors there may be; `order` a switch.

        `decisions` gives the last ones, `page` has more paths. With a `token`, only who has it may change something.
        `direct` takes a deployment; None where the driver decides itself.
        """
        self._board, self._grant, self._order, self._decisions = board, grant, order, decisions
        self._direct = direct
        metrics = web.Metrics(Collector(board))
        self.paths = Paths(
            {
                "/healthz": lambda *_: self._healthy(),
                "/readyz": lambda *_: self._ready(),
                "/metrics": lambda _, __, accept: metrics(accept),
                "/v1/observation": lambda *_: Reply(HTTPStatus.OK, observation.encode(board.view.observation)),
                "/v1/decisions": lambda *_: self._decided(),
                "/v1/deployment": lambda *_: Reply(HTTPStatus.OK, observation.encode(board.view.deployed)),
                "/v1/tables/": lambda rest, query, _: self._table(urllib.parse.unquote(rest), query),
                **page,
            },
            {"/v1/grant": self._granted, "/v1/switch": self._switched, "/v1/deployment": self._directed},
            token,
        )

    def _granted(self, body: bytes) -> Reply:
        try:
            grant = observation.grant(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return web.problem(HTTPStatus.BAD_REQUEST, f"this is no grant: {error}")
        self._grant(grant.workers, grant.executors)
        return Reply(HTTPStatus.OK, observation.encode(grant))

    def _switched(self, body: bytes) -> Reply:
        try:
            order = observation.switch_order(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return web.problem(HTTPStatus.BAD_REQUEST, f"this is no order to switch: {error}")
        return Reply(HTTPStatus.OK, observation.encode(self._order(order)))

    def _directed(self, body: bytes) -> Reply:
        if self._direct is None:
            return web.problem(HTTPStatus.CONFLICT, "this driver decides itself; start one with --directed")
        try:
            asked = observation.deployment(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return web.problem(HTTPStatus.BAD_REQUEST, f"this is no deployment: {error}")
        self._direct(asked)
        return Reply(HTTPStatus.OK, observation.encode(asked))

    def _healthy(self) -> Reply:
        stalled = clock() - self._board.view.ticked
        if stalled > STALLED:
            return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing was decided for {stalled:.0f} s")
        return web.reply(HTTPStatus.OK, {"healthy": True})

    def _ready(self) -> Reply:
        told = self._board.view.observation
        if told.ready:
            return web.reply(HTTPStatus.OK, {"ready": True, "missing": []})
        missing = [
            f"{one.type}: {one.message}" for one in told.conditions if not one.status and one.type != Kind.PAUSED
        ]
        return web.reply(HTTPStatus.SERVICE_UNAVAILABLE, {"ready": False, "missing": missing})

    def _decided(self) -> Reply:
        return web.reply(HTTPStatus.OK, {"version": VERSION, "decisions": list(self._decisions())})

    def _table(self, operator: str, query: str) -> Reply:
        try:
            text = web.key_asked(query)
        except QueryError as error:
            return web.problem(HTTPStatus.BAD_REQUEST, str(error))
        return tables.ask(self._board.view, operator, text)
