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
import time
import urllib.parse
from http import HTTPStatus

from spillway.runtime import web
from spillway.runtime.web import Paths, QueryError, Reply
from spillway.runtime.worker import readiness, tables
from spillway.runtime.worker.metrics import Collector
from spillway.runtime.worker.supervisor import Supervisor
from spillway.runtime.worker.tables import KeyUnfitError, TableError, Tables

# Seconds without a turn of the loop: it turns five times a second, and starting a process takes less than one.
STALLED = 10.0


class Answers:
    """Of one worker; its methods are called in threads."""

    def __init__(self, supervisor: Supervisor, known: Tables, collector: Collector) -> None:
        self._supervisor, self._tables = supervisor, known
        metrics = web.Metrics(collector)
        self.paths = Paths(
            {
                "/healthz": lambda *_: self._healthy(),
                "/readyz": lambda *_: self._ready(),
                "/metrics": lambda _, __, accept: metrics(accept),
                "/v1/tables/": lambda rest, query, _: self._table(urllib.parse.unquote(rest), query),
            }
        )

    def _healthy(self) -> Reply:
        stalled = time.monotonic() - self._supervisor.turned
        if stalled > STALLED:
            return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, f"no slot was looked after for {stalled:.0f} s")
        return web.reply(HTTPStatus.OK, {"healthy": True})

    def _ready(self) -> Reply:
        missing = readiness.missing(self._supervisor.seats, time.monotonic())
        status = HTTPStatus.SERVICE_UNAVAILABLE if missing else HTTPStatus.OK
        return web.reply(status, {"ready": not missing, "missing": missing})

    def _table(self, operator: str, query: str) -> Reply:
        try:
            key = self._tables.key(operator, web.key_asked(query))
        except TableError as error:
            return web.problem(HTTPStatus.NOT_FOUND, str(error))
        except (QueryError, KeyUnfitError) as error:
            return web.problem(HTTPStatus.BAD_REQUEST, str(error))
        lives = [life for seat in self._supervisor.seats if (life := seat.life) is not None]
        # Who has not joined has no partition, and doesn't listen yet.
        found = tables.ask([life for life in lives if life.report is not None], operator, key)
        if found is None:
            message = f"not all slots have answered within {tables.PATIENCE:g} s; ask again"
            return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, message)
        if found.problem:
            return web.problem(HTTPStatus.BAD_REQUEST, found.problem)
        if not found.found:
            message = f"no slot of this worker has the partition of that key of {operator!r} now"
            return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, message)
        as_of = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return web.reply(HTTPStatus.OK, {"operator": operator, "key": key, "rows": found.rows, "as_of": as_of})
