"""Stands between a manager and the API server: counts what changes something, and lets things go wrong at the n-th.

Plain HTTP towards the manager, whose kubeconfig names it. What changes something is a POST, PUT, PATCH or DELETE, but
for leases (which tick) and events (which nobody waits for).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import aiohttp
import yaml
from aiohttp import web

from api_client import ApiClient

# Who the manager is to the API server.
USER = "the-manager"
CHANGING = {"POST", "PUT", "PATCH", "DELETE"}
GOODBYE = 0.25  # seconds


class Answer(NamedTuple):
    """What the manager gets instead of the API server's answer."""

    status: int
    message: str
    headers: Mapping[str, str] = MappingProxyType({})


class Proxy:
    """It.

    Attributes:
        changes: how many requests would have changed something, and `asked` how many there were, by verb.
        before: called with the number of a changing request before it is passed on; an answer is given instead.
        after: called once it was done; with True its reply is lost.
        cut: watches are cut off when this is set, and begin anew.
        gone: so many watches are answered with 410 next.
        instead: called with verb, path, body and headers of each request; what it gives is answered.
        away: nobody answers: all connections are broken off.
        user: as whom all is asked; None for who may do anything.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self.changes = 0
        self.asked: Counter[str] = Counter()
        self.before: Callable[[int, str], Answer | None] = lambda *_: None
        self.after: Callable[[int, str], bool] = lambda *_: False
        self.gone = 0
        self.away = False
        self.instead: Callable[[str, str, bytes, Mapping[str, str]], tuple[int, bytes] | None] = lambda *_: None
        self.user: str | None = USER
        self.url = ""
        self._watches: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None

    def reset(self) -> None:
        """Count anew, with nothing going wrong."""
        self.changes, self.asked = 0, Counter()
        self.before, self.after = lambda *_: None, lambda *_: False

    def cut(self) -> None:
        """Cut all watches off."""
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in list(self._watches)])

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.path_qs
        if self.away and request.transport is not None:
            request.transport.abort()
            return web.Response(status=503)
        self.asked[request.method] += 1
        # In a thread: who answers may ask somebody else first.
        told = request.method, path, await request.read(), request.headers
        if (found := await asyncio.to_thread(self.instead, *told)) is not None:
            return web.Response(status=found[0], body=found[1], content_type="application/json")
        changing = request.method in CHANGING and "/leases" not in path and "/events" not in path
        number = 0
        if changing:
            self.changes += 1
            number = self.changes
            if (instead := self.before(number, f"{request.method} {path}")) is not None:
                return _refused(instead)
        if "watch=true" in path and self.gone:
            self.gone -= 1
            return _refused(Answer(410, "too old resource version"))
        assert self._session is not None
        headers = {
            "Authorization": f"Bearer {self._client.token}",
            "Accept": request.headers.get("Accept", "*/*"),
        }
        if self.user is not None:  # somebody who has only the rights that a test gave
            headers["Impersonate-User"] = self.user
        if "Content-Type" in request.headers:
            headers["Content-Type"] = request.headers["Content-Type"]
        body = await request.read() or None
        async with self._session.request(
            request.method, f"{self._client.server}{path}", data=body, headers=headers
        ) as got:
            if "watch=true" in path:
                return await self._stream(request, got)
            text = await got.read()
        if changing and self.after(number, f"{request.method} {path}"):
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=got.status, body=text, headers={"Content-Type": got.headers["Content-Type"]})

    async def _stream(self, request: web.Request, got: aiohttp.ClientResponse) -> web.StreamResponse:
        found = web.StreamResponse(status=got.status, headers={"Content-Type": got.headers["Content-Type"]})
        await found.prepare(request)

        async def pass_on() -> None:
            async for part in got.content.iter_any():
                await found.write(part)

        task = asyncio.create_task(pass_on())
        self._watches.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._watches.discard(task)
        return found

    async def _run(self, ready: threading.Event) -> None:
        verify = ssl.create_default_context()
        verify.check_hostname, verify.verify_mode = False, ssl.CERT_NONE
        connector = aiohttp.TCPConnector(ssl=verify, limit=0)
        async with aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=None)
        ) as self._session:
            application = web.Application(client_max_size=2**24)
            application.router.add_route("*", "/{path:.*}", self._serve)
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            ready.set()
            self._stop = asyncio.Event()
            await self._stop.wait()
            self.cut()
            await runner.cleanup()
        # Encrypted connections say goodbye before they are closed; who ends the loop ahead of that leaves them open.
        await asyncio.sleep(GOODBYE)

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[Path]:
        """Serve until the block ends; the kubeconfig that names it."""
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._run(ready)), daemon=True)
        thread.start()
        assert ready.wait(10)
        kubeconfig = folder / "proxied"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": "admin", "user": {"token": "of-the-proxy"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        kubeconfig.write_text(yaml.safe_dump(content))
        try:
            yield kubeconfig
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(10)
            self._loop.close()


def _refused(answer: Answer) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": answer.message, "code": answer.status}
    return web.json_response(body, status=answer.status, headers=answer.headers)


class Stopwatch:
    """Requests in a span of time."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy, self._began, self._before = proxy, time.monotonic(), sum(proxy.asked.values())

    @property
    def per_minute(self) -> float:
        """So many since then."""
        return (sum(self._proxy.asked.values()) - self._before) * 60 / (time.monotonic() - self._began)
