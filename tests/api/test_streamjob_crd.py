"""A real API server takes the StreamJobs that are right, and refuses the wrong ones with a message that helps."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import bad_manifests
from api_client import ApiClient
from bad_manifests import CASES, By
from spillway.cli import crds
from spillway.controllers import acceptance
from spillway.model import streamjob

if TYPE_CHECKING:
    from api_server import ApiServer

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
JOBS = "/apis/spillway.dev/v1alpha1/namespaces/default/streamjobs"
CREATED, OK, UNPROCESSABLE, BAD_REQUEST = 201, 200, 422, 400


@pytest.fixture(scope="module")
def client(api_server: ApiServer) -> Iterator[ApiClient]:
    """The API server with our CRDs, taken away again afterwards."""
    text = "---\n".join(crds.documents().values())
    applied = api_server.kubectl("apply", "--server-side", "-f", "-", input=text)
    assert applied.returncode == 0, applied.stderr
    waited = api_server.kubectl("wait", "--for=create", "crd/streamjobs.spillway.dev", "--timeout=30s")
    assert waited.returncode == 0, waited.stderr
    _wait_until_established(api_server)
    yield ApiClient(api_server.kubeconfig)
    api_server.kubectl("delete", "crd", "streamjobs.spillway.dev", "--timeout=30s")


def _wait_until_established(api_server: ApiServer) -> None:
    """kubectl gives up on a CRD that has no conditions yet, which is so for some moments after it was created."""
    deadline = time.monotonic() + 30
    while True:
        waited = api_server.kubectl(
            "wait", "--for=condition=Established", "crd/streamjobs.spillway.dev", "--timeout=30s"
        )
        if waited.returncode == 0:
            return
        assert "conditions accessor" in waited.stderr, waited.stderr
        assert time.monotonic() < deadline, waited.stderr
        time.sleep(0.1)


def test_the_good_manifest_of_the_table_is_taken(client: ApiClient) -> None:
    assert client.create(bad_manifests.GOOD, dry_run=True) == (CREATED, "")


@pytest.mark.parametrize("sentence", CASES)
def test_a_bad_manifest_is_refused_with_the_expected_message_by_whom_the_table_says(
    client: ApiClient, sentence: str
) -> None:
    case = CASES[sentence]

    status, message = client.create(case.manifest, dry_run=True)

    if case.by is By.ACCEPTED:
        assert (status, message) == (CREATED, "")
        assert not acceptance.accept(case.manifest).accepted
    else:
        assert status in (UNPROCESSABLE, BAD_REQUEST), "the API server took it"
        assert case.server in message


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_taken_by_kubectl_and_accepted(client: ApiClient, api_server: ApiServer, path: Path) -> None:
    created = api_server.kubectl("create", "--dry-run=server", "-o", "json", "-f", str(path))

    assert created.returncode == 0, created.stderr
    verdict = acceptance.accept(json.loads(created.stdout))
    assert verdict.message == "the spec is valid"


def test_what_the_api_server_fills_in_is_what_the_model_fills_in(client: ApiClient) -> None:
    _, written = client.ask("POST", f"{JOBS}?dryRun=All", bad_manifests.GOOD)

    by_server = acceptance.accept(written).job
    by_model = acceptance.accept(bad_manifests.GOOD).job

    assert by_server is not None
    assert by_model is not None
    assert by_server.spec == by_model.spec
    defaults = written["spec"]["execution"]
    assert defaults["workers"] == {"min": 1, "max": 8, "slots": 1}


def test_bootstrap_servers_can_not_change(client: ApiClient) -> None:
    job = {**copy.deepcopy(bad_manifests.GOOD), "metadata": {"name": "fixed", "namespace": "default"}}
    assert client.create(job)[0] == CREATED
    try:
        patch = {"spec": {"kafka": {"bootstrapServers": ["elsewhere:9092"]}}}
        status, answer = client.ask("PATCH", f"{JOBS}/fixed", patch, kind="application/merge-patch+json")

        assert status == UNPROCESSABLE
        assert "bootstrapServers can't change" in answer["message"]
    finally:
        client.ask("DELETE", f"{JOBS}/fixed")


def _condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }


def _status(*conditions: dict[str, Any]) -> dict[str, Any]:
    size = {"wanted": 4, "present": 3, "summary": "3/4"}
    return {
        "status": {
            "observedGeneration": 1,
            "conditions": list(conditions),
            "paradigm": "mixed",
            "workers": size,
            "executors": {"wanted": 1, "present": 1, "summary": "1/1"},
        }
    }


def test_kubectl_get_shows_the_story_in_columns(client: ApiClient, api_server: ApiServer) -> None:
    job = {**copy.deepcopy(bad_manifests.GOOD), "metadata": {"name": "shown", "namespace": "default"}}
    assert client.create(job)[0] == CREATED
    try:
        conditions = (_condition("Ready", "True", "Running"), _condition("LatencyMet", "False", "Missed"))
        kind = "application/merge-patch+json"
        status, answer = client.ask("PATCH", f"{JOBS}/shown/status", _status(*conditions), kind=kind)
        assert status == OK, answer

        shown = api_server.kubectl("get", "sj", "shown", "-o", "wide").stdout.splitlines()

        assert shown[0].split() == ["NAME", "READY", "LATENCY", "WORKERS", "EXECUTORS", "PARADIGM", "AGE", "REASON"]
        name, ready, latency, workers, executors, paradigm, _, reason = shown[1].split()
        assert (name, ready, latency, workers) == ("shown", "True", "Missed", "3/4")
        assert (executors, paradigm, reason) == ("1/1", "mixed", "Running")
    finally:
        client.ask("DELETE", f"{JOBS}/shown")


def test_a_condition_with_a_reason_outside_the_closed_set_is_refused(client: ApiClient) -> None:
    job = {**copy.deepcopy(bad_manifests.GOOD), "metadata": {"name": "closed", "namespace": "default"}}
    assert client.create(job)[0] == CREATED
    try:
        body = _status(_condition("Ready", "True", "BecauseISaySo"))
        status, answer = client.ask("PATCH", f"{JOBS}/closed/status", body, kind="application/merge-patch+json")

        assert status == UNPROCESSABLE
        assert 'Unsupported value: "BecauseISaySo"' in answer["message"]
    finally:
        client.ask("DELETE", f"{JOBS}/closed")


def test_two_writers_of_the_spec_can_own_different_operators(client: ApiClient) -> None:
    """Lists of named parts are maps to server-side apply: one applies an operator without taking the others'."""
    job = {**copy.deepcopy(bad_manifests.GOOD), "metadata": {"name": "shared", "namespace": "default"}}
    assert client.create(job)[0] == CREATED
    try:
        mine = {
            "apiVersion": streamjob.API_VERSION,
            "kind": streamjob.KIND,
            "metadata": {"name": "shared", "namespace": "default"},
            "spec": {"operators": [{"name": "dear", "input": "clicks", "filter": "price > 20"}]},
        }
        path = f"{JOBS}/shared?fieldManager=second&force=true"
        status, answer = client.ask("PATCH", path, mine, kind="application/apply-patch+yaml")

        assert status == OK, answer
        filters = {o["name"]: o.get("filter") for o in answer["spec"]["operators"]}
        assert filters["dear"] == "price > 20"
        assert len(filters) == len(bad_manifests.GOOD["spec"]["operators"])
    finally:
        client.ask("DELETE", f"{JOBS}/shared")


def test_kubectl_explain_prints_sense(client: ApiClient, api_server: ApiServer) -> None:
    explained = api_server.kubectl("explain", "streamjob.spec.operators").stdout

    for kind in ("filter", "select", "explode", "python", "aggregate", "join"):
        assert f"  {kind}\t<" in explained
    assert "exactly one of filter, select, explode, python" in explained
    assert "Keep the records for which this expression is true." in explained


def test_the_committed_crds_are_what_kubectl_takes(api_server: ApiServer, client: ApiClient) -> None:
    folder = Path(__file__).parents[2] / "crds"
    files = sorted(folder.glob("*.yaml"))
    assert files

    for file in files:
        taken = api_server.kubectl("apply", "--server-side", "--dry-run=server", "-f", str(file))
        assert taken.returncode == 0, taken.stderr
        assert yaml.safe_load(file.read_text())["metadata"]["name"] in taken.stdout
