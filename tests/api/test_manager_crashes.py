"""A manager that dies after any request, or whose requests go wrong, leaves the same as one that does not.

`proxy` numbers the requests that change something. The long sweep dies once before and once after each of them, for
each thing that a manager does with a job; the short one dies after every one in turn, in one life of a job.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import chaos
import fake_driver
import managed
import observations
from api_proxy import USER, Answer, Proxy, Stopwatch
from fake_driver import FakeDriver
from managed import Manager, Namespace, until
from spillway.manager.manifests import resources
from spillway.model.observation import Recommended, Slot

if TYPE_CHECKING:
    from api_client import ApiClient
    from api_server import ApiServer

pytestmark = pytest.mark.timeout(600, func_only=True)

# Requests of one manager with one job at rest: three of its lease in a minute, here ten times as often, and a look at
# everything, here every two seconds, with eleven requests. A loop that runs hot makes thousands.
AT_REST = 700
_LONG = pytest.mark.skipif(not chaos.LONG, reason="takes many minutes: `make chaos` does it")


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> ApiClient:
    return managed.installed(api_server)


@pytest.fixture(scope="module")
def driver() -> Iterator[FakeDriver]:
    with fake_driver.answering(observations.word_count()) as found:
        yield found


class Stage:
    """A namespace, the proxy, and one manager after the other."""

    def __init__(self, place: Namespace, proxy: Proxy, kubeconfig: Path, driver: FakeDriver, log: Path) -> None:
        self.place, self.proxy, self.driver, self.log = place, proxy, driver, log
        self._kubeconfig = kubeconfig
        self.manager: Manager | None = None
        self.lives = 0

    def start(self) -> Manager:
        self.lives += 1
        address = f"http://{self.driver.address}"
        self.manager = Manager(self._kubeconfig, self.place.name, self.log, "--driver-address", address)
        return self.manager

    def die(self) -> None:
        if self.manager is not None:
            self.manager.process.kill()

    def revive(self) -> None:
        """Whoever has died is started again."""
        if self.manager is None or self.manager.process.poll() is not None:
            self.start()

    def until(self, what: str, look: Callable[[], object], within: float = 240.0) -> None:
        def alive() -> object:
            self.revive()
            return look()

        until(what, alive, within)

    def clear(self) -> None:
        self.proxy.reset()
        if self.place.job() is not None:
            self.place.delete_job()
            path = f"/api/v1/namespaces/{self.place.name}/pods?gracePeriodSeconds=0"
            self.place.client.ask("DELETE", path)
            self.until("the job is gone", lambda: self.place.job() is None)


@pytest.fixture
def stage(client: ApiClient, driver: FakeDriver, tmp_path: Path) -> Iterator[Stage]:
    proxy = Proxy(client)
    with managed.namespace(client) as place, proxy.serving(tmp_path) as kubeconfig:
        # From here on also: with the rights of the list, and no others.
        place.allow(USER)
        found = Stage(place, proxy, kubeconfig, driver, tmp_path / "log")
        yield found
        if found.manager is not None and found.manager.process.poll() is None:
            found.manager.kill()
        print((tmp_path / "log").read_text()[-6000:])  # noqa: T201 - shown where a test fails


def whole(place: Namespace) -> dict[str, Any]:
    """All that is there of a job, without what differs from one life of a job to the next."""
    job = place.job()
    uid = job["metadata"]["uid"] if job is not None else "?"
    found: dict[str, Any] = {}
    for (kind, name), child in place.children().items():
        metadata = child["metadata"]
        kept = {key: metadata[key] for key in ("labels", "ownerReferences")}
        own = {key: value for key, value in child.items() if key not in ("metadata", "status")}
        if kind == "Secret":
            own["data"] = sorted(own["data"])
        if kind == "Service":
            own["spec"].pop("clusterIPs", None)
        text = json.dumps([kept, own], sort_keys=True).replace(uid, "UID").replace(place.name, "NAMESPACE")
        found[f"{kind} {name}"] = json.loads(text)
    if job is not None:
        found["conditions"] = {
            one["type"]: (one["status"], one["reason"]) for one in job.get("status", {}).get("conditions", [])
        }
    return found


def _created(stage: Stage) -> None:
    stage.place.create_job(cooldown="0s", scaleDownDelay="0s")
    stage.until("all is there", lambda: _at_rest(stage.place))


def _at_rest(place: Namespace) -> bool:
    there = place.children().keys() == managed.WHOLE
    return there and place.condition("Ready") in {("False", "KafkaUnreachable"), ("True", "Running")}


def _tell(stage: Stage, workers: int, granted: int | None, held: int) -> None:
    slots = tuple(Slot(f"w{number}.0", 1, False, False, 0.1, 0.1, 1, 4) for number in range(held))
    seen = observations.word_count(granted=granted)
    recommended = Recommended(workers, workers, "Steady", "the load needs them")
    stage.driver.seen = msgspec.structs.replace(
        seen, job=f"{stage.place.name}/j", generation=1, recommended=recommended, slots=slots
    )


def _scaled(stage: Stage) -> None:
    """Up to four and, as the last two are emptied, down to two."""
    place = stage.place
    stage.driver.granted = lambda seen, _: seen
    _tell(stage, 4, None, 1)
    place.run_pod("j-driver")
    stage.until("it grows", lambda: place.replicas() == 4 and stage.driver.seen.granted == 4)
    place.set_status("j-worker", 4, 4)
    _tell(stage, 2, 4, 4)
    stage.until("the grant falls", lambda: stage.driver.seen.granted == 2)
    assert place.replicas() == 4, "workers that hold something were ended"
    _tell(stage, 2, 2, 2)
    stage.until("it shrinks", lambda: place.replicas() == 2)
    stage.until("it is told", lambda: (place.job() or {})["status"]["workers"]["wanted"] == 2)
    stage.until("it is at rest", lambda: _at_rest(place))


def _changed(stage: Stage) -> None:
    place = stage.place
    place.change({"policy": {"headroom": 0.3}, "execution": {"workers": {"slots": 2}}})

    def done() -> bool:
        document = json.loads((place.child("ConfigMap", "j-spec") or {})["data"]["job.json"])
        status = (place.job() or {}).get("status", {})
        template = json.dumps((place.child("StatefulSet", "j-worker") or {})["spec"]["template"])
        return (
            document["metadata"]["generation"] == status.get("observedGeneration") == 2
            and f"{resources.WORKER_CPU + 2 * resources.SLOT_CPU}m" in template
        )

    stage.until("it is used", done)
    stage.until("it is at rest", lambda: _at_rest(place))


def _deleted(stage: Stage) -> None:
    stage.place.delete_job()
    stage.until("the job is gone", lambda: stage.place.job() is None)
    assert stage.place.children() == {}


# What a manager does with a job, and what comes before it.
SCENES: dict[str, tuple[tuple[Callable[[Stage], None], ...], Callable[[Stage], None]]] = {
    "create": ((), _created),
    "scale": ((_created,), _scaled),
    "change": ((_created,), _changed),
    "delete": ((_created,), _deleted),
}


def _played(stage: Stage, scene: str, fault: Callable[[Stage], None] = lambda _: None) -> tuple[dict[str, Any], int]:
    """What is there at the end, and how many requests changed something in the scene itself."""
    before, itself = SCENES[scene]
    stage.proxy.reset()
    stage.revive()
    for act in before:
        act(stage)
    stage.proxy.reset()
    fault(stage)
    itself(stage)
    changes = stage.proxy.changes
    stage.proxy.reset()
    stage.revive()
    return whole(stage.place), changes


def _dies_at(number: int, *, after: bool) -> Callable[[Stage], None]:
    def fault(stage: Stage) -> None:
        def die(at: int, _: str) -> bool:
            if at == number:
                stage.die()
            return at == number

        if after:
            stage.proxy.after = die
        else:
            stage.proxy.before = lambda at, what: Answer(503, "dead") if die(at, what) else None

    return fault


@pytest.mark.long
def test_a_manager_that_dies_after_every_request_ends_where_one_does_that_lives(stage: Stage) -> None:
    right, changes = _played(stage, "create")
    assert changes >= len(managed.WHOLE), "the proxy counts nothing"
    stage.clear()
    lives = stage.lives

    def dies_every_time(stage: Stage) -> None:
        counted = {"life": stage.lives, "number": 0}

        def after(_: int, __: str) -> bool:
            if counted["life"] != stage.lives:
                counted.update(life=stage.lives, number=0)
            counted["number"] += 1
            # At the fourth of each life: so it takes several, and each begins in the middle of things.
            dies = counted["number"] == 4 and stage.lives - lives < 4
            if dies:
                stage.die()
            return dies

        stage.proxy.after = after

    found, _ = _played(stage, "create", dies_every_time)

    assert stage.lives - lives >= 4, "nobody died"
    assert found == right
    # What the comparison is there to catch: one thing less, and one that is otherwise.
    stage.die()
    stage.place.client.ask("DELETE", f"{managed.CHILDREN['Role'].format(stage.place.name)}/j-driver")
    assert whole(stage.place) != right


@pytest.mark.parametrize("scene", ["scale", pytest.param("delete", marks=[pytest.mark.chaos, _LONG])])
def test_a_manager_that_dies_in_the_middle_is_followed_by_one_that_goes_on(stage: Stage, scene: str) -> None:
    right, changes = _played(stage, scene)
    stage.clear()
    lives = stage.lives

    found, _ = _played(stage, scene, _dies_at(max(1, changes // 2), after=True))

    assert stage.lives > lives, "nobody died"
    assert found == right


def test_refusals_and_lost_replies_lead_to_the_same(stage: Stage) -> None:
    right, _ = _played(stage, "create")
    stage.clear()
    refusals = {
        2: Answer(409, "the object has been modified"),
        4: Answer(429, "too many requests", {"Retry-After": "1"}),
        6: Answer(500, "internal error"),
        9: Answer(503, "etcd is away"),
    }

    def fault(stage: Stage) -> None:
        stage.proxy.before = lambda number, _: refusals.get(number)
        stage.proxy.after = lambda number, _: number in (7, 12)

    found, _ = _played(stage, "create", fault)

    assert found == right


def test_watches_that_are_cut_miss_nothing_and_end_nobody(stage: Stage) -> None:
    _played(stage, "create")
    for headroom, generation in ((0.25, 2), (0.35, 3)):
        stage.proxy.cut()
        stage.place.change({"policy": {"headroom": headroom}})
        _seen(stage, generation)
    assert stage.lives == 1


@pytest.mark.long
def test_a_watch_that_is_too_old_ends_one_life_and_misses_nothing(stage: Stage) -> None:
    _played(stage, "create")
    # One watch of the three: kopf ends where a watch itself is answered with 410, and the process with it. Were two
    # answered so, the other one could be the first watch of the next life, and end that as well.
    stage.proxy.gone = 1
    stage.proxy.cut()
    stage.place.change({"policy": {"headroom": 0.25}})
    until("the answer was given", lambda: stage.proxy.gone == 0)
    assert stage.manager is not None
    until("the process ends", lambda: stage.manager is not None and stage.manager.process.poll() is not None)
    stage.place.change({"policy": {"headroom": 0.35}})  # while nobody looks
    _seen(stage, 3)
    assert stage.lives == 2


def _seen(stage: Stage, generation: int) -> None:
    stage.until("it is seen", lambda: (stage.place.job() or {})["status"]["observedGeneration"] == generation)


@pytest.mark.long
def test_a_manager_at_rest_asks_little(stage: Stage) -> None:
    _played(stage, "create")
    time.sleep(2)
    watch = Stopwatch(stage.proxy)
    changes = stage.proxy.changes
    time.sleep(8)

    assert stage.proxy.changes == changes
    assert watch.per_minute <= AT_REST


@_LONG
@pytest.mark.chaos
def test_an_api_server_that_refuses_everything_is_not_run_against(stage: Stage) -> None:
    stage.revive()
    stage.proxy.before = lambda *_: Answer(500, "no")
    stage.place.create_job()
    time.sleep(2)
    watch = Stopwatch(stage.proxy)
    time.sleep(8)

    assert stage.proxy.changes > 0, "it was never asked"
    assert watch.per_minute <= AT_REST
    stage.proxy.reset()
    stage.until("all is there", lambda: _at_rest(stage.place))


# Lives of a manager in a minute without an API server: it waits for the lease, and that costs nothing; kubelets wait
# longer and longer between two starts.
AWAY, LIVES = 60.0, 4


@_LONG
@pytest.mark.chaos
def test_an_api_server_that_is_away_for_a_minute_costs_that_minute_and_no_more(stage: Stage) -> None:
    right, _ = _played(stage, "create")
    lives, began = stage.lives, time.monotonic()
    stage.proxy.away = True
    stage.proxy.cut()
    while time.monotonic() - began < AWAY:
        stage.revive()
        time.sleep(0.2)
    stage.proxy.away = False
    back = time.monotonic()

    assert stage.lives - lives <= LIVES
    stage.place.change({"policy": {"headroom": 0.25}})
    _seen(stage, 2)
    stage.until("it is at rest", lambda: _at_rest(stage.place))
    print(f"used {time.monotonic() - back:.1f} s after it was back, in {stage.lives - lives} more lives")  # noqa: T201
    found = whole(stage.place)
    assert found.keys() == right.keys()
    assert found["conditions"] == right["conditions"]


@_LONG
@pytest.mark.chaos
@pytest.mark.timeout(7200, func_only=True)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("scene", list(SCENES))
def test_a_manager_that_dies_at_any_request_ends_where_one_does_that_lives(
    stage: Stage, scene: str, after: bool
) -> None:
    right, changes = _played(stage, scene)
    stage.clear()
    for number in range(1, changes + 1):
        lives = stage.lives
        found, _ = _played(stage, scene, _dies_at(number, after=after))
        assert found == right, f"other than right after request {number} of {changes}"
        if number < changes:  # what comes last need not come again
            assert stage.lives > lives, f"nobody died at request {number} of {changes}"
        stage.clear()
    print(f"{scene}: died {'after' if after else 'before'} each of {changes} requests")  # noqa: T201
