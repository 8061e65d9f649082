"""Of several managers one works: the lease, on a real API server."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

import cluster_verbs
from api_proxy import GOODBYE
from spillway.manager.cluster import ApiServer as Client
from spillway.manager.errors import LostError, UnreachableError
from spillway.manager.lease import Lease

if TYPE_CHECKING:
    from api_server import ApiServer

DURATION = 2.0


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Client]:
    with mock.patch.dict(os.environ, {"KUBECONFIG": str(kubeconfig)}):
        client = await Client.connected(lambda *_: None)
    try:
        yield client
    finally:
        await client.close()
        await asyncio.sleep(GOODBYE)


def run(server: ApiServer, story: Callable[[Callable[[str], Lease], Client], Awaitable[None]]) -> None:
    """A story of leases of one name, by whoever wants it."""
    name = f"lease-{uuid.uuid4().hex[:8]}"

    async def told() -> None:
        async with connected(server.kubeconfig) as client:
            await story(lambda who: Lease(client, "default", name, who, DURATION), client)

    asyncio.run(told())


def test_a_second_one_waits_until_the_first_gives_it_back(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], _: Client) -> None:
        first, second = lease("first"), lease("second")
        await first.acquire()
        waiting = asyncio.create_task(second.acquire())
        await asyncio.sleep(DURATION / 2)
        assert not waiting.done()
        await first.release()
        await asyncio.wait_for(waiting, DURATION)
        assert (first.epoch, second.epoch) == (1, 2)

    run(api_server, story)


def test_one_that_stopped_renewing_is_followed_after_its_time_and_not_before(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], _: Client) -> None:
        first, second = lease("first"), lease("second")
        await first.acquire()
        began = time.monotonic()
        await asyncio.wait_for(second.acquire(), 5 * DURATION)
        assert time.monotonic() - began >= DURATION
        assert not first.held

    run(api_server, story)


def test_one_that_is_renewed_is_not_taken(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], _: Client) -> None:
        first, second = lease("first"), lease("second")
        await first.acquire()
        keeping = asyncio.create_task(first.keep())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(second.acquire(), 2 * DURATION)
        assert first.held
        keeping.cancel()

    run(api_server, story)


def test_the_same_pod_started_again_does_not_wait(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], _: Client) -> None:
        await lease("pod").acquire()
        again = lease("pod")
        await asyncio.wait_for(again.acquire(), DURATION / 2)
        assert again.epoch == 2

    run(api_server, story)


def test_who_lost_it_is_told_and_does_not_get_it_back(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], client: Client) -> None:
        first, thief = lease("first"), lease("first")
        await first.acquire()
        await thief.acquire()  # under the same name, as a pod that was started twice
        with pytest.raises(LostError, match="taken by somebody else"):
            await asyncio.wait_for(first.keep(), 5 * DURATION)

    run(api_server, story)


def test_who_can_not_renew_it_ends_before_another_may_begin(api_server: ApiServer) -> None:
    async def story(lease: Callable[[str], Lease], client: Client) -> None:
        first = lease("first")
        await first.acquire()
        began = time.monotonic()
        with mock.patch.object(client, "replace", side_effect=UnreachableError("away")):  # noqa: SIM117
            with pytest.raises(LostError, match="could not be renewed"):
                await first.keep()
        assert time.monotonic() - began < DURATION

    run(api_server, story)


def test_the_verbs_do_what_everything_rests_on(api_server: ApiServer) -> None:
    run(api_server, lambda _, client: cluster_verbs.hold(client))
