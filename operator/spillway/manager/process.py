"""The manager's process: everything put together, from the lease to the last job."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import logging
import signal
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from spillway.manager import handlers, kinds
from spillway.manager.applying import Applier
from spillway.manager.cluster import ApiServer, Cluster
from spillway.manager.drivers import Address, Drivers, in_cluster
from spillway.manager.errors import ClusterError, ForbiddenError, NotFoundError
from spillway.manager.keeper import Keeper
from spillway.manager.lease import Lease
from spillway.manager.manifests.parts import Settings
from spillway.manager.metrics import Metrics
from spillway.manager.observing import Observer
from spillway.manager.reconcile import Reconciler
from spillway.manager.recorder import Recorder
from spillway.manager.teardown import Teardown
from spillway.manager.topics import Topics
from spillway.manager.web import Web
from spillway.manager.world import World

# Seconds until an API server that didn't answer at the start is asked again.
AGAIN = 2.0

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What the manager was told when it was started.

    Attributes:
        namespaces: with jobs; none means all.
        lease_namespace, lease_name, lease_seconds: of the lease.
        identity: of this process among those that want the lease.
        host, port: where it answers HTTP.
        refresh: seconds between two looks at everything.
        kafka_patience: seconds until brokers that say nothing count as silent.
        address: where drivers answer.
    """

    settings: Settings
    namespaces: tuple[str, ...]
    lease_namespace: str
    lease_name: str
    lease_seconds: float
    identity: str
    host: str
    port: int
    refresh: float
    kafka_patience: float
    address: Address = in_cluster


def clock() -> datetime.datetime:
    """The time."""
    return datetime.datetime.now(datetime.UTC)


async def run(options: Options) -> None:
    """Until it is asked to end. Raises LostError when the lease is lost, ClusterError for no cluster at all."""
    metrics, stop = Metrics(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cluster = await ApiServer.connected(metrics.asked)
    drivers = Drivers(options.address)
    try:
        await Process(options, cluster, drivers, metrics, stop).run()
    finally:
        await drivers.close()
        await cluster.close()


class Process:
    """All parts of it."""

    def __init__(
        self, options: Options, cluster: Cluster, drivers: Drivers, metrics: Metrics, stop: asyncio.Event
    ) -> None:
        self._options, self._cluster, self._metrics, self._stop = options, cluster, metrics, stop
        self._world = World()
        self._web = Web(self._world, drivers, metrics, self._alive)
        self._drivers = drivers
        self._keeper: Keeper | None = None
        self._refreshed = time.monotonic()

    async def run(self) -> None:
        """From the lease to the end."""
        options = self._options
        await self._web.start(options.host, options.port)
        _log.info("answers on http://%s:%d", options.host, self._web.port)
        lease = Lease(
            self._cluster, options.lease_namespace, options.lease_name, options.identity, options.lease_seconds
        )
        try:
            self._web.standby = True
            if not await self._unless_stopped(lease.acquire()):
                return
            self._web.standby = False
            self._metrics.leads(lease.epoch or 0)
            await self._lead(lease)
        finally:
            await lease.release()
            await self._web.stop()

    def _alive(self) -> float:
        return max(self._refreshed, self._keeper.finished if self._keeper is not None else 0.0)

    async def _lead(self, lease: Lease) -> None:
        pod_monitors = await self._pod_monitors()
        settings = dataclasses.replace(self._options.settings, pod_monitors=pod_monitors)
        world = self._world
        world.know_pod_monitors(pod_monitors)
        topics = Topics(self._cluster, world.notice, self._options.kafka_patience)
        recorder = Recorder(self._cluster, clock, self._options.identity)
        observer = Observer(self._cluster, world, self._drivers, topics, clock)
        applier = Applier(self._cluster, world, self._drivers, observer, settings)
        teardown = Teardown(self._cluster, applier, self._drivers, recorder, topics, clock, pod_monitors=pod_monitors)
        reconciler = Reconciler(self._cluster, world, observer, applier, teardown, recorder, self._metrics, clock)
        self._keeper = keeper = Keeper(reconciler.reconcile, self._metrics)
        self._metrics.watch(lambda: keeper.finished, lambda: keeper.count)
        world.wake = keeper.wake
        tasks = {
            asyncio.create_task(lease.keep(), name="lease"),
            asyncio.create_task(self._refresh(), name="refresh"),
        }
        ready = asyncio.Event()
        watching = asyncio.create_task(handlers.watch(world, self._options.namespaces, self._stop, ready), name="watch")
        readiness = asyncio.create_task(self._say_when_ready(ready))
        try:
            done, _ = await asyncio.wait({watching, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises what ended it
        finally:
            self._web.ready = False
            self._stop.set()
            await keeper.stop()
            await topics.stop()
            for task in (*tasks, readiness):
                task.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await watching
            await asyncio.gather(*tasks, readiness, return_exceptions=True)

    async def _say_when_ready(self, ready: asyncio.Event) -> None:
        await ready.wait()
        self._web.ready = True

    async def _refresh(self) -> None:
        """Look at everything now and then; that it fails once in a while is no reason to end."""
        namespaces: Sequence[str | None] = self._options.namespaces or (None,)
        while True:
            await asyncio.sleep(self._options.refresh)
            try:
                await self._world.refresh(self._cluster, namespaces)
                self._refreshed = time.monotonic()
            except ClusterError as error:
                _log.warning("not everything could be looked at: %s", error)
            except Exception:
                _log.exception("not everything could be looked at")

    async def _pod_monitors(self) -> bool:
        """Whether the cluster knows them; found out once, when the manager starts."""
        namespace = (self._options.namespaces or (None,))[0]
        while True:
            try:
                async for _ in self._cluster.all(kinds.POD_MONITOR, namespace, metadata=True):
                    break
            except (NotFoundError, ForbiddenError):
                return False
            except ClusterError as error:
                _log.warning("can't find out whether there are PodMonitors: %s", error)
                if not await self._unless_stopped(asyncio.sleep(AGAIN)):
                    return False
            else:
                return True

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for it, or until somebody asks us to end; whether it was done."""
        working = asyncio.create_task(work)
        asked = asyncio.create_task(self._stop.wait())
        await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not working.done():
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return False
        working.result()
        return True
