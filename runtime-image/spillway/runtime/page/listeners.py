"""Browsers that stay connected, and are told what is new. One thread tells them all; none of them can hold it up."""

from __future__ import annotations

import socket
import threading
from http import HTTPStatus

from spillway.runtime import web
from spillway.runtime.page import events
from spillway.runtime.web import Answer, Stream

MOST = 32
# Bytes that may wait for one of them: about ten seconds of a job with a dozen segments. Who is slower is hung up on:
# its browser connects again, and fetches the past at once.
SLOWEST = 1 << 20


class _Listener:
    """One connection, and what it has not taken yet."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self._waiting = bytearray()

    def tell(self, text: bytes) -> bool:
        """Send what can be sent at once; False if it is gone, or too slow."""
        if len(self._waiting) > SLOWEST:
            return False
        self._waiting += text
        try:
            del self._waiting[: self.connection.send(self._waiting)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


class Listeners:
    """All of them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._all: list[_Listener] = []
        self._open = True

    def __len__(self) -> int:
        return len(self._all)

    def answer(self, first: bytes) -> Answer:
        """What somebody who wants to listen gets: a connection that stays, and begins with this; or why not."""
        if len(self._all) >= self._most:
            message = f"{self._most} pages of this job are open already; close one"
            return web.problem(HTTPStatus.SERVICE_UNAVAILABLE, message)
        return Stream(events.KIND, lambda connection: self._take(connection, first))

    def tell(self, text: bytes) -> None:
        """Tell all of them; who can't be told is hung up on."""
        with self._lock:
            told = [(one, one.tell(text)) for one in self._all]
            self._all = [one for one, there in told if there]
        for one, there in told:
            if not there:
                one.connection.close()

    def close(self) -> None:
        """Hang up on all of them, and on those who are yet to come."""
        with self._lock:
            self._open = False
            gone, self._all = self._all, []
        for one in gone:
            one.connection.close()

    def _take(self, connection: socket.socket, first: bytes) -> None:
        one = _Listener(connection)
        with self._lock:
            room = self._open and len(self._all) < self._most
            if room and one.tell(events.BEGIN + first):
                self._all.append(one)
                return
        connection.close()
