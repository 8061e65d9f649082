"""Spark with pods for executors, against a real API server: what it creates is admitted, and it needs no more rights.

There is no node, so a stand-in for the kubelet starts each pod's command as a process (`kubelet`). Everything else is
real: Spark's scheduler, the rights of a service account, admission by the profile `restricted`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import far_spark
import programs
import sparked
from api_client import ApiClient
from kubelet import Kubelet
from site_contract import Contract
from sparked import Sparked
from spillway.model.streamjob import StreamJob
from spillway.runtime.batch import machine, pods
from spillway.runtime.batch.cluster import Pod
from spillway.runtime.batch.jvm import NoSparkError
from spillway.runtime.batch.pods import Pods
from spillway.runtime.batch.template import Template

if TYPE_CHECKING:
    from api_server import ApiServer

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(300, func_only=True)]

SECURE = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
LABELS = {
    "app.kubernetes.io/name": "spillway",
    "app.kubernetes.io/managed-by": "spillway",
    "app.kubernetes.io/component": "executor",
    "app.kubernetes.io/instance": "word-count",
    "spillway.dev/job": "word-count",
}
# As the manager writes it.
TEMPLATE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": LABELS},
    "spec": {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "main",
                "image": "spillway-runtime:0.1.0",
                "imagePullPolicy": "IfNotPresent",
                "command": ["/opt/spillway/bin/executor"],
                "resources": {"requests": {"cpu": "250m"}},
                "securityContext": SECURE,
                "volumeMounts": [
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of a pod
                    {"name": "code", "mountPath": "/etc/spillway/code", "readOnly": True},
                ],
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "code", "configMap": {"name": "functions"}}],
    },
}
VERBS = ["create", "get", "list", "watch", "delete", "deletecollection"]


class Cluster:
    """A namespace with the pod of a driver, and its rights."""

    def __init__(self, server: ApiServer, name: str, folder: Path, verbs: list[str]) -> None:
        self.client, self.name, self._folder = ApiClient(server.kubeconfig), name, folder
        enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
        self._made("/api/v1/namespaces", {"metadata": {"name": name, "labels": enforced}})
        base, rights = f"/api/v1/namespaces/{name}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}"
        self._made(f"{base}/serviceaccounts", {"metadata": {"name": "driver"}})
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
        self._made(f"{rights}/roles", {"metadata": {"name": "driver"}, "rules": rules})
        subjects = [{"kind": "ServiceAccount", "name": "driver", "namespace": name}]
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "driver"}
        self._made(f"{rights}/rolebindings", {"metadata": {"name": "d"}, "roleRef": role, "subjects": subjects})
        token = self._made(f"{base}/serviceaccounts/driver/token", {"spec": {"expirationSeconds": 3600}})
        account = folder / "account"
        account.mkdir()
        (account / "token").write_text(token["status"]["token"])
        (account / "ca.crt").write_text((server.directory / "certificates" / "apiserver.crt").read_text())
        self.pod("word-count-driver-0", {"app.kubernetes.io/component": "driver"})
        self.driver = Pod("word-count-driver-0", name, "127.0.0.1", server.url, account)

    def _made(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        status, answer = self.client.ask("POST", path, document)
        assert status == 201, answer
        return answer

    def pod(self, name: str, labels: dict[str, str]) -> None:
        """One that does nothing."""
        document = {"metadata": {"name": name, "labels": labels}, "spec": TEMPLATE["spec"]}
        self._made(f"/api/v1/namespaces/{self.name}/pods", document)

    def names(self) -> set[str]:
        """Of all pods."""
        _, found = self.client.ask("GET", f"/api/v1/namespaces/{self.name}/pods")
        return {pod["metadata"]["name"] for pod in found["items"]}

    def site(self, template: dict[str, Any] = TEMPLATE, patience: float = 120.0) -> Pods:
        """Where a Spark with one executor is to run its tasks."""
        file = self._folder / "executor.yaml"
        file.write_text(yaml.safe_dump(template))
        return Pods(self.driver, Template.read(file), job(), 1, patience)


def job() -> StreamJob:
    document = yaml.safe_load((programs.EXAMPLES / "word-count.yaml").read_text())
    document["spec"]["execution"] = {"executors": {"cores": 2, "memory": "512Mi"}}
    return StreamJob.model_validate(document, strict=False)


@pytest.fixture(scope="module")
def cluster(api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    found = Cluster(api_server, "spark-on-pods", tmp_path_factory.mktemp("cluster"), VERBS)
    found.pod("left-over", LABELS)  # of a process that is gone
    found.pod("of-another-job", LABELS | {"spillway.dev/job": "another"})
    return found


@pytest.fixture(scope="module")
def kubelet(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubelet]:
    with Kubelet(cluster.client, cluster.name, tmp_path_factory.mktemp("pods")) as found:
        yield found


@pytest.fixture(scope="module")
def spark(cluster: Cluster, kubelet: Kubelet) -> Iterator[Sparked]:
    with sparked.running(site=cluster.site()) as found:
        yield found
    until(lambda: len(cluster.names()) == 2, "executors are gone with their Spark")


def until(done: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class TestPods(Contract):
    """What holds for a Spark wherever it is."""


def test_executors_are_pods_that_are_admitted_by_the_profile_restricted(spark: Sparked, kubelet: Kubelet) -> None:
    ((name, pod),) = ((name, pod) for name, pod in kubelet.pods().items() if name.startswith("word-count-"))
    assert LABELS.items() <= pod["metadata"]["labels"].items()
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Pod", "word-count-driver-0")
    (container,) = pod["spec"]["containers"]
    assert (container["name"], container["image"]) == ("main", "spillway-runtime:0.1.0")
    memory = f"{512 + pods.BESIDE + 2 * pods.WORKER}Mi"
    assert container["resources"] == {
        "requests": {"cpu": "250m", "memory": memory},
        "limits": {"memory": memory},
    }
    assert container["securityContext"] == SECURE
    assert {"/tmp", "/etc/spillway/code"} <= {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert len(name) <= 63


def test_executors_do_not_tell_of_each_task(spark: Sparked, kubelet: Kubelet) -> None:
    assert spark.ask(far_spark.places)
    logs = [kubelet.log(name) for name in kubelet.processes]
    assert logs
    assert not any("PythonRunner: Starting" in log for log in logs)


def test_what_an_earlier_process_has_left_is_swept_and_nothing_else(spark: Sparked, cluster: Cluster) -> None:
    assert "left-over" not in cluster.names()
    assert {"of-another-job", "word-count-driver-0"} <= cluster.names()


def test_tasks_run_in_python_workers_of_executors_within_their_memory(spark: Sparked, kubelet: Kubelet) -> None:
    assert (spark.ask(far_spark.executors), spark.ask(far_spark.tasks)) == (1, 2)
    found = spark.ask(far_spark.places)
    assert len({one.process for one in found}) == 2
    assert len({one.daemon for one in found}) == 1
    assert {one.memory for one in found} == {pods.WORKER * machine.MIB}


def test_executors_come_and_go_as_they_are_asked_for(spark: Sparked, kubelet: Kubelet) -> None:
    spark.ask(far_spark.three)
    until(lambda: spark.ask(far_spark.executors) == 3, "three executors", 120)
    # Each works; who has just come may miss the first job.
    until(lambda: len({one.daemon for one in spark.ask(far_spark.places)}) == 3, "tasks run on all of them")
    spark.ask(far_spark.one)
    until(lambda: spark.ask(far_spark.executors) == 1 and len(kubelet.processes) == 1, "one executor")
    time.sleep(2.0)
    assert spark.ask(far_spark.executors) == 1  # and nobody comes back
    assert spark.ask(far_spark.places)


def test_one_that_dies_is_replaced(spark: Sparked, kubelet: Kubelet, cluster: Cluster) -> None:
    before = {name for name in cluster.names() if name.startswith("word-count-") and "driver" not in name}
    for name in before:
        cluster.client.ask("DELETE", f"/api/v1/namespaces/{cluster.name}/pods/{name}?gracePeriodSeconds=0")
    until(lambda: bool(before) and not before & set(kubelet.processes), "it is gone")
    until(lambda: spark.ask(far_spark.executors) == 1 and not before & cluster.names(), "another one is there", 120)
    assert spark.ask(far_spark.places)


def test_spark_needs_no_other_rights(spark: Sparked) -> None:
    assert "forbidden" not in spark.ask(far_spark.said).lower()


def test_without_the_right_to_take_pods_away_it_says_so(api_server: ApiServer, tmp_path: Path) -> None:
    poor = Cluster(api_server, "spark-without-rights", tmp_path, VERBS[:-1])
    with pytest.raises(NoSparkError, match=r"the API server refuses DELETE .*cannot deletecollection resource"):
        poor.site().begin()


def test_executors_that_are_not_admitted_do_not_start_and_it_says_why(api_server: ApiServer, tmp_path: Path) -> None:
    strict = Cluster(api_server, "spark-not-admitted", tmp_path, VERBS)
    template = yaml.safe_load(yaml.safe_dump(TEMPLATE))
    template["spec"]["securityContext"] = {}
    with pytest.raises(NoSparkError, match=r"no executor has started within 10 s: .*violates PodSecurity"):
        sparked.Sparked(site=strict.site(template, patience=10.0))
