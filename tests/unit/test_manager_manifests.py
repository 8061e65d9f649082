"""The children of a job as they are built: what wins over what, and what never changes by itself."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
import yaml

import reconciled
from spillway.controllers.reconciling import names
from spillway.controllers.reconciling.decision import Shape
from spillway.controllers.reconciling.observed import Key
from spillway.manager import kinds
from spillway.manager.manifests import children, parts
from spillway.manager.manifests.parts import Built, Manifest, Settings
from spillway.model.streamjob import StreamJob


def built(job: StreamJob, **changes: Any) -> Built:
    shape = Shape(job, 1, 2, 2, 1)
    document = {"spec": job.spec.model_dump(mode="json", by_alias=True, exclude_none=True)}
    made = Built(shape, document, Settings("spillway-runtime:test"), reconciled.UID, "the-token")
    return dataclasses.replace(made, **changes)


def of(job: StreamJob, **changes: Any) -> dict[Key, Manifest]:
    return children.build(built(job, **changes))


def pod(made: dict[Key, Manifest], component: str) -> Manifest:
    return dict(made["StatefulSet", f"j-{component}"]["spec"]["template"])


def test_the_same_job_gives_the_same_children() -> None:
    assert of(reconciled.job()) == of(reconciled.job())


def test_every_kind_that_is_built_is_one_that_the_manager_may_write() -> None:
    may = {(one.group, one.resource): one.verbs for one in kinds.PERMISSIONS}
    made = of(reconciled.job(), settings=Settings("x", pod_monitors=True))
    for kind, _ in made:
        known = kinds.OF_NAME[kind]
        assert {"get", "create", "patch", "delete"} <= set(may[known.group, known.plural])


def test_the_driver_is_given_no_right_that_the_manager_has_not() -> None:
    (rule,) = of(reconciled.job())["Role", "j-driver"]["rules"]
    may = {(one.group, one.resource): set(one.verbs) for one in kinds.PERMISSIONS}
    for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
        assert set(rule["verbs"]) <= may[group, resource]


def test_a_workers_template_goes_over_ours_but_for_security() -> None:
    template = {
        "metadata": {"labels": {"team": "ads", names.JOB: "another"}, "annotations": {"note": "x"}},
        "spec": {
            "nodeSelector": {"disk": "fast"},
            "hostNetwork": True,
            "serviceAccountName": "powerful",
            "automountServiceAccountToken": True,
            "securityContext": {"runAsUser": 0, "fsGroupChangePolicy": "OnRootMismatch"},
            "containers": [
                {
                    "name": "main",
                    "resources": {"requests": {"cpu": "3"}},
                    "env": [{"name": "MORE", "value": "1"}],
                    "securityContext": {"privileged": False, "readOnlyRootFilesystem": False},
                },
                {"name": "beside", "image": "beside:1"},
            ],
        },
    }
    made = pod(of(reconciled.job(execution={"workers": {"podTemplate": template}})), "worker")

    assert made["metadata"]["labels"]["team"] == "ads"
    assert made["metadata"]["labels"][names.JOB] == "j"
    spec = made["spec"]
    assert spec["nodeSelector"] == {"disk": "fast"}
    assert "hostNetwork" not in spec
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsUser"] == parts.USER
    assert spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    main, beside = spec["containers"]
    assert main["resources"]["requests"] == {"cpu": "3", "memory": "512Mi"}
    assert [one["name"] for one in main["env"]][-1] == "MORE"
    assert main["command"] == ["spillway-worker"]
    assert main["securityContext"]["readOnlyRootFilesystem"] is True
    assert beside["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_a_user_can_not_give_a_worker_an_account() -> None:
    template = {"spec": {"serviceAccountName": "powerful"}}
    made = pod(of(reconciled.job(execution={"workers": {"podTemplate": template}})), "worker")
    assert made["spec"]["automountServiceAccountToken"] is False


def test_new_code_is_another_template_and_a_new_spec_is_not() -> None:
    job = reconciled.job(execution={"code": {"configMap": "ads"}})
    before, after = of(job, code_hash="one"), of(job, code_hash="two")
    assert pod(before, "worker") != pod(after, "worker")
    other = of(reconciled.job(execution={"code": {"configMap": "ads"}}, policy={"headroom": 0.4}), code_hash="one")
    assert pod(before, "worker") == pod(other, "worker")
    assert before["ConfigMap", "j-spec"] != other["ConfigMap", "j-spec"]


def test_without_executors_the_driver_starts_no_spark() -> None:
    with_spark = pod(of(reconciled.job()), "driver")["spec"]["containers"][0]
    without = pod(of(reconciled.job(execution={"executors": {"min": 0, "max": 0}})), "driver")["spec"]["containers"][0]
    assert "--spark" in with_spark["args"]
    assert "--spark" not in without["args"]


def test_the_token_is_in_nothing_but_its_secret() -> None:
    import base64
    import json

    made = of(reconciled.job())
    for key, child in made.items():
        text = json.dumps(child)
        assert "the-token" not in text
        found = base64.b64encode(b"the-token").decode() in text
        assert found is (key == ("Secret", "j-token"))


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ({"a": 1, "b": {"c": 1}}, {"b": {"d": 2}}, {"a": 1, "b": {"c": 1, "d": 2}}),
        (
            [{"name": "x", "v": 1}],
            [{"name": "x", "w": 2}, {"name": "y"}],
            [{"name": "x", "v": 1, "w": 2}, {"name": "y"}],
        ),
        ([1, 2], [3], [3]),
        ({"a": [1]}, {"a": None}, {"a": None}),
    ],
)
def test_mappings_and_lists_of_named_things_are_merged_and_anything_else_is_replaced(
    ours: Any, theirs: Any, merged: Any
) -> None:
    assert parts.merged(ours, theirs) == merged


def test_a_first_job_fits_on_a_node_of_two_cores_beside_kubernetes_itself() -> None:
    made = of(reconciled.job(execution={"executors": {"min": 1, "max": 1}}))
    executor = yaml.safe_load(made["ConfigMap", "j-spec"]["data"]["executor.yaml"])
    specs = [pod(made, "driver")["spec"], pod(made, "worker")["spec"], executor["spec"]]
    asked = [container["resources"]["requests"]["cpu"] for spec in specs for container in spec["containers"]]
    assert all(cpu.endswith("m") for cpu in asked)
    assert sum(int(cpu.removesuffix("m")) for cpu in asked) <= 2000 - 950


def test_nothing_has_a_limit_on_cpu() -> None:
    made = of(reconciled.job())
    for component in ("driver", "worker"):
        (container,) = pod(made, component)["spec"]["containers"]
        assert "cpu" not in container["resources"]["limits"]


def test_a_user_says_what_executors_ask_for() -> None:
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}}
    made = of(reconciled.job(execution={"executors": {"min": 1, "max": 1, "podTemplate": template}}))
    executor = yaml.safe_load(made["ConfigMap", "j-spec"]["data"]["executor.yaml"])
    assert executor["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "3"}
