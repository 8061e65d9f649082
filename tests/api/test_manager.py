"""The manager against a real API server: what it makes, keeps, says, and takes away again.

There are no controllers and no nodes, so a test does what those would: it makes the pods, and tells how they are. The
driver is one that answers what the test wants.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

import chaos
import fake_driver
import managed
import observations
from fake_driver import FakeDriver
from managed import Namespace, until
from spillway.controllers.reconciling import ending
from spillway.model.observation import Observation, Recommended, Slot

if TYPE_CHECKING:
    from api_client import ApiClient
    from api_server import ApiServer

# A manager takes some seconds to start on a busy machine, and to end.
pytestmark = pytest.mark.timeout(240, func_only=True)


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> ApiClient:
    return managed.installed(api_server)


@pytest.fixture(scope="module")
def driver() -> Iterator[FakeDriver]:
    with fake_driver.answering(observations.word_count()) as found:
        yield found


@pytest.fixture(scope="module")
def place(client: ApiClient) -> Iterator[Namespace]:
    with managed.namespace(client) as found:
        yield found


@pytest.fixture(scope="module")
def manager(
    api_server: ApiServer, place: Namespace, driver: FakeDriver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[managed.Manager]:
    log = tmp_path_factory.mktemp("manager") / "log"
    arguments = ("--driver-address", f"http://{driver.address}")
    with managed.running(api_server.kubeconfig, place.name, log, *arguments) as found:
        until("the manager is ready", lambda: found.ask("/readyz")[0] == 200, 60)
        yield found
        print(log.read_text()[-4000:])  # noqa: T201 - shown where a test fails


@pytest.fixture
def job(place: Namespace, manager: managed.Manager) -> Iterator[dict[str, Any]]:
    """A job whose children are all there; it is gone after the test, and so are they."""
    stored = place.create_job()
    until("all children are there", lambda: place.children().keys() == managed.WHOLE)
    until("there is a status", lambda: place.condition("Accepted")[0])
    yield stored
    place.client.ask("DELETE", f"/api/v1/namespaces/{place.name}/pods?gracePeriodSeconds=0")
    place.delete_job()
    until("the job is gone", lambda: place.job() is None)
    assert place.children() == {}


def told(place: Namespace, workers: int = 1, granted: int | None = None, **changes: Any) -> Observation:
    """What a driver of job j tells."""
    seen = observations.word_count(granted=granted)
    recommended = Recommended(workers, workers, "Steady", "the load needs them")
    changes = {"recommended": recommended, **changes}
    return msgspec.structs.replace(seen, job=f"{place.name}/j", generation=1, **changes)


def test_all_children_are_owned_by_the_job_and_marked_as_its_own(place: Namespace, job: dict[str, Any]) -> None:
    for child in place.children().values():
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)
        labels = child["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "spillway"
        assert labels["app.kubernetes.io/instance"] == labels["spillway.dev/job"] == "j"


def test_pods_of_every_template_are_taken_under_the_restricted_profile(place: Namespace, job: dict[str, Any]) -> None:
    children = place.children()
    specs = [children["StatefulSet", f"j-{part}"]["spec"]["template"] for part in ("driver", "worker")]
    specs.append(yaml.safe_load(children["ConfigMap", "j-spec"]["data"]["executor.yaml"]))
    for number, template in enumerate(specs):
        spec = copy.deepcopy(template["spec"])
        assert _dry_run(place, f"p{number}", spec) == (201, "")

        # What the checker is there to catch.
        spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
        status, message = _dry_run(place, f"p{number}", spec)
        assert status == 403
        assert "restricted" in message


def _dry_run(place: Namespace, name: str, spec: dict[str, Any]) -> tuple[int, str]:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    path = f"/api/v1/namespaces/{place.name}/pods?dryRun=All&fieldValidation=Strict"
    status, answer = place.client.ask("POST", path, pod)
    return status, answer.get("message", "")


def test_the_driver_reads_the_manifest_with_its_generation(place: Namespace, job: dict[str, Any]) -> None:
    found = place.child("ConfigMap", "j-spec")
    assert found is not None
    document = json.loads(found["data"]["job.json"])
    assert document["spec"] == job["spec"]
    assert document["metadata"] == {
        "name": "j",
        "namespace": place.name,
        "uid": job["metadata"]["uid"],
        "generation": 1,
    }


def test_what_somebody_deletes_or_changes_is_put_right(place: Namespace, job: dict[str, Any]) -> None:
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{place.name}/roles/j-driver"
    place.client.ask("DELETE", role)
    wide = {"spec": {"replicas": 7}}
    path = f"{managed.SETS.format(place.name)}/j-worker"
    place.client.ask("PATCH", path, wide, kind=managed.MERGE)
    data = {"data": {"job.json": "{}"}}
    place.client.ask("PATCH", f"/api/v1/namespaces/{place.name}/configmaps/j-spec", data, kind=managed.MERGE)

    until("the role is there again", lambda: place.child("Role", "j-driver"))
    until("the spec is right again", lambda: (place.child("ConfigMap", "j-spec") or {})["data"]["job.json"] != "{}")
    # How many there are is a person's to say only within the manifest: nothing was heard of the driver, so they stay.
    assert place.replicas() == 7
    until("there is a role in each place", lambda: place.children().keys() == managed.WHOLE)


def test_a_spec_that_is_refused_leaves_the_last_one_running(place: Namespace, job: dict[str, Any]) -> None:
    operators = copy.deepcopy(job["spec"]["operators"])
    operators[0]["filter"] = "no_such_column > 10"
    place.change({"operators": operators})

    until("it is refused", lambda: place.condition("Accepted") == ("False", "InvalidExpression"))
    message = place.conditions()["Accepted"]["message"]
    assert "no_such_column" in message
    assert "generation 1 goes on" in message
    stored = json.loads((place.child("ConfigMap", "j-spec") or {})["data"]["job.json"])
    assert stored["metadata"]["generation"] == 1

    place.change({"operators": job["spec"]["operators"]})
    until("it is accepted again", lambda: place.condition("Accepted") == ("True", "Valid"))
    until(
        "and used",
        lambda: (
            json.loads((place.child("ConfigMap", "j-spec") or {})["data"]["job.json"])["metadata"]["generation"] == 3
        ),
    )


def test_an_object_of_somebody_else_is_left_alone_and_named(place: Namespace, manager: managed.Manager) -> None:
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "j-token"}, "stringData": {"theirs": "1"}}
    path = f"/api/v1/namespaces/{place.name}/secrets"
    place.client.ask("POST", path, theirs)
    place.create_job()

    until("it is told", lambda: place.condition("Degraded") == ("True", "NameTaken"))
    assert "Secret j-token" in place.conditions()["Degraded"]["message"]
    found = place.child("Secret", "j-token")
    assert found is not None
    assert found["data"].keys() == {"theirs"}
    assert "ownerReferences" not in found["metadata"]

    place.client.ask("DELETE", f"{path}/j-token")
    place.change({"policy": {"headroom": 0.3}})
    until("it is made once the name is free", lambda: place.children().keys() == managed.WHOLE, 40)
    place.delete_job()
    until("the job is gone", lambda: place.job() is None)


def test_workers_grow_at_once_and_shrink_only_when_they_are_empty(
    place: Namespace, job: dict[str, Any], driver: FakeDriver
) -> None:
    place.change({"policy": {"cooldown": "0s", "scaleDownDelay": "0s"}})
    driver.seen = told(place, workers=4)
    place.run_pod("j-driver")
    until("four workers are asked for", lambda: place.replicas() == 4)
    until("four are granted", lambda: driver.seen.granted == 4)
    until("it is ready", lambda: place.condition("Ready") == ("True", "Running"))
    assert until("it says so", lambda: (place.job() or {})["status"]["workers"]["wanted"] == 4)
    place.set_status("j-worker", 4, 4)

    held = tuple(Slot(f"w{number}.0", 1, False, False, 0.1, 0.1, 1, 4) for number in range(4))
    driver.seen = told(place, workers=2, granted=4, slots=held)
    until("the grant falls first", lambda: driver.grants[-1] == 2)
    driver.seen = told(place, workers=2, granted=2, slots=held[:3])
    until("those that hold nothing go", lambda: place.replicas() == 3)
    assert place.condition("Scaling") == ("True", "Moving")
    driver.seen = told(place, workers=2, granted=2, slots=held[:2])
    until("the rest follows", lambda: place.replicas() == 2)


@pytest.fixture
def at_work(place: Namespace, manager: managed.Manager, driver: FakeDriver) -> Iterator[None]:
    """A job whose worker holds something."""
    held = (Slot("w0.0", 1, False, False, 0.1, 0.1, 1, 4),)
    place.create_job()
    until("all children are there", lambda: place.children().keys() == managed.WHOLE)
    driver.seen = told(place, workers=1, granted=1, slots=held)
    place.run_pod("j-driver")
    place.run_pod("j-worker")
    until("it is ready", lambda: place.condition("Ready") == ("True", "Running"))
    driver.grants.clear()
    yield
    place.client.ask("DELETE", f"/api/v1/namespaces/{place.name}/pods?gracePeriodSeconds=0")
    until("the job is gone", lambda: place.job() is None, 40)


@pytest.mark.usefixtures("at_work")
def test_a_job_that_is_deleted_comes_to_rest_before_its_pods_are_ended(place: Namespace, driver: FakeDriver) -> None:
    place.delete_job()
    until("no worker is granted", lambda: driver.grants[-1:] == [0])
    time.sleep(1.5)  # some looks
    assert place.children().keys() == managed.WHOLE

    driver.seen = told(place, workers=1, granted=0, slots=())
    until("it is gone", lambda: place.job() is None, 5)
    assert place.children() == {}


@pytest.mark.usefixtures("at_work")
@pytest.mark.parametrize(
    "hangs",
    [
        pytest.param(True, id="hangs", marks=[pytest.mark.chaos, pytest.mark.skipif(not chaos.LONG, reason="20 s")]),
        pytest.param(False, id="is silent"),
    ],
)
def test_a_driver_can_not_keep_a_job_from_ending(place: Namespace, driver: FakeDriver, *, hangs: bool) -> None:
    if not hangs:
        driver.seen = msgspec.structs.replace(driver.seen, job="another/job")  # nothing that could be believed
    began = time.monotonic()
    place.delete_job()
    until("it is gone", lambda: place.job() is None, 30)
    took = time.monotonic() - began
    # A second each way: the time of a deletion is told in whole ones.
    bound = ending.REST if hangs else ending.SILENT
    assert abs(took - bound.total_seconds()) < 3


@pytest.mark.long
def test_a_driver_that_falls_silent_changes_no_size(place: Namespace, job: dict[str, Any], driver: FakeDriver) -> None:
    place.change({"policy": {"cooldown": "0s", "scaleDownDelay": "0s"}})
    driver.seen = told(place, workers=3)
    place.run_pod("j-driver")
    until("three workers are asked for", lambda: place.replicas() == 3)
    worker = place.run_pod("j-worker")
    until("it is ready", lambda: place.condition("Ready") == ("True", "Running"))

    driver.seen = msgspec.structs.replace(told(place, workers=1), job="another/job")  # nothing that could be believed

    until("it is told", lambda: place.condition("Degraded")[0] == "True", 40)
    assert place.condition("Ready") == ("Unknown", "DriverUnavailable")
    assert place.replicas() == 3
    assert worker


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]},
            "ImageUnavailable",
        ),
        (
            {
                "containerStatuses": [
                    {
                        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "no such file"}},
                        "restartCount": 4,
                    }
                ]
            },
            "Crashing",
        ),
        (
            {
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
                ]
            },
            "Unschedulable",
        ),
        (
            {
                "containerStatuses": [
                    {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}}}
                ]
            },
            "CredentialsMissing",
        ),
    ],
)
def test_what_is_wrong_with_a_pod_is_a_condition(
    place: Namespace, job: dict[str, Any], status: dict[str, Any], reason: str
) -> None:
    pod = place.run_pod("j-driver")
    for one in status.get("containerStatuses", []):
        one |= {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": one.get("restartCount", 0)}
    place.pod_status(pod, phase="Pending", **{"conditions": [{"type": "Ready", "status": "False"}], **status})

    until("it is told", lambda: place.condition("Ready") == ("False", reason))
    assert pod in place.conditions()["Ready"]["message"]


def test_a_quota_that_refuses_pods_is_a_condition(place: Namespace, job: dict[str, Any]) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "j-worker.refused"},
        "involvedObject": {"kind": "StatefulSet", "name": "j-worker", "namespace": place.name},
        "reason": "FailedCreate",
        "type": "Warning",
        "message": 'create Pod j-worker-0 failed error: pods "j-worker-0" is forbidden: exceeded quota: small',
        "lastTimestamp": job["metadata"]["creationTimestamp"],
    }
    place.client.ask("POST", f"/api/v1/namespaces/{place.name}/events", event)
    place.set_status("j-worker", 0, 0)

    until("it is told", lambda: place.condition("Ready") == ("False", "QuotaExceeded"))
    assert "raise the quota" in place.conditions()["Ready"]["message"]


def test_pods_are_told_of_a_new_spec_and_not_ended(place: Namespace, job: dict[str, Any]) -> None:
    pod = place.run_pod("j-worker")
    path = f"/api/v1/namespaces/{place.name}/pods/{pod}"

    def mark() -> str:
        found = place.client.ask("GET", path)[1]
        return str(found["metadata"].get("annotations", {}).get("spillway.dev/spec-hash", ""))

    before = until("it is marked", mark)
    template = (place.child("StatefulSet", "j-worker") or {})["spec"]["template"]
    place.change({"policy": {"headroom": 0.35}})

    until("it is marked anew", lambda: mark() not in ("", before))
    assert (place.child("StatefulSet", "j-worker") or {})["spec"]["template"] == template


def test_the_page_lists_jobs_and_passes_reads_on_to_their_drivers(
    place: Namespace, job: dict[str, Any], manager: managed.Manager, driver: FakeDriver
) -> None:
    status, text = manager.ask("/")
    assert status == 200
    assert f'href="jobs/{place.name}/j/"' in text
    driver.seen = told(place)
    status, text = manager.ask(f"/jobs/{place.name}/j/v1/observation")
    assert (status, json.loads(text)["job"]) == (200, f"{place.name}/j")
    assert manager.ask(f"/jobs/{place.name}/nobody/v1/observation")[0] == 404
    assert manager.ask("/metrics")[1].count("spillway_manager_passes_total") > 1
    assert f'spillway_job_condition{{job="j",namespace="{place.name}"' in manager.ask("/metrics")[1]


def test_events_tell_what_happened(place: Namespace, job: dict[str, Any]) -> None:
    def reasons() -> set[str]:
        path = f"/api/v1/namespaces/{place.name}/events?fieldSelector=involvedObject.uid={job['metadata']['uid']}"
        return {event["reason"] for event in place.client.ask("GET", path)[1]["items"]}

    until("it is told", lambda: "Valid" in reasons())


def test_the_token_stays_and_is_in_the_secret_alone(
    place: Namespace, job: dict[str, Any], manager: managed.Manager
) -> None:
    import base64

    found = place.child("Secret", "j-token")
    assert found is not None
    token = base64.b64decode(found["data"]["token"]).decode()
    assert len(token) >= 32
    place.change({"policy": {"headroom": 0.4}})
    until("it was looked at", lambda: (place.job() or {})["status"]["observedGeneration"] == 2)
    assert (place.child("Secret", "j-token") or {})["data"] == found["data"]
    everything = json.dumps([child for key, child in place.children().items() if key[0] != "Secret"])
    assert token not in everything
    assert token not in json.dumps(place.job())
    assert token not in Path(manager.log).read_text()
    assert token not in manager.ask("/")[1] + manager.ask("/metrics")[1]


def test_a_job_at_rest_causes_no_writes(place: Namespace, job: dict[str, Any], manager: managed.Manager) -> None:
    def versions() -> dict[Any, str]:
        found = {key: child["metadata"]["resourceVersion"] for key, child in place.children().items()}
        return {**found, "job": (place.job() or {"metadata": {"resourceVersion": ""}})["metadata"]["resourceVersion"]}

    time.sleep(1.5)  # the first status is followed by what was learnt of Kafka
    before = versions()
    time.sleep(5)  # two looks at everything
    assert versions() == before
