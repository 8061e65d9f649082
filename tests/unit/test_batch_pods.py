"""Executors that are pods, as far as that is text: settings, the template, and what the cluster says of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

import programs
from spillway.model.errors import TerminalError
from spillway.model.streamjob import StreamJob
from spillway.runtime.batch import cluster, pods
from spillway.runtime.batch.cluster import ClusterError, Pod
from spillway.runtime.batch.jvm import NoSparkError
from spillway.runtime.batch.pods import Pods
from spillway.runtime.batch.template import Template
from spillway.runtime.driver import main

HERE = {
    "POD_NAME": "j-driver-0",
    "POD_NAMESPACE": "ns",
    "POD_IP": "10.1.2.3",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
}
MAIN = {"name": "main", "image": "runtime:1"}


def written(folder: Path, *containers: dict[str, Any]) -> Path:
    file = folder / "executor.yaml"
    file.write_text(yaml.safe_dump({"spec": {"containers": list(containers)}}))
    return file


def job(name: str = "word-count", **executors: object) -> StreamJob:
    document = yaml.safe_load((programs.EXAMPLES / "word-count.yaml").read_text())
    document["metadata"]["name"] = name
    document["spec"]["execution"] = {"executors": executors}
    return StreamJob.model_validate(document, strict=False)


class Swept(Pod):
    """One whose API server sweeps whatever it is asked to."""

    def sweep(self, labels: object) -> int:
        return 0


def settings(folder: Path, asked: StreamJob, *containers: dict[str, Any]) -> dict[str, str]:
    pod = Swept(**{field.name: getattr(Pod.here(HERE), field.name) for field in dataclasses.fields(Pod)})
    return dict(Pods(pod, Template.read(written(folder, *containers or (MAIN,))), asked, 3).begin())


def test_the_size_of_executors_is_what_the_job_says(tmp_path: Path) -> None:
    found = settings(tmp_path, job(cores=2, memory="1Gi"))
    assert found["spark.executor.instances"] == "3"
    assert found["spark.executor.cores"] == "2"
    assert found["spark.executor.memory"] == "1024m"
    assert found["spark.executor.memoryOverhead"] == f"{pods.BESIDE + 2 * pods.WORKER}m"


def test_spark_reaches_the_api_server_and_executors_reach_the_pod(tmp_path: Path) -> None:
    found = settings(tmp_path, job())
    assert found["spark.master"] == "k8s://https://10.96.0.1:443"
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "10.1.2.3"
    assert (found["spark.driver.port"], found["spark.driver.blockManager.port"]) == ("7078", "7079")
    assert found["spark.kubernetes.driver.pod.name"] == "j-driver-0"
    assert Pod.here(HERE | {"KUBERNETES_SERVICE_HOST": "fd00::1"}).api == "https://[fd00::1]:443"


def test_each_start_has_names_of_its_own_which_fit_for_the_longest_name_of_a_job(tmp_path: Path) -> None:
    one, two = (settings(tmp_path, job("j" * 40)) for _ in range(2))
    prefix = "spark.kubernetes.executor.podNamePrefix"
    assert one[prefix] != two[prefix]
    assert one["spark.app.id"] != two["spark.app.id"]
    assert len(f"{one[prefix]}-exec-1000") <= 63
    assert len(one["spark.app.id"]) <= 63  # it becomes a label


def test_what_the_template_says_is_not_to_be_said_again(tmp_path: Path) -> None:
    given = {
        **MAIN,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "250m"}, "limits": {"cpu": 2}},
    }
    found = settings(tmp_path, job(), {"name": "log", "image": "other"}, given)
    assert found["spark.kubernetes.container.image"] == "runtime:1"
    assert found["spark.kubernetes.container.image.pullPolicy"] == "IfNotPresent"
    assert found["spark.kubernetes.executor.podTemplateContainerName"] == "main"
    assert found["spark.kubernetes.executor.request.cores"] == "250m"
    assert found["spark.kubernetes.executor.limit.cores"] == "2"
    plain = settings(tmp_path, job())
    assert "spark.kubernetes.executor.request.cores" not in plain  # then Spark takes the cores of the job
    assert "spark.kubernetes.container.image.pullPolicy" not in plain


def test_executors_can_be_told_from_all_other_pods(tmp_path: Path) -> None:
    found = settings(tmp_path, job())
    assert found["spark.kubernetes.executor.label.spillway.dev/job"] == "word-count"
    assert found["spark.kubernetes.executor.label.app.kubernetes.io/component"] == "executor"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spec: [", "can't be read"),
        ("[]", "needs a container main or executor with an image"),
        ("spec: {containers: [{name: other, image: x}]}", "needs a container main or executor with an image"),
        ("spec: {containers: [{name: main}]}", "needs a container main or executor with an image"),
        ("spec: {containers: main}", "needs a container main or executor with an image"),
    ],
)
def test_a_template_that_makes_no_executor_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "executor.yaml").write_text(text)
    with pytest.raises(NoSparkError, match=why):
        Template.read(tmp_path / "executor.yaml")


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSparkError, match=r"none\.yaml, can't be read"):
        Template.read(tmp_path / "none.yaml")


def test_outside_of_a_pod_it_says_what_is_missing() -> None:
    with pytest.raises(NoSparkError, match=r"lacks POD_IP, KUBERNETES_SERVICE_HOST\. In a pod"):
        Pod.here({name: value for name, value in HERE.items() if name not in ("POD_IP", "KUBERNETES_SERVICE_HOST")})


def test_an_api_server_that_is_away_is_told(tmp_path: Path) -> None:
    pod = dataclasses.replace(Pod.here(HERE), account=tmp_path, api="https://127.0.0.1:1")
    with pytest.raises(ClusterError, match=r"DELETE https://127.0.0.1:1/api/v1/namespaces/ns/pods.* came to nothing"):
        pod.sweep({"a": "b"})


def told(**status: object) -> dict[str, Any]:
    return {"metadata": {"name": "j-1-exec-1"}, "status": status}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (told(), ""),
        (told(containerStatuses=[{"state": {"waiting": {"reason": "ContainerCreating"}}}]), ""),
        (
            told(containerStatuses=[{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]),
            "pod j-1-exec-1: ErrImagePull no such image",
        ),
        (
            told(containerStatuses=[{"state": {"terminated": {"reason": "OOMKilled"}}}]),
            "pod j-1-exec-1: OOMKilled",
        ),
        (
            told(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1"}]),
            "pod j-1-exec-1: Unschedulable 0/1",
        ),
        (told(conditions=[{"type": "PodScheduled", "status": "True"}]), ""),
    ],
)
def test_why_an_executor_does_not_run_is_said_by_its_pod(pod: dict[str, Any], why: str) -> None:
    assert cluster.waiting([told(), pod]) == why


def test_what_was_refused_last_is_found_in_what_spark_prints() -> None:
    lines = [
        "ERROR ExecutorPodsAllocator: Failed to create executor pod 1.",
        "io.fabric8.KubernetesClientException: Failure executing: POST at: x. Message: exceeded quota",
        "Caused by: something else. Message: of no matter",
    ]
    assert cluster.refused("\n".join(lines)) == "exceeded quota"
    assert cluster.refused("all is well") == ""


def test_pods_and_their_template_go_together() -> None:
    for master, template in (("k8s", None), ("local[2]", Path("executor.yaml")), (None, Path("executor.yaml"))):
        with pytest.raises(TerminalError, match="go together"):
            main.batching(master, template)
    assert main.batching(None, None) is None
    local, far = main.batching("local[2]", None), main.batching("k8s", Path("executor.yaml"))
    assert local is not None
    assert far is not None
    assert (local.executors, far.executors) == (False, True)
