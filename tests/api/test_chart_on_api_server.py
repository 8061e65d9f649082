"""A real API server takes all that the chart makes, in a namespace that lets in only what is restricted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import helm_programs
from helm_programs import NAMESPACE, only, rendered

if TYPE_CHECKING:
    from api_server import ApiServer

NAMESPACES = (NAMESPACE, "ads", "orders", "monitoring")
# Kinds of the Prometheus operator, as far as a server has to know them to take objects of them.
MONITORS = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule")
]
VALUES: dict[str, dict[str, Any]] = {
    "one namespace": {"crds": {"install": False}},
    "several namespaces": {
        "crds": {"install": False},
        "watchNamespaces": ["ads", "orders"],
        "replicas": 2,
        "metrics": {"podMonitor": {"enabled": True}},
        "dashboards": {"namespace": "monitoring"},
    },
    "the whole cluster": {"crds": {"install": False}, "clusterWide": True, "metrics": {"namespaces": []}},
}


@pytest.fixture(scope="module")
def helm() -> Path:
    """The program."""
    program = helm_programs.found("helm 3")
    if program is None:
        pytest.skip(helm_programs.MISSING["helm 3"])
    return program


@pytest.fixture(scope="module")
def server(api_server: ApiServer, helm: Path) -> Iterator[ApiServer]:
    """With namespaces that enforce the profile `restricted`, the chart's kind, and those of the Prometheus operator."""
    made: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        }
        for name in NAMESPACES
    ]
    kinds = [only(rendered(helm), "CustomResourceDefinition"), *MONITORS]
    text = yaml.safe_dump_all([*made, *kinds])
    applied = api_server.kubectl("apply", "--server-side", "-f", "-", input=text)
    assert applied.returncode == 0, applied.stderr
    names = [f"crd/{one['metadata']['name']}" for one in kinds]
    waited = api_server.kubectl("wait", "--for=jsonpath={.status.conditions[1].status}=True", *names, "--timeout=30s")
    assert waited.returncode == 0, waited.stderr
    yield api_server
    for kind in names:
        api_server.kubectl("delete", kind, "--timeout=30s")


def _taken(server: ApiServer, objects: list[Any]) -> str:
    """What the server says against these; it keeps none of them."""
    done = server.kubectl(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
        input=yaml.safe_dump_all(objects),
    )  # fmt: skip
    return done.stderr if done.returncode or "Warning" in done.stderr else ""


def _pod(template: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "as-the-deployment-makes-it", "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_everything_that_the_chart_makes_is_taken(server: ApiServer, helm: Path, values: dict[str, Any]) -> None:
    assert _taken(server, rendered(helm, values, helm_programs.MONITORING)) == ""


def test_the_kind_streamjob_of_the_chart_is_taken(server: ApiServer, helm: Path) -> None:
    assert _taken(server, [only(rendered(helm), "CustomResourceDefinition")]) == ""


def test_pods_of_the_chart_are_restricted_and_less_is_refused(server: ApiServer, helm: Path) -> None:
    template = only(rendered(helm), "Deployment")["spec"]["template"]
    assert _taken(server, [_pod(template)]) == ""

    del template["spec"]["containers"][0]["securityContext"]["capabilities"]
    assert "violates PodSecurity" in _taken(server, [_pod(template)])


def test_a_misspelt_field_is_refused(server: ApiServer, helm: Path) -> None:
    service = only(rendered(helm), "Service")
    service["spec"]["portz"] = []
    assert "portz" in _taken(server, [service])


@contextlib.contextmanager
def _applied(server: ApiServer, objects: list[Any]) -> Iterator[None]:
    text = yaml.safe_dump_all(objects)
    applied = server.kubectl("apply", "--server-side", "-f", "-", input=text)
    assert applied.returncode == 0, applied.stderr
    yield
    server.kubectl("delete", "-f", "-", "--wait=false", input=text)


# What the operator may do, and what it may not, as `kubectl auth can-i` asks it: a verb, a resource, and where.
MAY = [("create", "statefulsets.apps", "ads"), ("deletecollection", "pods", "ads"), ("get", "secrets", "orders"),
       ("list", "streamjobs.spillway.dev", "ads"), ("patch", "streamjobs.spillway.dev/status", "ads"),
       ("create", "leases.coordination.k8s.io", NAMESPACE)]  # fmt: skip
MAY_NOT = [("list", "secrets", "ads"), ("create", "statefulsets.apps", "monitoring"), ("get", "secrets", NAMESPACE),
           ("create", "pods/exec", "ads"), ("delete", "streamjobs.spillway.dev", "ads"),
           ("create", "clusterroles.rbac.authorization.k8s.io", "ads"), ("list", "nodes", "ads"),
           ("delete", "leases.coordination.k8s.io", NAMESPACE)]  # fmt: skip


def test_the_operator_may_do_what_it_has_to_in_namespaces_of_jobs_and_nothing_else(
    server: ApiServer, helm: Path
) -> None:
    roles = [
        one for one in rendered(helm, VALUES["several namespaces"])
        if one["kind"] in ("Role", "RoleBinding", "ServiceAccount")
    ]  # fmt: skip
    with _applied(server, roles):
        account = f"--as=system:serviceaccount:{NAMESPACE}:spillway"

        def may(verb: str, resource: str, namespace: str) -> bool:
            whole, _, part = resource.partition("/")
            more = [f"--subresource={part}"] if part else []
            asked = server.kubectl("auth", "can-i", verb, whole, *more, "-n", namespace, account)
            return asked.stdout.strip() == "yes"

        assert [one for one in MAY if not may(*one)] == []
        assert [one for one in MAY_NOT if may(*one)] == []


def test_the_operator_may_give_a_driver_the_rights_that_it_has_itself_and_no_others(
    server: ApiServer, helm: Path
) -> None:
    roles = [
        one for one in rendered(helm, VALUES["several namespaces"])
        if one["kind"] in ("Role", "RoleBinding", "ServiceAccount")
    ]  # fmt: skip
    verbs = ["create", "get", "list", "watch", "delete", "deletecollection"]

    def given(resource: str) -> str:
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "clicks-driver", "namespace": "ads"},
            "rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}],
        }
        account = f"--as=system:serviceaccount:{NAMESPACE}:spillway"
        return server.kubectl("create", "--dry-run=server", account, "-f", "-", input=yaml.safe_dump(role)).stderr

    with _applied(server, roles):
        assert given("pods") == ""
        assert "attempting to grant RBAC permissions not currently held" in given("secrets")
