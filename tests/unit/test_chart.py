"""The chart gives what its values say, with Helm 3 and 4, and refuses values that nobody could have meant."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import helm_programs
from helm_programs import CHART, MONITORING, NAMESPACE, TOP, only, rendered

DIGEST = "sha256:" + "0123456789abcdef" * 4
# Every value that switches something, both ways, and several at once.
VALUES: dict[str, dict[str, Any]] = {
    "nothing is set": {},
    "the whole cluster": {"clusterWide": True},
    "several namespaces": {"watchNamespaces": ["ads", "orders"]},
    "two operators": {"replicas": 2, "priorityClassName": "system-cluster-critical"},
    "nothing but the operator": {
        "crds": {"install": False},
        "rbac": {"create": False, "userRoles": False},
        "serviceAccount": {"create": False, "name": "somebody"},
        "networkPolicy": {"enabled": False},
        "metrics": {"annotations": False, "serviceMonitor": {"enabled": False}},
        "alerts": {"enabled": False},
        "dashboards": {"enabled": False},
    },
    "all that can be said": {
        "image": {"registry": "images.internal:5000/mirror", "digest": DIGEST, "pullPolicy": "Always"},
        "jobImage": {"registry": "images.internal:5000/mirror/", "tag": "1.2.3"},
        "imagePullSecrets": [{"name": "credentials"}],
        "commonLabels": {"team": "data"},
        "crds": {"keep": False},
        "serviceAccount": {"annotations": {"example.org/role": "none"}},
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
        "extraArgs": ["--verbose"],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "podAnnotations": {"example.org/note": "here"},
        "podLabels": {"example.org/zone": "a"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "service": {"annotations": {"example.org/note": "here"}},
        "networkPolicy": {
            "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
            "kafkaPorts": [],
            "extraEgress": [{"ports": [{"port": 8443, "protocol": "TCP"}]}],
        },
        "metrics": {
            "namespaces": [],
            "serviceMonitor": {"labels": {"release": "prometheus"}, "interval": "1m"},
            "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        },
        "alerts": {"labels": {"release": "prometheus"}, "runbooks": "https://wiki.internal/runbooks/"},
        "dashboards": {"annotations": {"grafana_folder": "Spillway"}, "namespace": "monitoring"},
    },
}
# Wrong values: a typo, a wrong kind, a wrong range; and where the message points.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a name with a typo": ({"replica": 2}, "replica"),
    "a name with a typo further in": ({"metrics": {"serviceMonitor": {"enable": True}}}, "enable"),
    "a text for a switch": ({"clusterWide": "yes"}, "clusterWide"),
    "a namespace that none can have": ({"watchNamespaces": ["Not_One"]}, "watchNamespaces"),
    "a namespace twice": ({"watchNamespaces": ["a", "a"]}, "watchNamespaces"),
    "a digest that is none": ({"image": {"digest": "latest"}}, "digest"),
    "too many operators": ({"replicas": 10}, "replicas"),
    "a port that is none": ({"networkPolicy": {"kafkaPorts": [0]}}, "kafkaPorts"),
    "an amount of memory that is none": ({"resources": {"limits": {"memory": "much"}}}, "memory"),
    "an alert that there isn't": ({"alerts": {"disabled": ["SpillwayJobNotReaddy"]}}, "disabled"),
    "a label that none can be": ({"commonLabels": {"team": "data science"}}, "commonLabels"),
}


@pytest.fixture(params=["helm 3", "helm 4"])
def helm(request: pytest.FixtureRequest) -> Path:
    """One after the other."""
    program = helm_programs.found(request.param)
    if program is None:
        pytest.skip(helm_programs.MISSING[request.param])
    return program


@pytest.fixture
def helm3() -> Path:
    """Where one is enough."""
    program = helm_programs.found("helm 3")
    if program is None:
        pytest.skip(helm_programs.MISSING["helm 3"])
    return program


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_all_values_give_objects_with_names_namespaces_and_labels(helm: Path, values: dict[str, Any]) -> None:
    linted = helm_programs.run(helm, "lint", "--strict", str(CHART), values=values)
    assert linted.returncode == 0, linted.stdout + linted.stderr

    for kinds in ((), MONITORING):
        objects = rendered(helm, values, kinds)
        names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
        assert len(names) == len(set(names))
        for one in objects:
            if one["kind"] == "CustomResourceDefinition":
                continue
            assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "spillway"
            assert one["kind"].startswith("Cluster") or one["metadata"]["namespace"]


@pytest.mark.parametrize(("values", "named"), WRONG.values(), ids=WRONG.keys())
def test_wrong_values_are_refused_by_name(helm: Path, values: dict[str, Any], named: str) -> None:
    done = helm_programs.run(helm, "template", "spillway", str(CHART), values=values)
    assert done.returncode != 0
    assert named in done.stderr


def test_an_account_that_is_not_made_has_to_be_named(helm: Path) -> None:
    done = helm_programs.run(helm, "template", "spillway", str(CHART), values={"serviceAccount": {"create": False}})
    assert "serviceAccount.name is needed" in done.stderr


def test_both_versions_of_helm_give_the_same() -> None:
    programs = [program for name in helm_programs.MISSING if (program := helm_programs.found(name))]
    if len(programs) < 2:
        pytest.skip(helm_programs.MISSING["helm 4"])
    for values in VALUES.values():
        three, four = (rendered(program, values, MONITORING) for program in programs)
        assert sorted(three, key=json.dumps) == sorted(four, key=json.dumps)


def test_every_object_property_of_the_schema_is_closed_or_meant_to_be_open() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    open_ones = {"global", "affinity"}  # what another chart shares, and a part of a pod

    def check(name: str, part: dict[str, Any]) -> None:
        if part.get("type") == "object" and name not in open_ones:
            assert "additionalProperties" in part, name
        for more, inside in {**part.get("properties", {}), **part.get("definitions", {})}.items():
            check(more, inside)

    check("", schema)


def test_every_value_has_a_description_and_a_default() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def check(path: str, part: dict[str, Any], value: Any) -> None:
        if "properties" not in part:
            assert part.get("description"), path
            return
        assert path == "" or value.keys() == part["properties"].keys(), path
        for name, inside in value.items():
            check(f"{path}.{name}", part["properties"][name], inside)

    check("", schema, values)


def test_what_the_chart_has_of_other_places_is_what_they_say() -> None:
    checked = subprocess.run(
        [sys.executable, str(TOP / "tools" / "chart.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_the_kind_streamjob_comes_with_the_chart_as_it_is_and_stays_behind(helm: Path) -> None:
    (committed,) = (yaml.safe_load(path.read_text()) for path in (TOP / "crds").glob("*.yaml"))
    ours = only(rendered(helm), "CustomResourceDefinition")

    assert ours["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert ours == committed
    assert only(rendered(helm, {"crds": {"keep": False}}), "CustomResourceDefinition") == committed
    kinds = {one["kind"] for one in rendered(helm, {"crds": {"install": False}})}
    assert "CustomResourceDefinition" not in kinds


def _arguments(objects: list[Any]) -> list[str]:
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return list(container["args"])


def test_the_operator_watches_its_own_namespace_unless_others_are_named(helm3: Path) -> None:
    assert _arguments(rendered(helm3))[0] == f"--namespace={NAMESPACE}"
    several = rendered(helm3, {"watchNamespaces": ["ads", "orders"]})
    assert _arguments(several)[:2] == ["--namespace=ads", "--namespace=orders"]
    of_jobs = [one for one in several if one["kind"] == "Role" and not one["metadata"]["name"].endswith("-lease")]
    assert [one["metadata"]["namespace"] for one in of_jobs] == ["ads", "orders"]
    assert not any("--namespace=" in one for one in _arguments(rendered(helm3, {"clusterWide": True})))


def test_only_for_the_whole_cluster_the_operator_has_a_cluster_role(helm3: Path) -> None:
    def bound(values: dict[str, Any]) -> list[str]:
        return [one["metadata"]["name"] for one in rendered(helm3, values) if one["kind"] == "ClusterRoleBinding"]

    assert bound({}) == []
    assert bound({"clusterWide": True}) == ["spillway"]


def test_images_go_by_digest_then_tag_then_the_version_of_the_chart(helm3: Path) -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]

    def images(values: dict[str, Any]) -> tuple[str, str]:
        objects = rendered(helm3, values)
        (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
        (job,) = (one.removeprefix("--image=") for one in _arguments(objects) if one.startswith("--image="))
        return container["image"], job

    assert images({}) == (f"spillway-operator:{version}", f"spillway-runtime:{version}")
    assert images(VALUES["all that can be said"]) == (
        f"images.internal:5000/mirror/spillway-operator@{DIGEST}",
        "images.internal:5000/mirror/spillway-runtime:1.2.3",
    )


def test_a_disruption_budget_is_only_for_several_operators(helm3: Path) -> None:
    assert not [one for one in rendered(helm3) if one["kind"] == "PodDisruptionBudget"]
    assert only(rendered(helm3, {"replicas": 2}), "PodDisruptionBudget")["spec"]["minAvailable"] == 1


def test_what_the_prometheus_operator_reads_is_made_only_where_it_is(helm3: Path) -> None:
    def kinds(values: dict[str, Any], apis: tuple[str, ...]) -> set[str]:
        return {one["kind"] for one in rendered(helm3, values, apis)} & {
            "ServiceMonitor", "PodMonitor", "PrometheusRule",
        }  # fmt: skip

    assert kinds({}, ()) == set()
    assert kinds({}, MONITORING) == {"ServiceMonitor", "PrometheusRule"}
    assert kinds({"metrics": {"podMonitor": {"enabled": True}}}, MONITORING) == {
        "ServiceMonitor", "PrometheusRule", "PodMonitor",
    }  # fmt: skip
    assert kinds({"alerts": {"enabled": False}}, MONITORING) == {"ServiceMonitor"}


def test_pods_are_annotated_for_prometheus_where_no_monitor_is_made(helm3: Path) -> None:
    def annotated(values: dict[str, Any], apis: tuple[str, ...]) -> bool:
        template = only(rendered(helm3, values, apis), "Deployment")["spec"]["template"]
        return "prometheus.io/scrape" in template["metadata"]["annotations"]

    assert annotated({}, ())
    assert not annotated({}, MONITORING)
    assert not annotated({"metrics": {"annotations": False}}, ())


def test_monitors_give_series_the_labels_of_dashboards_and_alerts(helm3: Path) -> None:
    objects = rendered(helm3, {"metrics": {"podMonitor": {"enabled": True}}}, MONITORING)
    (of_jobs,) = only(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]
    (of_operator,) = only(objects, "ServiceMonitor")["spec"]["endpoints"]

    assert only(objects, "PodMonitor")["spec"]["podTargetLabels"] == ["spillway.dev/job"]
    assert of_jobs["port"] == "http"
    assert of_operator["honorLabels"] is True


def test_alerts_are_those_of_the_files_with_the_runbooks_of_the_values(helm3: Path) -> None:
    files = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "alerts").glob("*.yaml"))]
    committed = [group for file in files for group in file["groups"]]
    assert only(rendered(helm3, {}, MONITORING), "PrometheusRule")["spec"]["groups"] == committed

    values = {"alerts": {"runbooks": "https://wiki.internal/r/", "disabled": ["SpillwayNoOutput"]}}
    ours = only(rendered(helm3, values, MONITORING), "PrometheusRule")["spec"]["groups"]
    found = {rule["alert"]: rule for group in ours for rule in group["rules"] if "alert" in rule}
    assert (
        found["SpillwayJobNotReady"]["annotations"]["runbook_url"] == "https://wiki.internal/r/SpillwayJobNotReady.md"
    )
    assert "SpillwayNoOutput" not in found


def test_dashboards_are_config_maps_that_grafana_finds(helm3: Path) -> None:
    maps = [one for one in rendered(helm3) if one["kind"] == "ConfigMap"]
    files = {path.name: path.read_text() for path in (CHART / "dashboards").glob("*.json")}

    assert {name: json.loads(text) for one in maps for name, text in one["data"].items()} == {
        name: json.loads(text) for name, text in files.items()
    }
    assert all(one["metadata"]["labels"]["grafana_dashboard"] == "1" for one in maps)
    other = rendered(helm3, {"dashboards": {"label": "boards", "labelValue": "ours"}})
    assert all(one["metadata"]["labels"]["boards"] == "ours" for one in other if one["kind"] == "ConfigMap")


def rights(rules: list[Any]) -> set[tuple[str, str, str]]:
    """Each right of a role, as group, resource and verb."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_operator_has_exactly_the_rights_that_it_uses(helm3: Path) -> None:
    if importlib.util.find_spec("spillway.manager.permissions") is None:
        pytest.skip("the operator doesn't say yet what it does")
    permissions: Any = importlib.import_module("spillway.manager.permissions")
    for name, used in (("spillway", permissions.PERMISSIONS), ("-lease", permissions.OWN_PERMISSIONS)):
        role = only(rendered(helm3), "Role", name)
        assert rights(role["rules"]) == {(one.group, one.resource, verb) for one in used for verb in one.verbs}


def test_no_right_is_a_wildcard_and_secrets_can_not_be_listed(helm3: Path) -> None:
    for values in ({}, {"clusterWide": True}):
        objects = rendered(helm3, values)
        rules = [rule for one in objects if one["kind"] in ("Role", "ClusterRole") for rule in one["rules"]]
        given = rights(rules)
        assert not [right for right in given if "*" in right]
        assert not given & {("", "secrets", verb) for verb in ("list", "watch")}
        assert not [right for right in given if right[2] in ("escalate", "bind", "impersonate")]
        assert not [right for right in given if right[1] in ("pods/exec", "nodes")]
