"""What kopf tells us: objects that came, changed and went. The one module that knows kopf.

kopf watches, and nothing else: it writes no finalizer, no annotation, and keeps no state of ours. It would lift a
finalizer of a job that was deleted while no manager ran, before anybody had cleared anything away; so ours is not
known to it, and what wakes a job is `world`'s to say.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any, cast

import kopf

from spillway.controllers.reconciling import names
from spillway.manager import kinds
from spillway.manager.errors import ClusterError
from spillway.manager.kinds import Kind
from spillway.manager.world import World

GONE = "DELETED"

# Seconds until kopf, which has begun to end, counts as stuck. It takes milliseconds, and 5 s where a watch of the three
# is still open; but a watch that is told to end while it begins anew forgets that, and waits for ever for an account.
PATIENCE = 6.0

# kopf takes away whatever has this name, once it has nothing to do with an object.
_FINALIZER = "kopf.spillway.dev/unused"


def build_registry(world: World) -> kopf.OperatorRegistry:
    """Handlers that tell the world. All are `async`: others would run in threads, beside our own loop."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry, id="login")
    async def login(**given: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**given) or kopf.login_with_kubeconfig(**given)

    stream_job = kinds.STREAM_JOB

    @kopf.on.event(stream_job.group, stream_job.version, stream_job.plural, registry=registry, id="job")
    async def job(event: kopf.RawEvent, **_: Any) -> None:
        world.saw_job(dict(event["object"]), gone=event["type"] == GONE)

    for kind in (kinds.STATEFUL_SET, kinds.POD):
        _watch(registry, world, kind)
    return registry


def _watch(registry: kopf.OperatorRegistry, world: World, kind: Kind) -> None:
    async def saw(event: kopf.RawEvent, **_: Any) -> None:
        world.saw(kind, dict(event["object"]), gone=event["type"] == GONE)

    labels = {names.MANAGER: names.MANAGED_BY}
    kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural, labels=labels)(saw)


class _NoDifferences(kopf.DiffBaseStorage):
    """Handlers of events are told what is, and not what was before: to find that out takes kopf half of its time."""

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:
        """What matters of an object: nothing."""
        del body, extra_fields
        return cast("kopf.BodyEssence", {})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """What mattered when it was looked at last: nobody has kept it."""
        del body
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Keep nothing."""


def settings() -> kopf.OperatorSettings:
    """How kopf is to behave."""
    found = kopf.OperatorSettings()
    found.persistence.finalizer = _FINALIZER
    found.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="spillway.dev")
    found.persistence.diffbase_storage = _NoDifferences()
    # Without events for so long a watch is begun anew: some networks drop connections without a word.
    found.watching.server_timeout = 600
    found.watching.connect_timeout = 10
    found.networking.request_timeout = 30
    # Only what is ours comes over the wire, and not every pod of the cluster.
    for kind in (kinds.STATEFUL_SET, kinds.POD):
        found.watching.label_selectors[kind.group, kind.version, kind.plural] = names.SELECTOR
    # No look at CRDs and namespaces, for which a manager of one namespace has no right.
    found.scanning.disabled = True
    found.posting.enabled = False
    found.process.ultimate_exiting_timeout = None
    return found


async def watch(world: World, namespaces: Sequence[str], stop: asyncio.Event, ready: asyncio.Event) -> None:
    """Watch until told to stop. Raises what a watch failed with, and ClusterError if kopf does not come to an end."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    registry, ending = build_registry(world), asyncio.Event()

    @kopf.on.cleanup(registry=registry, id="ending")
    async def end(**_: Any) -> None:
        ending.set()

    # kopf ends all tasks that were begun after it was: this one must be there before.
    asked = asyncio.create_task(ending.wait(), name="kopf ends")
    await asyncio.sleep(0)
    running = asyncio.create_task(
        kopf.operator(
            registry=registry,
            settings=settings(),
            standalone=True,
            clusterwide=not namespaces,
            namespaces=list(namespaces),
            stop_flag=stop,
            ready_flag=ready,
        ),
        name="kopf",
    )
    try:
        await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({running}, timeout=PATIENCE)
        if not running.done():
            message = "the watches failed, and did not come to an end"
            raise ClusterError(message)
        running.result()
    finally:
        asked.cancel()
        running.cancel()
