"""What a job has and may: its own namespace, nothing after its end, and no more rights than the strictest profile."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

import loads
from cluster import kind, release
from cluster.shell import ClusterError
from jobs import Job, word_count
from loads import Results
from spaces import RESTRICTED, Space, until

pytestmark = pytest.mark.timeout(300)
# Seconds. Workers have one minute for what is in flight; those that hold nothing end at once, once the driver has had
# its word (20 s at the most), and a pod takes a few to go. On a busy machine both take longer.
GONE, RESTED = 90.0, 40.0


def test_a_deleted_job_leaves_nothing_but_the_topics_and_soon(
    space: Space, record_property: Callable[[str, object], None]
) -> None:
    before = space.everything()
    job = Job(space, word_count(space))
    job.until_ready()
    assert len(space.everything() - before) > 10
    began = time.monotonic()
    space.kubectl("delete", "streamjob", job.name, f"--timeout={GONE:.0f}s", seconds=GONE + 30)
    until("nothing is left", lambda: space.everything() <= before, GONE, lambda: sorted(space.everything() - before))
    took = time.monotonic() - began
    record_property("seconds until a deleted job is gone", took)
    assert took <= RESTED, f"an idle job was gone after {took:.0f} s: its workers have waited for somebody"


def test_two_jobs_of_one_name_in_two_namespaces_do_not_meet(make_space: Callable[[], Space]) -> None:
    jobs = [Job(space, word_count(space)) for space in (make_space(), make_space())]
    for job, line in zip(jobs, ("red red", "green"), strict=True):
        job.until_ready()
        loads.send(job.source, line)
    found = []
    for job in jobs:
        results = Results(job.output)
        results.until_any(30)
        found.append({key: row["n"] for key, row in results.rest().items()})
        results.close()
    assert found == [{b"red": 2}, {b"green": 1}]
    one, other = jobs
    account = f"--as=system:serviceaccount:{one.space.name}:{one.name}-driver"
    assert _may(one.space, account, "list")
    assert not _may(other.space, account, "list")
    before = other.lives()
    one.space.kubectl("delete", "streamjob", one.name, f"--timeout={GONE:.0f}s", seconds=GONE + 30)
    assert other.lives() == before


def test_a_namespace_that_is_restricted_takes_all_pods_of_a_job_and_refuses_one_that_is_not(space: Space) -> None:
    with pytest.raises(ClusterError, match="violates PodSecurity"):
        space.apply(_pod("unrestricted", "spillway-runtime:any"))
    job = Job(space, word_count(space))
    job.until_ready()
    refused = [event["message"] for event in space.events() if "violates PodSecurity" in event.get("message", "")]
    assert refused == []
    for pod in job.pods():
        of_pod, of_container = pod["spec"]["securityContext"], pod["spec"]["containers"][0]["securityContext"]
        assert of_pod["runAsNonRoot"]
        assert of_container["readOnlyRootFilesystem"]
        assert of_container["capabilities"] == {"drop": ["ALL"]}


def test_the_operator_itself_runs_where_only_restricted_pods_may() -> None:
    namespace = json.loads(kind.kubectl("get", "namespace", release.NAMESPACE, "--output=json"))
    assert RESTRICTED.items() <= namespace["metadata"]["labels"].items()
    assert release.installed()


def test_workers_have_no_key_to_the_cluster_and_drivers_only_one_for_pods(space: Space) -> None:
    job = Job(space, word_count(space))
    job.until_ready()
    for pod in job.pods("worker"):
        assert pod["spec"]["automountServiceAccountToken"] is False
    account = f"--as=system:serviceaccount:{space.name}:{job.name}-driver"
    assert _may(space, account, "delete", "pods")
    for what in ("secrets", "configmaps", "streamjobs", "statefulsets"):
        assert not _may(space, account, "get", what), what


def _may(space: Space, account: str, verb: str, what: str = "pods") -> bool:
    try:
        return space.kubectl("auth", "can-i", verb, what, account).strip() == "yes"
    except ClusterError:  # "no" is an exit code too
        return False


def _pod(name: str, image: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": image, "securityContext": {"privileged": True}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
