"""Every right that the manager is given is used, and it asks for nothing else: by the audit log of the API server."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec
import pytest

import audits
import fake_driver
import managed
import observations
from api_proxy import Proxy
from audits import Asked, Audit
from fake_driver import FakeDriver
from managed import Namespace, until
from spillway.manager import kinds, permissions
from spillway.model.observation import Recommended, Slot

if TYPE_CHECKING:
    from api_client import ApiClient
    from api_server import ApiServer

pytestmark = pytest.mark.timeout(240, func_only=True)

LISTED = (*permissions.PERMISSIONS, *permissions.OWN_PERMISSIONS)
# Where the cluster does not know the kind, it is looked for once, and nothing more.
NOT_HERE = kinds.POD_MONITOR.plural
HERE = tuple(one for one in LISTED if one.resource != NOT_HERE)


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> ApiClient:
    return managed.installed(api_server)


@pytest.fixture(scope="module")
def audit(api_server: ApiServer, client: ApiClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    """Of a manager that has seen a job from its beginning to its end."""
    folder = tmp_path_factory.mktemp("rights")
    user = f"manager-{uuid.uuid4().hex[:8]}"
    proxy = Proxy(client)
    proxy.user = user
    with (
        fake_driver.answering(observations.word_count()) as driver,
        managed.namespace(client) as place,
        proxy.serving(folder) as kubeconfig,
    ):
        place.allow(user)
        address = ("--driver-address", f"http://{driver.address}")
        with managed.running(kubeconfig, place.name, folder / "log", *address) as manager:
            _live(place, driver, lambda: audits.read(api_server.audit(), user))
            assert manager.end() == 0, (folder / "log").read_text()[-3000:]
        yield audits.read(api_server.audit(), user)


def _live(place: Namespace, driver: FakeDriver, audit: Callable[[], Audit]) -> None:
    """All that a manager does with a job."""
    place.create_job(cooldown="0s", scaleDownDelay="0s")
    until("all is there", lambda: place.children().keys() == managed.WHOLE)
    _tell(place, driver, workers=4, granted=None)
    place.run_pod("j-driver")
    place.run_pod("j-worker")
    until("it grows", lambda: place.replicas() == 4 and driver.seen.granted == 4)
    place.set_status("j-worker", 1, 1)  # of four: its events tell why, or nothing does
    until("its events are looked at", lambda: Asked("", "events", "list") in audit().allowed)
    place.set_status("j-worker", 4, 4)
    _tell(place, driver, workers=2, granted=2)
    until("it shrinks", lambda: place.replicas() == 2)
    place.change({"policy": {"headroom": 0.3}})
    until("it is used", lambda: (place.job() or {})["status"]["observedGeneration"] == 2)
    place.client.ask("DELETE", f"{managed.CHILDREN['Role'].format(place.name)}/j-driver")
    until("it is put right", lambda: place.child("Role", "j-driver"))
    driver.granted = lambda seen, workers: msgspec.structs.replace(seen, slots=() if workers == 0 else seen.slots)
    place.delete_job()
    until("the job is gone", lambda: place.job() is None)
    assert place.children() == {}
    assert driver.grants[-1] == 0, "it was not brought to rest first"


def _tell(place: Namespace, driver: FakeDriver, workers: int, granted: int | None) -> None:
    held = tuple(Slot(f"w{number}.0", 1, False, False, 0.1, 0.1, 1, 4) for number in range(2))
    recommended = Recommended(workers, workers, "Steady", "the load needs them")
    seen = observations.word_count(granted=granted)
    driver.seen = msgspec.structs.replace(
        seen, job=f"{place.name}/j", generation=1, recommended=recommended, slots=held
    )


def test_it_asks_for_nothing_that_it_was_not_given(audit: Audit) -> None:
    looked = {one for one in audit.refused if one.resource == NOT_HERE}
    assert audits.beyond(LISTED, dataclasses.replace(audit, refused=audit.refused - looked)) == frozenset()
    assert audit.refused - looked == frozenset()


def test_every_right_that_it_was_given_is_used(audit: Audit) -> None:
    assert audits.unused(HERE, audit) == frozenset()


def test_a_right_too_many_and_one_too_few_would_be_noticed(audit: Audit) -> None:
    wide = dataclasses.replace(audit, allowed=audit.allowed - {Asked("", "secrets", "get")})
    assert audits.unused(HERE, wide) == {Asked("", "secrets", "get")}
    asked = Asked("", "nodes", "list")
    assert audits.beyond(LISTED, dataclasses.replace(audit, refused=audit.refused | {asked})) == {asked}
