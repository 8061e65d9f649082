"""Point queries: who has the partition of a key, and what its worker answers."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from spillway.controllers.protocol.values import Partition
from spillway.model.errors import SpillwayError
from spillway.model.types import ColumnType, Kind
from spillway.runtime import keys, point_queries, task, web
from spillway.runtime.codecs import values
from spillway.runtime.driver.reporting import View
from spillway.runtime.programs.program import Program, State
from spillway.runtime.web import Reply

PATIENCE = 3.0  # seconds; a worker answers within 2, or says that it can't
LARGEST = 4 * 2**20  # of an answer, in bytes

# Without the proxies of the environment: workers are near.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class KeyUnfitError(SpillwayError):
    """What was given as a key is none."""


def ask(view: View, operator: str, text: str) -> Reply:
    """The rows of a key, as its worker answers; 404 without such a table, 503 while nobody has the partition."""
    found = _table(view, operator)
    if found is None:
        states = (state for program in view.programs.values() for state in program.states)
        known = ", ".join(sorted(state.name for state in states if point_queries.by(state)))
        return web.problem(HTTPStatus.NOT_FOUND, f"operator {operator[:60]!r} has no table; with one: {known}")
    program, state = found
    try:
        key = _key(_columns(state), text)
    except (KeyUnfitError, values.CodecError) as error:
        return web.problem(HTTPStatus.BAD_REQUEST, str(error))
    width = view.state.plan.width if view.state.plan else 1
    number = keys.partition(keys.encoder(kind for _, kind in _columns(state))(key), width)
    place = Partition(program.name, number)
    owner = view.state.owner(place)
    address = view.addresses.get(owner.slot, "") if owner else ""
    if not address:
        return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, f"nobody who answers has partition {place} now; ask again")
    return _forwarded(address, operator, text)


def _table(view: View, operator: str) -> tuple[Program, State] | None:
    """The program that keeps a table on partitions of our own edge, and the table."""
    for program in view.programs.values():
        if task.source_of(program) is None:
            for state in program.states:
                if state.name == operator and point_queries.by(state):
                    return program, state
    return None


def _columns(state: State) -> list[tuple[str, ColumnType]]:
    """What a table is asked by, and the types."""
    types = {column.name: column.type for column in state.result.schema}
    return [(name, types[name]) for name in point_queries.by(state)]


def _key(columns: list[tuple[str, ColumnType]], text: str) -> tuple[Any, ...]:
    """The values of a key that is written as a JSON object, or as plain text where it has one column."""
    if len(text) > point_queries.LONGEST_KEY:
        message = f"a key has at most {point_queries.LONGEST_KEY} characters; this one has {len(text)}"
        raise KeyUnfitError(message)
    names = ", ".join(name for name, _ in columns)
    if not text.startswith("{"):
        if len(columns) != 1:
            message = f"the key has {len(columns)} columns ({names}); write them as a JSON object"
            raise KeyUnfitError(message)
        return (_value(_plain(text, columns[0][1]), columns[0][1]),)
    try:
        found = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        message = f"the key is no JSON object: {error}"
        raise KeyUnfitError(message) from None
    missing = [name for name, _ in columns if name not in found]
    if missing:
        message = f"the key lacks {', '.join(missing)}; it has the columns {names}"
        raise KeyUnfitError(message)
    return tuple(_value(found[name], kind) for name, kind in columns)


def _plain(text: str, kind: ColumnType) -> Any:
    """A text as JSON would have the value: numbers and booleans are written without quotes."""
    if kind.kind in (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.BOOLEAN):
        try:
            return json.loads(text, parse_float=Decimal)
        except ValueError:
            return text
    return text


def _value(found: Any, kind: ColumnType) -> Any:
    return values.lenient(kind)(found)


def _forwarded(address: str, operator: str, text: str) -> Reply:
    """What the worker answers, as it is."""
    query = urllib.parse.urlencode({"key": text})
    url = f"http://{address}/v1/tables/{urllib.parse.quote(operator, safe='')}?{query}"
    request = urllib.request.Request(url)
    try:
        with _open(request, timeout=PATIENCE) as answer:
            return Reply(HTTPStatus(answer.status), answer.read(LARGEST))
    except urllib.error.HTTPError as error:
        return Reply(HTTPStatus(error.code), error.read(LARGEST))
    except (OSError, http.client.HTTPException) as error:
        return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, f"the worker at {address} does not answer: {error}")
