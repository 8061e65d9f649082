"""Who reaches the pods of a job, where the cluster's network enforces policies; where it does not, that is said."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import Job, word_count
from spaces import Space, until

pytestmark = pytest.mark.timeout(300)

# Exit code 0: it answers; 3: it does not.
ASK = """
import sys, urllib.request
try:
    urllib.request.urlopen(sys.argv[1], timeout=5)
except OSError as error:
    print(error)
    sys.exit(3)
"""
SECURE = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 10001,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
STARTS = 60.0


@pytest.fixture
def job(space: Space) -> Job:
    """One that works, on a network that enforces policies."""
    found = Job(space, word_count(space))
    found.until_ready()
    if not _enforced(found):
        pytest.skip("the network of this cluster enforces no NetworkPolicy: a pod that lets nobody in was reached")
    return found


def test_the_pods_of_a_job_let_in_its_own_and_the_operator_and_nobody_else(job: Job) -> None:
    address = _address(job.pods("driver")[0])
    own = {"spillway.dev/job": job.name}
    operator = {"app.kubernetes.io/name": "spillway", "app.kubernetes.io/component": "manager"}
    assert _reaches(job, "own", own, f"http://{address}:8080/healthz")
    assert _reaches(job, "operator", operator, f"http://{address}:8080/healthz")
    assert not _reaches(job, "stranger", {}, f"http://{address}:8080/healthz")
    assert not _reaches(job, "spark", operator, f"http://{address}:7078/"), "the operator has no business there"


def _enforced(job: Job) -> bool:
    """Whether a pod that lets nobody in is reached by nobody: what everything else here rests on."""
    _run(job, "closed", {"e2e": "closed"}, ["python", "-m", "http.server", "8080", "--directory", "/"])
    space = job.space
    until("it runs", lambda: _pod(job, "closed")["status"].get("phase") == "Running", STARTS)
    target = f"http://{_address(_pod(job, 'closed'))}:8080/"
    until("it is reached while nothing forbids it", lambda: _reaches(job, "before", {}, target), STARTS)
    spec = {"podSelector": {"matchLabels": {"e2e": "closed"}}, "policyTypes": ["Ingress"]}
    space.apply(
        {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "closed"}, "spec": spec}
    )
    # Whoever enforces it hears of it first.
    return any(not _reaches(job, f"after-{number}", {}, target) for number in range(3))


def _reaches(job: Job, name: str, labels: dict[str, str], target: str) -> bool:
    _run(job, name, labels, ["python", "-c", ASK, target])
    phase = until(
        f"pod {name} has ended",
        lambda: (found := _pod(job, name)["status"].get("phase")) in ("Succeeded", "Failed") and found,
        STARTS,
    )
    job.space.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
    return bool(phase == "Succeeded")


def _run(job: Job, name: str, labels: dict[str, str], command: list[str]) -> None:
    image = job.pods("driver")[0]["spec"]["containers"][0]["image"]
    container = {"name": "main", "image": image, "command": command, "securityContext": SECURE}
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container]}
    job.space.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec})


def _pod(job: Job, name: str) -> dict[str, Any]:
    found = job.space.get("pods", name)
    assert found is not None
    return found


def _address(pod: dict[str, Any]) -> str:
    return str(pod["status"]["podIP"])
