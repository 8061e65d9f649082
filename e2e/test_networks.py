"""Who reaches the pods of a job, and that it works where nothing is allowed by default."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from cluster import kind, release
from cluster.images import TOP
from jobs import MODEST, Job, word_count
from loads import Feeder, Results, assert_right, judge
from spaces import Space, came, until
from spillway.model.observation import StandbyState

pytestmark = pytest.mark.timeout(300)

# Exit code 0: it answers; 3: it does not, again and again: a network hears of a new pod a moment after it runs.
ASK = """
import sys, time, urllib.request
for number in range(10):
    try:
        urllib.request.urlopen(sys.argv[1], timeout=2)
        sys.exit(0)
    except OSError as error:
        print(error, flush=True)
        time.sleep(0.5)
sys.exit(3)
"""
# Ends as soon as it does not get out to the API server, by its address.
SHUT_IN = """
import os, socket, time
target = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
try:
    while True:
        socket.create_connection(target, timeout=2).close()
        time.sleep(0.2)
except OSError as error:
    print(error)
"""
SECURE = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
STARTS = 60.0
FORBIDDEN = 12.0  # seconds; without the policy a job is ready after 3 to 5
WARM = 180.0  # seconds until Spark and its executor are there


@pytest.fixture
def job(space: Space) -> Job:
    """One that works, on a network that enforces policies."""
    found = Job(space, word_count(space))
    found.until_ready()
    assert _enforced(found), "a pod that lets nobody in was reached: what is tested here would say nothing"
    return found


def test_the_pods_of_a_job_let_in_its_own_and_the_operator_and_nobody_else(job: Job) -> None:
    address = _address(job.pods("driver")[0])
    own = {"spillway.dev/job": job.name}
    operator = {"app.kubernetes.io/name": "spillway", "app.kubernetes.io/component": "manager"}
    assert _reaches(job, "own", own, f"http://{address}:8080/healthz")
    assert _reaches(job, "operator", operator, f"http://{address}:8080/healthz")
    assert not _reaches(job, "stranger", {}, f"http://{address}:8080/healthz")
    assert not _reaches(job, "spark", operator, f"http://{address}:7078/"), "the operator has no business there"


def test_a_job_and_its_executors_work_where_nothing_is_allowed_but_what_the_page_says(space: Space) -> None:
    forbids = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    page = (TOP / "docs" / "how-to" / "install.md").read_text("utf-8")
    (allows,) = re.findall(r"```yaml\n(apiVersion: networking.*?)```", page, flags=re.DOTALL)
    space.apply(_policy("nothing", forbids))
    _run(space, "shut-in", {}, ["python", "-c", SHUT_IN])
    until("the policy is enforced", lambda: _pod(space, "shut-in")["status"].get("phase") == "Succeeded", STARTS)
    executors = {"min": 1, "max": 1, "memory": "512Mi", "podTemplate": MODEST}
    job = Job(space, word_count(space, executors=executors))
    assert not came(lambda: job.condition("Ready").get("status") == "True", FORBIDDEN), "it reaches Kafka all the same"

    space.apply(yaml.safe_load(allows))

    job.until_ready()
    until("an executor has registered with its driver", lambda: _is_warm(job), WARM, job.told)
    with Feeder(job) as feeder, Results(job.output) as results:
        feeder.pour(20.0)
        results.until_any(30)
        sent = feeder.stop()
    assert_right(judge(job, sent), sent)


def _is_warm(job: Job) -> bool:
    found = job.observation()
    return found is not None and found.standby.state is StandbyState.WARM


def _policy(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec}


def _enforced(job: Job) -> bool:
    """Whether a pod that lets nobody in is reached by nobody: what everything else here rests on."""
    space = job.space
    _run(space, "closed", {"e2e": "closed"}, ["python", "-m", "http.server", "8080", "--directory", "/"])
    until("it runs", lambda: _pod(space, "closed")["status"].get("phase") == "Running", STARTS)
    target = f"http://{_address(_pod(space, 'closed'))}:8080/"
    until("it is reached while nothing forbids it", lambda: _reaches(job, "before", {}, target), STARTS)
    spec = {"podSelector": {"matchLabels": {"e2e": "closed"}}, "policyTypes": ["Ingress"]}
    space.apply(_policy("closed", spec))
    # Whoever enforces it hears of it first.
    return any(not _reaches(job, f"after-{number}", {}, target) for number in range(3))


def _reaches(job: Job, name: str, labels: dict[str, str], target: str) -> bool:
    _run(job.space, name, labels, ["python", "-c", ASK, target])
    phase = until(
        f"pod {name} has ended",
        lambda: (found := _pod(job.space, name)["status"].get("phase")) in ("Succeeded", "Failed") and found,
        STARTS,
    )
    job.space.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
    return bool(phase == "Succeeded")


def _run(space: Space, name: str, labels: dict[str, str], command: list[str]) -> None:
    where = f"--namespace={release.NAMESPACE}"
    operator = json.loads(kind.kubectl("get", "deployment", release.NAME, where, "--output=json"))
    image = operator["spec"]["template"]["spec"]["containers"][0]["image"]  # it is there, and has Python
    container = {"name": "main", "image": image, "command": command, "securityContext": SECURE}
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]}
    space.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})


def _pod(space: Space, name: str) -> dict[str, Any]:
    found = space.get("pods", name)
    assert found is not None
    return found


def _address(pod: dict[str, Any]) -> str:
    return str(pod["status"]["podIP"])
