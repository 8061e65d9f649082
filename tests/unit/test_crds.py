"""The CRD is structural, bounded, described, and has the defaults of the model. Each checker is shown to catch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import bad_manifests
from bad_manifests import ABSENT, CASES, By
from spillway.cli import crds as command
from spillway.controllers import acceptance
from spillway.model import crds, reading, status, streamjob

TOP = Path(__file__).resolve().parents[2]
Schema = dict[str, Any]
SCHEMA = crds.schema()

# All that the API server knows of a structural schema, and we use. `$ref`, `anyOf`, `nullable` … are not among them.
STRUCTURAL = {
    "type", "description", "default", "enum", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "minItems", "maxItems", "items", "properties", "required", "x-kubernetes-validations", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields",
}  # fmt: skip


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every node below spec and status with its path; `[]` stands for the items of a list."""
    if not path:
        for field in ("spec", "status"):
            yield from nodes(schema["properties"][field], field)
        return
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def foreign(schema: Schema) -> list[str]:
    """Words of JSON schema that a structural schema must not have."""
    return [f"{path}: {key}" for path, node in nodes(schema) for key in node if key not in STRUCTURAL]


def untyped(schema: Schema) -> list[str]:
    """Nodes without a type."""
    kinds = {"object", "array", "string", "integer", "number", "boolean"}
    return [path for path, node in nodes(schema) if node.get("type") not in kinds]


def undescribed(schema: Schema) -> list[str]:
    """Fields for which `kubectl explain` would show nothing."""
    fields = ((path, node) for path, node in nodes(schema) if not path.endswith("[]"))
    return [path for path, node in fields if len(node.get("description", "").strip()) < 5]


def unbounded(schema: Schema) -> list[str]:
    """What could grow without end; the API server can't bound the cost of rules about such fields either."""
    return [path for path, node in nodes(schema) if not _bounded(node)]


def _bounded(node: Schema) -> bool:
    match node["type"]:
        case "string":
            return "enum" in node or "maxLength" in node
        case "array":
            return "maxItems" in node
        case "integer":
            return "minimum" in node and ("maximum" in node or node["format"] == "int64")
        case "number":
            by_rule = any(
                "self >=" in v["rule"] and "self <=" in v["rule"] for v in node.get("x-kubernetes-validations", ())
            )
            return by_rule or ("minimum" in node and "maximum" in node)
        case "object":
            return "properties" in node or "x-kubernetes-preserve-unknown-fields" in node
    return True


def open_objects(schema: Schema) -> list[str]:
    """Where anything may stand."""
    return [path for path, node in nodes(schema) if "x-kubernetes-preserve-unknown-fields" in node]


def unkeyed(schema: Schema) -> list[str]:
    """Lists that server-side apply could not merge as it should: of named things without a key, or with a wrong one."""
    found = []
    for path, node in nodes(schema):
        if node["type"] != "array":
            continue
        items = node["items"]
        key = next((name for name in ("name", "type") if name in items.get("properties", {})), None)
        wanted = ("map", [key]) if key else ("atomic", None)
        if (node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys")) != wanted:
            found.append(path)
        elif key and (key not in items.get("required", ()) or not _bounded(items["properties"][key])):
            found.append(f"{path}[].{key}")
    return found


def defaulted(value: Any, schema: Schema) -> Any:
    """The value with the defaults of the schema, as the API server fills them in: from the outside to the inside."""
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        filled = {name: copy.deepcopy(field["default"]) for name, field in fields.items() if "default" in field}
        filled |= value
        return {name: defaulted(inner, fields[name]) if name in fields else inner for name, inner in filled.items()}
    if isinstance(value, list):
        return [defaulted(inner, schema["items"]) for inner in value]
    return value


def rules(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Every CEL rule with the path of what it speaks of."""
    found = [("", schema), *nodes(schema)]
    return ((path, rule) for path, node in found for rule in node.get("x-kubernetes-validations", ()))


def changed(path: str, change: Callable[[Schema], object]) -> Schema:
    """The schema with one node changed."""
    made = copy.deepcopy(SCHEMA)
    change(dict(nodes(made))[path])
    return made


Checker = Callable[[Schema], list[str]]
Change = Callable[[Schema], object]
# A checker, the node that is changed, how, and, where it is not the path itself, what the checker says.
CHANGES: dict[str, tuple[Checker, str, Change, str]] = {
    "a reference": (foreign, "spec.latency", lambda n: n.update({"$ref": "#/x"}), ": $ref"),
    "alternatives": (foreign, "spec.kafka", lambda n: n.update(anyOf=[]), ": anyOf"),
    "a null": (foreign, "spec.tables[]", lambda n: n.update(nullable=True), ": nullable"),
    "a title": (foreign, "status.workers", lambda n: n.update(title="Workers"), ": title"),
    "open keys": (foreign, "spec.policy", lambda n: n.update(additionalProperties=True), ": additionalProperties"),
    "no type": (untyped, "spec.policy.mode", lambda n: n.pop("type"), ""),
    "no description": (undescribed, "spec.policy.mode", lambda n: n.pop("description"), ""),
    "an empty description": (undescribed, "status.decision", lambda n: n.update(description=" "), ""),
    "an endless string": (unbounded, "spec.operators[].filter", lambda n: n.pop("maxLength"), ""),
    "an endless list": (unbounded, "spec.operators", lambda n: n.pop("maxItems"), ""),
    "an endless number": (unbounded, "spec.execution.workers.max", lambda n: n.pop("maximum"), ""),
    "a bottomless number": (unbounded, "status.workers.wanted", lambda n: n.pop("minimum"), ""),
    "an endless share": (unbounded, "spec.latency.quantile", lambda n: n.pop("x-kubernetes-validations"), ""),
    "an endless mapping": (unbounded, "spec.execution.code", lambda n: n.pop("properties"), ""),
    "no key": (unkeyed, "spec.operators", lambda n: n.pop("x-kubernetes-list-map-keys"), ""),
    "replaced whole": (unkeyed, "status.conditions", lambda n: n.update({"x-kubernetes-list-type": "atomic"}), ""),
    "a map of texts": (unkeyed, "spec.tables[].key", lambda n: n.update({"x-kubernetes-list-type": "map"}), ""),
    "a key that may be absent": (unkeyed, "spec.outputs", lambda n: n["items"]["required"].remove("name"), "[].name"),
}


@pytest.mark.parametrize(
    "checker", list(dict.fromkeys(checker for checker, *_ in CHANGES.values())), ids=lambda checker: checker.__name__
)
def test_there_is_nothing_in_the_schema_that_is(checker: Callable[[Schema], list[str]]) -> None:
    assert checker(SCHEMA) == []


@pytest.mark.parametrize("sentence", CHANGES)
def test_it_would_be_noticed(sentence: str) -> None:
    checker, path, change, said = CHANGES[sentence]
    assert checker(changed(path, change)) == [path + said]


def test_the_walk_sees_fields_items_and_the_status() -> None:
    paths = dict(nodes(SCHEMA))
    assert len(paths) > 120
    assert {
        "spec.operators[].join.by[]",
        "spec.execution.workers.podTemplate.spec",
        "status.conditions[].reason",
    } <= paths.keys()


def test_only_pod_templates_are_open() -> None:
    assert {path.rpartition(".")[0] for path in open_objects(SCHEMA)} == {
        "spec.execution.workers.podTemplate",
        "spec.execution.executors.podTemplate",
    }


def test_the_api_server_knows_the_head_of_an_object_itself() -> None:
    assert SCHEMA["properties"]["metadata"] == {"type": "object"}
    assert SCHEMA["required"] == ["spec"]
    assert [name for name in ("apiVersion", "kind") if SCHEMA["properties"][name]["type"] != "string"] == []


def test_reasons_and_types_of_conditions_are_closed_sets() -> None:
    condition = SCHEMA["properties"]["status"]["properties"]["conditions"]["items"]["properties"]
    assert condition["reason"]["enum"] == list(status.Reason)
    assert condition["type"]["enum"] == list(status.ConditionType)


# Defaults


def with_all_parts() -> dict[str, Any]:
    """The good manifest with every optional part that has defaults inside."""
    made = copy.deepcopy(bad_manifests.GOOD)
    for path in (
        "kafka.security",
        "execution",
        "execution.workers",
        "execution.executors",
        "execution.state",
        "policy",
    ):
        bad_manifests.edit(made["spec"], path, {})
    for path in ("execution.workers.podTemplate", "execution.executors.podTemplate", "operators[0].costs"):
        bad_manifests.edit(made["spec"], path, {})
    return made


def with_few_parts() -> dict[str, Any]:
    """The good manifest without the lists that may be absent."""
    made = copy.deepcopy(bad_manifests.GOOD)
    for path in ("tables", "operators[4].aggregate.by"):
        bad_manifests.edit(made["spec"], path, ABSENT)
    bad_manifests.edit(made["spec"], "execution", {})
    return made


MANIFESTS = {"as it is": bad_manifests.GOOD, "with all parts": with_all_parts(), "with few": with_few_parts()}
HAVE_DEFAULTS = [path for path, node in nodes(SCHEMA) if path.startswith("spec") and "default" in node]


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_schema_fills_in_exactly_what_the_model_fills_in(name: str) -> None:
    manifest = MANIFESTS[name]
    job, _, _ = reading.read(manifest)
    assert job is not None
    by_model = job.spec.model_dump(mode="json", exclude_none=True)
    assert defaulted(manifest["spec"], SCHEMA["properties"]["spec"]) == by_model


@pytest.mark.parametrize("path", HAVE_DEFAULTS)
def test_a_default_that_is_missing_would_be_noticed(path: str) -> None:
    without = changed(path, lambda node: node.pop("default"))["properties"]["spec"]
    specs = [manifest["spec"] for manifest in MANIFESTS.values()]
    assert [spec for spec in specs if defaulted(spec, without) != defaulted(spec, SCHEMA["properties"]["spec"])]


# Rules


def broken_by(case: bad_manifests.Case) -> set[str]:
    """The messages of the rules that the table says a case breaks."""
    return {rule["message"] for _, rule in rules(SCHEMA) if case.server in rule["message"]}


def test_every_rule_is_broken_by_a_case_of_the_table() -> None:
    cases = [case for case in CASES.values() if case.by is By.CEL]
    exercised = set[str]().union(*(broken_by(case) for case in cases))
    # A rule about a change can't be broken by one manifest; the tests with an API server change one.
    lasting = {rule["message"] for _, rule in rules(SCHEMA) if "oldSelf" not in rule["rule"]}
    assert sorted(lasting - exercised) == []
    assert len(lasting) > 25


@pytest.mark.parametrize("sentence", [sentence for sentence, case in CASES.items() if case.by is By.CEL])
def test_a_case_of_the_table_breaks_one_rule_for_the_server_and_for_the_model(sentence: str) -> None:
    case = CASES[sentence]
    (message,) = broken_by(case)
    of_model = {rule.message for part in (streamjob.Spec, streamjob.StreamJob) for rule in part.rules}
    told = [mistake.message for mistake in acceptance.accept(case.manifest).mistakes]
    # Rules across the spec are put in other words here, which name what is meant; all others in the same.
    assert message in of_model or [words for words in told if words.startswith(message)], told


def test_a_rule_without_a_case_would_be_noticed() -> None:
    case = CASES["a retention on a filter"]
    others = [c for c in CASES.values() if c.by is By.CEL and c is not case]
    assert broken_by(case) - set[str]().union(*map(broken_by, others)) == broken_by(case) != set()


# The committed files


def test_the_committed_crds_are_those_of_the_model() -> None:
    committed = {path.name: path.read_text() for path in (TOP / "crds").glob("*")}
    assert committed == command.documents(), "run: make crds"


def test_the_yaml_says_what_the_model_says() -> None:
    (text,) = command.documents().values()
    assert text.startswith("# Made by `spillway crds`")
    assert yaml.safe_load(text) == crds.stream_job()


def test_the_definition_is_of_one_stored_version_with_a_status() -> None:
    spec = crds.stream_job()["spec"]
    assert (spec["group"], spec["scope"], spec["names"]["kind"]) == ("spillway.dev", "Namespaced", "StreamJob")
    assert [(v["name"], v["served"], v["storage"], v["subresources"]) for v in spec["versions"]] == [
        ("v1alpha1", True, True, {"status": {}})
    ]


def test_every_printed_column_names_a_field_that_there_is() -> None:
    known = {f".{path}" for path, _ in nodes(SCHEMA)} | {".metadata.creationTimestamp"}
    columns = crds.stream_job()["spec"]["versions"][0]["additionalPrinterColumns"]
    for column in columns:
        path = column["jsonPath"]
        if "[?(" in path:
            before, _, after = path.partition("[?(")
            kind = after.partition('"')[2].partition('"')[0]
            assert kind in list(status.ConditionType)
            path = f"{before}[]{after.partition(')]')[2]}"
        assert path in known
