"""Names are looked for one by one, and where many are, by a list: what is there is never taken for free."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fake_cluster import FakeCluster
from spillway.manager import kinds, vacancies
from spillway.manager.errors import UnreachableError
from spillway.manager.vacancies import Vacancies

THEIRS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "ns"}}
SERVICE = kinds.OF_NAME["Service"]


class Scene:
    """A cluster with an object of somebody else, whose lists are counted, and a clock."""

    def __init__(self) -> None:
        self.cluster, self.now, self.lists = FakeCluster(), 100.0, 0
        asyncio.run(self.cluster.create(kinds.CONFIG_MAP, THEIRS))
        listed = self.cluster.all

        def counted(*given: Any, **more: Any) -> Any:
            self.lists += 1
            return listed(*given, **more)

        self.cluster.all = counted  # type: ignore[method-assign]
        self.found = Vacancies(self.cluster, lambda: self.now)

    async def ask(self, *names: str, kind: kinds.Kind = kinds.CONFIG_MAP) -> list[bool]:
        return await asyncio.gather(*(self.found.free(kind, "ns", name) for name in names))


def test_for_a_few_names_nothing_is_listed_and_nothing_is_known() -> None:
    scene = Scene()
    few = [f"job-{number}" for number in range(vacancies.MANY - 1)]
    assert asyncio.run(scene.ask(*few, "theirs"))[: len(few)] == [False] * len(few)
    assert scene.lists <= 1


def test_for_many_names_one_list_says_which_are_free() -> None:
    scene = Scene()
    many = [f"job-{number}" for number in range(200)]
    found = asyncio.run(scene.ask(*many, "theirs", "job-200"))
    assert scene.lists == 1
    assert found[vacancies.MANY : len(many)] == [True] * (len(many) - vacancies.MANY)
    assert found[-2:] == [False, True]


def test_a_list_is_believed_for_a_moment_only() -> None:
    scene = Scene()
    asyncio.run(scene.ask(*(f"job-{number}" for number in range(50))))
    asyncio.run(scene.cluster.create(kinds.CONFIG_MAP, {**THEIRS, "metadata": {"name": "new", "namespace": "ns"}}))
    scene.now += vacancies.FRESH
    assert asyncio.run(scene.ask("new")) == [False]
    assert asyncio.run(scene.ask(*(f"job-{number}" for number in range(50)), "new"))[-1] is False


def test_secrets_are_never_listed() -> None:
    scene = Scene()
    assert not any(asyncio.run(scene.ask(*(f"job-{number}" for number in range(100)), kind=kinds.SECRET)))
    assert scene.lists == 0


def test_a_list_that_fails_is_the_failure_of_who_waits_and_of_nobody_later() -> None:
    scene = Scene()

    def fails(*_: Any, **__: Any) -> Any:
        raise UnreachableError("away")  # noqa: EM101

    listed, scene.cluster.all = scene.cluster.all, fails  # type: ignore[method-assign]
    many = [f"job-{number}" for number in range(50)]
    with pytest.raises(UnreachableError):
        asyncio.run(scene.ask(*many, kind=SERVICE))
    scene.cluster.all = listed  # type: ignore[method-assign]
    assert asyncio.run(scene.ask(*many, kind=SERVICE))[-1] is True
