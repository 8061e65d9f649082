"""When kopf ends, the manager does too, even where a watch of kopf's forgets that it was told to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import kopf
import pytest

from spillway.manager import handlers
from spillway.manager.errors import ClusterError
from spillway.manager.world import World

WITHIN = 5.0

Cleaning = Callable[[], Awaitable[None]]


async def _watched() -> None:
    await asyncio.wait_for(handlers.watch(World(), ["a"], asyncio.Event(), asyncio.Event()), WITHIN)


@pytest.fixture
def clean_up(monkeypatch: pytest.MonkeyPatch) -> Cleaning:
    """What kopf does when it begins to end."""
    told: list[Cleaning] = []

    def keep(handler: Cleaning) -> Cleaning:
        told.append(handler)
        return handler

    monkeypatch.setattr(kopf.on, "cleanup", lambda **_: keep)
    return lambda: told[0]()


def test_a_watch_that_does_not_come_to_an_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, clean_up: Cleaning
) -> None:
    async def ends_never(**_: Any) -> None:
        await clean_up()
        await asyncio.Event().wait()

    monkeypatch.setattr(kopf, "operator", ends_never)
    monkeypatch.setattr(handlers, "PATIENCE", 0.05)
    with pytest.raises(ClusterError, match="did not come to an end"):
        asyncio.run(_watched())


def test_what_ended_the_watches_is_said(monkeypatch: pytest.MonkeyPatch, clean_up: Cleaning) -> None:
    async def fails(**_: Any) -> None:
        await clean_up()
        await asyncio.sleep(0.05)
        message = "410"
        raise RuntimeError(message)

    monkeypatch.setattr(kopf, "operator", fails)
    with pytest.raises(RuntimeError, match="410"):
        asyncio.run(_watched())


def test_watches_that_go_on_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def goes_on(*, stop_flag: asyncio.Event, **_: Any) -> None:
        await stop_flag.wait()

    async def scene() -> bool:
        stop = asyncio.Event()
        watching = asyncio.create_task(handlers.watch(World(), ["a"], stop, asyncio.Event()))
        done, _ = await asyncio.wait({watching}, timeout=0.2)
        stop.set()
        await asyncio.wait_for(watching, WITHIN)
        return not done

    monkeypatch.setattr(kopf, "operator", goes_on)
    monkeypatch.setattr(handlers, "PATIENCE", 0.05)
    assert asyncio.run(scene())
