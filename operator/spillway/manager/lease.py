"""One manager at a time: a Lease of `coordination.k8s.io`, held as long as this process works.

Who wants it looks whether it changes: a lease that stood still for its whole duration, by our own clock, is free; what
clocks of other nodes wrote into it counts for nothing. Who has it writes it again five times in that duration, and
ends this process when that failed for two thirds of it: so the old one has gone before a new one begins.

Each change of hands counts up: the epoch. A process has one epoch for all of its life; who lost it does not come back.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from typing import Any

from spillway.manager import kinds
from spillway.manager.cluster import Cluster
from spillway.manager.errors import ClusterError, ConflictError, LostError, NotFoundError

# Seconds. After a crash nobody steers for so long; jobs go on meanwhile. Shorter: an API server that restarts, in ten
# seconds, ends managers.
DURATION = 15.0

_log = logging.getLogger(__name__)


class Lease:
    """A claim to it.

    Attributes:
        epoch: how often it has changed hands, up to ours; None before it is ours.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str,
        identity: str,
        duration: float = DURATION,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._namespace, self._name = cluster, namespace, name
        self._identity, self._duration, self._clock = identity, duration, clock
        self._held: dict[str, Any] | None = None
        self._renewed = 0.0
        self.epoch: int | None = None

    @property
    def held(self) -> bool:
        """Whether it is ours, as far as we can tell."""
        return self._held is not None and self._clock() - self._renewed < self._duration * 2 / 3

    async def acquire(self) -> None:
        """Wait until it is ours."""
        seen: tuple[Any, float] | None = None
        while True:
            try:
                seen = await self._try(seen)
            except ClusterError as error:
                _log.warning("the lease can't be looked at: %s", error)
            if self._held is not None:
                _log.info("the lease %s/%s is ours, epoch %d", self._namespace, self._name, self.epoch)
                return
            await asyncio.sleep(self._duration / 5)

    async def keep(self) -> None:
        """Keep it; raises LostError when that can't be done any more."""
        while True:
            await asyncio.sleep(self._duration / 5)
            try:
                await asyncio.wait_for(self._renew(), self._duration / 3)
            except ConflictError:
                if not await self._still_ours():
                    message = f"the lease {self._namespace}/{self._name} was taken by somebody else"
                    raise LostError(message) from None
            except (ClusterError, TimeoutError) as error:
                _log.warning("the lease can't be renewed: %s", str(error) or "no answer")
            if not self.held:
                message = f"the lease {self._namespace}/{self._name} could not be renewed for too long"
                raise LostError(message)

    async def release(self) -> None:
        """Give it back, so that the next one need not wait; if that fails, it runs out."""
        if self._held is None:
            return
        held, self._held = self._held, None
        try:
            body = self._claimed(held, int(held["spec"]["leaseTransitions"]))
            body["spec"]["holderIdentity"] = ""
            await asyncio.wait_for(self._cluster.replace(kinds.LEASE, body), self._duration / 3)
        except (ClusterError, TimeoutError) as error:
            _log.info("the lease can't be given back: %s", error)

    async def _try(self, seen: tuple[Any, float] | None) -> tuple[Any, float] | None:
        """Take it if it is free; else what was seen of it, and since when."""
        now = self._clock()
        try:
            found = await self._cluster.get(kinds.LEASE, self._namespace, self._name)
        except NotFoundError:
            metadata = {"name": self._name, "namespace": self._namespace}
            fresh = {"apiVersion": kinds.LEASE.api_version, "kind": "Lease", "metadata": metadata}
            try:
                self._take(await self._cluster.create(kinds.LEASE, self._claimed(fresh, 1)), now)
            except ConflictError:
                return None
            return None
        spec = found.get("spec") or {}
        record = found["metadata"]["resourceVersion"]
        if seen is None or seen[0] != record:
            seen = record, now
        duration = float(spec.get("leaseDurationSeconds") or self._duration)
        # The same name is the same pod, whose container was started again: no two of them run at once.
        free = spec.get("holderIdentity") in (None, "", self._identity) or now - seen[1] >= duration
        if not free:
            return seen
        try:
            claimed = self._claimed(found, int(spec.get("leaseTransitions") or 0) + 1)
            self._take(await self._cluster.replace(kinds.LEASE, claimed), now)
        except ConflictError:
            return None
        return None

    async def _renew(self) -> None:
        began, held = self._clock(), self._held
        if held is not None:
            body = self._claimed(held, int(held["spec"]["leaseTransitions"]))
            self._take(await self._cluster.replace(kinds.LEASE, body), began)

    async def _still_ours(self) -> bool:
        """After a conflict: whether only our own write, whose answer was lost, was in between."""
        try:
            found = await self._cluster.get(kinds.LEASE, self._namespace, self._name)
        except ClusterError:
            return True  # not known; time decides
        spec = found.get("spec") or {}
        if spec.get("holderIdentity") == self._identity and spec.get("leaseTransitions") == self.epoch:
            self._held = found
            return True
        return False

    def _claimed(self, found: dict[str, Any], transitions: int) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.UTC)
        stamp = f"{now:%Y-%m-%dT%H:%M:%S.%f}Z"
        spec = found.get("spec") or {}
        new = spec.get("holderIdentity") != self._identity or spec.get("leaseTransitions") != transitions
        return {
            **found,
            "spec": {
                "holderIdentity": self._identity,
                # Whole seconds, up: who waits shall not wait too short.
                "leaseDurationSeconds": int(-(-self._duration // 1)),
                "leaseTransitions": transitions,
                "acquireTime": stamp if new else spec.get("acquireTime", stamp),
                "renewTime": stamp,
            },
        }

    def _take(self, written: dict[str, Any], began: float) -> None:
        self._held, self._renewed = written, began
        self.epoch = int(written["spec"]["leaseTransitions"])
