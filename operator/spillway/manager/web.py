"""What the manager answers over HTTP: how it is, its metrics, the page of all jobs, and the pages of their drivers.

Nothing can be changed from here: of a driver only what it answers to a GET comes through, without credentials.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Callable

import aiohttp
from aiohttp import web

from spillway.manager import page
from spillway.manager.drivers import Drivers
from spillway.manager.metrics import Metrics
from spillway.manager.world import World

# Seconds without the end of any pass, or a refresh, after which something hangs that a restart may mend. Passes come
# every minute even of jobs that rest, and a refresh as often; three of them missing are no coincidence.
STUCK = 200.0
# Seconds for the first bytes of a driver's answer; after that a stream may say nothing for as long as it likes.
PATIENCE = 5.0
CHUNK = 64 * 1024

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Of a driver's answer, what a browser needs.
_KEPT = ("Content-Type", "Cache-Control", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy")
_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_log = logging.getLogger(__name__)


class Web:
    """The server.

    Attributes:
        alive: when something was done last, by the monotonic clock.
        ready: whether jobs are looked after, or would be if the lease were ours.
    """

    def __init__(self, world: World, drivers: Drivers, metrics: Metrics, alive: Callable[[], float]) -> None:
        self._world, self._drivers, self._metrics, self._alive = world, drivers, metrics, alive
        self.ready = False
        self.standby = False
        application = web.Application()
        application.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/metrics", self._metrics_page),
                web.get("/", self._jobs),
                web.get("/jobs/{namespace}/{job}", self._to_driver),
                web.get("/jobs/{namespace}/{job}/{path:.*}", self._driver),
            ]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=2)
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError where nobody can."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Hang up."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        silent = time.monotonic() - self._alive()
        if not self.standby and self.ready and silent > STUCK:
            return web.Response(status=503, text=f"nothing was done for {silent:.0f} s\n")
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self.standby:
            return web.Response(text="standing by: another manager has the lease\n")
        return web.Response(text="ok\n") if self.ready else web.Response(status=503, text="starting\n")

    async def _metrics_page(self, _: web.Request) -> web.Response:
        kind = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=self._metrics.text(), headers=kind)

    async def _jobs(self, _: web.Request) -> web.Response:
        text = page.jobs(self._world.jobs.values(), standby=self.standby)
        return web.Response(text=text, content_type="text/html", headers=_POLICY)

    async def _to_driver(self, request: web.Request) -> web.Response:
        """With a slash at the end, so that what the page names is found beside it."""
        return web.Response(status=308, headers={"Location": f"{request.path}/"})

    async def _driver(self, request: web.Request) -> web.StreamResponse:
        """What the driver of a job answers, as it comes."""
        namespace, job, path = (request.match_info[name] for name in ("namespace", "job", "path"))
        if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(job)) or (namespace, job) not in self._world.jobs:
            return web.Response(status=404, text="there is no such job\n")
        address = f"{self._drivers.address(namespace, job)}/{path}"
        accept = {"Accept": request.headers.get("Accept", "*/*")}
        waits = aiohttp.ClientTimeout(total=None, sock_connect=PATIENCE)
        try:
            async with self._drivers.session.get(
                address, params=request.query, headers=accept, timeout=waits, allow_redirects=False
            ) as answer:
                found = web.StreamResponse(
                    status=answer.status,
                    headers={name: answer.headers[name] for name in _KEPT if name in answer.headers},
                )
                await found.prepare(request)
                with contextlib.suppress(ConnectionResetError, asyncio.CancelledError):
                    async for part in answer.content.iter_chunked(CHUNK):
                        await found.write(part)
                    await found.write_eof()
                return found
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            text = f"the driver of {namespace}/{job} does not answer: {str(error) or type(error).__name__}\n"
            return web.Response(status=502, text=text)
