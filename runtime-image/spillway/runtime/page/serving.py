"""The page as paths of the driver's HTTP server, and what tells those who have it open.

| path | answers |
|---|---|
| `GET /` | the page |
| `GET /page/<file>` | what it is made of |
| `GET /v1/topology` | the graph of the job, and where to draw it (`topology.Topology`) |
| `GET /v1/history` | the last ten minutes in samples of a second (`history.Past`) |
| `GET /v1/deciding` | what is decided now, whether that is news or not; null before there is anything |
| `GET /v1/events` | server-sent events, twice a second: `observation`, `deciding`, `sample`, `decision`, or `beat` |
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from spillway.controllers import tick
from spillway.controllers.protocol import messages
from spillway.model import observation
from spillway.model.observation import Observation
from spillway.runtime import web
from spillway.runtime.driver.reporting import Board
from spillway.runtime.page import events, files, topology
from spillway.runtime.page.history import History
from spillway.runtime.page.listeners import Listeners
from spillway.runtime.web import Answer, Reply

# Seconds. A person sees no difference to shorter ones; longer, and a page seems to hang.
TURN = 0.5

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class Page:
    """Of one driver; its answers are made in threads.

    Attributes:
        gets: what is answered to a GET, by path.
    """

    def __init__(
        self,
        board: Board,
        decisions: Callable[[], Sequence[Mapping[str, Any]]],
        deciding: Callable[[], tick.Decision | None],
    ) -> None:
        """`decisions` gives the last ones, `deciding` what is decided now."""
        self._board, self._decisions, self._deciding = board, decisions, deciding
        self._files = files.read()
        self._history, self._news, self._listeners = History(), events.News(), Listeners()
        self._told: Observation | None = None
        self._drawn: tuple[messages.Plan | None, bytes] = (None, _encode(topology.NOTHING))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self.gets: Mapping[str, Callable[[str, str, str], Answer]] = {
            "/": lambda *_: self._files[files.INDEX],
            "/page/": lambda name, *_: self._file(name),
            "/v1/topology": lambda *_: Reply(HTTPStatus.OK, self._topology()),
            "/v1/history": lambda *_: Reply(HTTPStatus.OK, _encode(self._history.past)),
            "/v1/deciding": lambda *_: web.reply(
                HTTPStatus.OK, {"version": observation.VERSION, "deciding": self._made()}
            ),
            "/v1/events": lambda *_: self._listeners.answer(self._now()),
        }

    def start(self) -> None:
        """Keep the history, and tell those who listen, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Hang up on those who listen."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._listeners.close()

    def _run(self) -> None:
        while not self._ended.wait(TURN):
            try:
                self.turn()
            except Exception:
                _log.exception("the page could not be told what is new")

    def turn(self) -> None:
        """Look at the driver, and tell what is new."""
        seen = self._board.view.observation
        sample, news = self._history.take(seen), self._news.among(self._decisions())
        new, self._told = seen is not self._told, seen
        if not self._listeners:
            return
        told = [events.event("decision", _encode(one)) for one in news]
        if sample is not None:
            told.append(events.event("sample", _encode(sample)))
        if new:
            told.append(self._now())
        self._listeners.tell(b"".join(told) or events.HEART_BEAT)

    def _now(self) -> bytes:
        """How everything stands, as events."""
        told = events.event("observation", observation.encode(self._board.view.observation))
        made = self._made()
        return told if made is None else told + events.event("deciding", _encode(made))

    def _made(self) -> dict[str, Any] | None:
        """What is decided now."""
        decision = self._deciding()
        return None if decision is None else events.deciding(decision)

    def _file(self, name: str) -> Reply:
        found = self._files.get(name)
        return found or web.problem(HTTPStatus.NOT_FOUND, f"the page has no {name[:60]!r}")

    def _topology(self) -> bytes:
        """Drawn once for each plan."""
        plan, drawn = self._drawn
        last = self._board.view.state.plan
        if last is not plan:
            drawn = _encode(topology.of(last) if last is not None else topology.NOTHING)
            self._drawn = last, drawn
        return drawn
