"""A manager as its own process beside a real API server, and what a cluster's controllers would do for it, by hand."""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import bad_manifests
from api_client import ApiClient
from spillway.cli import crds
from spillway.local import ports
from spillway.manager import permissions

if TYPE_CHECKING:
    from api_server import ApiServer

JOBS = "/apis/spillway.dev/v1alpha1/namespaces/{}/streamjobs"
SETS = "/apis/apps/v1/namespaces/{}/statefulsets"
T = TypeVar("T")
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
IMAGE = "spillway-runtime:test"

# Where each kind of a job's children is, by the kind's name.
CHILDREN = {
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "StatefulSet": SETS,
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
}
WHOLE = {
    ("ServiceAccount", "j-driver"), ("Role", "j-driver"), ("RoleBinding", "j-driver"), ("NetworkPolicy", "j"),
    ("ConfigMap", "j-spec"), ("Secret", "j-token"), ("Service", "j-driver"), ("Service", "j-worker"),
    ("StatefulSet", "j-driver"), ("StatefulSet", "j-worker"), ("PodDisruptionBudget", "j-worker"),
}  # fmt: skip


def until(what: str, look: Callable[[], T], within: float = 20.0) -> T:
    """Look until it is so; what was found."""
    deadline = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.05)


class Namespace:
    """A namespace of its own on an API server."""

    def __init__(self, client: ApiClient, name: str) -> None:
        self.client, self.name = client, name

    def create_job(self, name: str = "j", **policy: Any) -> dict[str, Any]:
        """A StreamJob that can be run; what was stored."""
        job = copy.deepcopy(bad_manifests.GOOD)
        job["metadata"] = {"name": name, "namespace": self.name}
        # Nobody listens there, and the answer comes at once.
        job["spec"]["kafka"]["bootstrapServers"] = ["127.0.0.1:1"]
        job["spec"].setdefault("policy", {}).update(policy)
        status, stored = self.client.ask("POST", JOBS.format(self.name), job)
        assert status == 201, stored
        return stored

    def allow(self, user: str) -> None:
        """Somebody may do here what a manager has to, by the list that the chart's roles are compared with."""
        wanted = (*permissions.PERMISSIONS, *permissions.OWN_PERMISSIONS)
        rules = [{"apiGroups": [one.group], "resources": [one.resource], "verbs": list(one.verbs)} for one in wanted]
        group = "rbac.authorization.k8s.io"
        api = f"{group}/v1"
        role = {"apiVersion": api, "kind": "Role", "metadata": {"name": user}, "rules": rules}
        binding = {
            "apiVersion": api,
            "kind": "RoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        }
        for plural, body in (("roles", role), ("rolebindings", binding)):
            status, answer = self.client.ask("POST", f"/apis/{api}/namespaces/{self.name}/{plural}", body)
            assert status == 201, answer

    def clear(self) -> None:
        """No job stays, whatever holds it: else its CRD could not be taken away."""
        _, listed = self.client.ask("GET", JOBS.format(self.name))
        for job in listed.get("items", []):
            path = f"{JOBS.format(self.name)}/{job['metadata']['name']}"
            self.client.ask("DELETE", path)
            self.client.ask("PATCH", path, {"metadata": {"finalizers": []}}, kind=MERGE)

    def job(self, name: str = "j") -> dict[str, Any] | None:
        status, found = self.client.ask("GET", f"{JOBS.format(self.name)}/{name}")
        return found if status == 200 else None

    def change(self, spec: Mapping[str, Any], name: str = "j") -> None:
        status, found = self.client.ask("PATCH", f"{JOBS.format(self.name)}/{name}", {"spec": spec}, kind=MERGE)
        assert status == 200, found

    def delete_job(self, name: str = "j") -> None:
        self.client.ask("DELETE", f"{JOBS.format(self.name)}/{name}")

    def conditions(self, name: str = "j") -> dict[str, dict[str, Any]]:
        job = self.job(name) or {}
        return {one["type"]: one for one in job.get("status", {}).get("conditions", [])}

    def condition(self, kind: str, name: str = "j") -> tuple[str, str]:
        """Status and reason of a condition."""
        found = self.conditions(name).get(kind, {})
        return found.get("status", ""), found.get("reason", "")

    def children(self, name: str = "j") -> dict[tuple[str, str], dict[str, Any]]:
        """All that is marked for a job."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for kind, path in CHILDREN.items():
            _, listed = self.client.ask("GET", f"{path.format(self.name)}?labelSelector=spillway.dev/job={name}")
            found |= {(kind, item["metadata"]["name"]): item for item in listed["items"]}
        return found

    def child(self, kind: str, name: str) -> dict[str, Any] | None:
        status, found = self.client.ask("GET", f"{CHILDREN[kind].format(self.name)}/{name}")
        return found if status == 200 else None

    def replicas(self, name: str = "j-worker") -> int:
        found = self.child("StatefulSet", name)
        return -1 if found is None else int(found["spec"]["replicas"])

    def run_pod(self, owner: str, number: int = 0) -> str:
        """What the controller of sets and a kubelet would do: a pod of the set, which runs and is ready."""
        found = self.child("StatefulSet", owner)
        assert found is not None
        name, template = f"{owner}-{number}", found["spec"]["template"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": name, "namespace": self.name},
            "spec": {**template["spec"], "nodeName": "nowhere"},
        }
        status, answer = self.client.ask("POST", f"/api/v1/namespaces/{self.name}/pods", pod)
        assert status in (201, 409), answer
        self.pod_status(name, phase="Running", conditions=[{"type": "Ready", "status": "True"}])
        return name

    def pod_status(self, name: str, **status: Any) -> None:
        path = f"/api/v1/namespaces/{self.name}/pods/{name}/status"
        code, answer = self.client.ask("PATCH", path, {"status": status}, kind=MERGE)
        assert code == 200, answer

    def set_status(self, name: str, there: int, ready: int) -> None:
        """The controller of sets tells how many there are."""
        found = self.child("StatefulSet", name)
        assert found is not None
        generation = found["metadata"]["generation"]
        status = {"replicas": there, "readyReplicas": ready, "observedGeneration": generation}
        code, answer = self.client.ask(
            "PATCH", f"{SETS.format(self.name)}/{name}/status", {"status": status}, kind=MERGE
        )
        assert code == 200, answer


@contextlib.contextmanager
def namespace(client: ApiClient, *, restricted: bool = True) -> Iterator[Namespace]:
    """A namespace that takes only pods of the `restricted` profile."""
    name = f"m-{uuid.uuid4().hex[:8]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"} if restricted else {}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    status, answer = client.ask("POST", "/api/v1/namespaces", body)
    assert status == 201, answer
    found = Namespace(client, name)
    try:
        yield found
    finally:
        found.clear()


def installed(server: ApiServer) -> ApiClient:
    """A client of an API server that knows StreamJobs."""
    client = ApiClient(server.kubeconfig)
    applied = server.kubectl("apply", "--server-side", "-f", "-", input="---\n".join(crds.documents().values()))
    assert applied.returncode == 0, applied.stderr
    until("the CRD is served", lambda: client.ask("GET", JOBS.format("default"))[0] == 200)
    return client


class Manager:
    """The process."""

    def __init__(self, kubeconfig: Path, namespace: str, log: Path, *arguments: str) -> None:
        self.port = ports.free(1)[0]
        self.log = log
        command = [
            sys.executable, "-m", "spillway.manager", "--image", IMAGE, "--namespace", namespace, "--lease-namespace",
            namespace, "--host", "127.0.0.1", "--port", str(self.port), "--lease-seconds", "6", "--refresh", "2",
            "--kafka-patience", "0.5",  # nobody listens there
            *arguments,
        ]  # fmt: skip
        # The name of a pod: whoever is started again under it takes up the lease without waiting.
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "POD_NAME": f"manager-of-{namespace}"}
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stderr=out, env=environment)

    def ask(self, path: str) -> tuple[int, str]:
        """What it answers."""
        import urllib.error
        import urllib.request

        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()
        except OSError:
            return 0, ""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(60)  # 2 s, and 12 on a machine with eight times as much to do as it can


@contextlib.contextmanager
def running(kubeconfig: Path, namespace: str, log: Path, *arguments: str) -> Iterator[Manager]:
    """A manager of one namespace, ended with the block."""
    manager = Manager(kubeconfig, namespace, log, *arguments)
    try:
        yield manager
    finally:
        if manager.process.poll() is None:
            manager.kill()
