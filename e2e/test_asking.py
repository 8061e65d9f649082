"""Jobs on a cluster are asked by their names, from where there is a kubeconfig and nothing else."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import loads
from cluster import kind, programs
from jobs import Job, word_count
from kubernetes_programs import KUBECTL
from loads import Results
from spaces import Space

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def job(shared_space: Space) -> Job:
    """One that works, and has had something to do."""
    found = Job(shared_space, word_count(shared_space))
    found.until_ready()
    results = Results(found.output)
    loads.send(found.source, "to be or not to be")
    results.until_any(30)
    results.close()
    return found


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    folder = Path(sys.executable).parent
    environment = {**os.environ, "KUBECONFIG": kind.kubeconfig(), "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)


def spillway(*arguments: str) -> str:
    done = _run(Path(sys.executable).parent / "spillway", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_explained_and_its_decisions_are_told(job: Job) -> None:
    told = spillway("explain", job.name, "--namespace", job.space.name)
    assert f"{job.space.name}/{job.name}" in told
    assert "record by record" in told
    assert "provisioning" in spillway("decisions", f"{job.space.name}/{job.name}")


def test_a_switch_is_answered_by_the_driver_which_asks_for_the_token(job: Job) -> None:
    done = _run(
        Path(sys.executable).parent / "spillway", "switch", job.name, "-n", job.space.name, "--operators", "words",
        "--to", "batch", "--dry-run",
    )  # fmt: skip
    # This job has no Spark: the answer is the driver's, and no refusal for want of a token.
    assert done.returncode == 1
    assert "refused" in done.stderr
    assert "401" not in done.stderr


def test_it_is_among_all_jobs_also_for_kubectl(job: Job) -> None:
    listed = json.loads(spillway("top", "-o", "json"))
    (row,) = [one for one in listed if one["job"] == f"{job.space.name}/{job.name}"]
    assert (row["ready"], row["workers"], row["paradigm"]) == (True, "1/1", "record")
    assert row["rate"] is not None
    done = _run(programs.path(KUBECTL), "spillway", "top", "--namespace", job.space.name)
    assert done.returncode == 0, done.stderr
    assert job.name in done.stdout


def test_a_bundle_has_logs_and_metrics_and_not_the_token(job: Job, tmp_path: Path) -> None:
    file = tmp_path / "bundle.tar.gz"
    spillway("bundle", job.name, "-n", job.space.name, "-o", str(file))
    with tarfile.open(file) as tar:
        found = {
            one.name.partition("/")[2]: tar.extractfile(one).read().decode()  # type: ignore[union-attr]
            for one in tar.getmembers()
        }
    assert found[f"logs/{job.name}-driver-0.log"]
    assert "spillway_" in found[f"metrics/{job.name}-worker-0.txt"]
    assert f"{job.space.name}/{job.name}" in "".join(
        text for name, text in found.items() if name.startswith("operator/")
    )
    secret = job.space.get("secrets", f"{job.name}-token")
    assert secret is not None
    encoded = secret["data"]["token"]
    for name, text in found.items():
        assert encoded not in text, name
        assert base64.b64decode(encoded).decode() not in text, name
