"""CustomResourceDefinitions, made from the model: what the API server can refuse, it refuses.

pydantic gives a JSON schema; the API server wants a *structural* one: no references, no `anyOf`, defaults written
out, every string, list and map bounded (that is also what lets it bound the cost of CEL rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import json_schema

from spillway.model import parts, quantities, streamjob

Schema = dict[str, Any]

# What is copied as it is. Everything else of JSON schema is either translated below or has no place in a CRD.
_KEPT = (
    "type", "description", "default", "enum", "pattern", "format", "minLength", "maxLength", "minimum", "maximum",
    "minItems", "maxItems", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
)  # fmt: skip

_INT32 = 2**31 - 1

COLUMNS = (
    ("Ready", '.status.conditions[?(@.type=="Ready")].status', "Whether every partition has an owner.", 0),
    ("Latency", '.status.conditions[?(@.type=="LatencyMet")].reason', "Whether the promise is kept.", 0),
    ("Workers", ".status.workers.summary", "Worker pods: present/wanted.", 0),
    ("Executors", ".status.executors.summary", "Spark executors: present/wanted.", 0),
    ("Paradigm", ".status.paradigm", "record, batch or mixed.", 0),
    ("Reason", '.status.conditions[?(@.type=="Ready")].reason', "Why the job is ready, or not.", 1),
)


def stream_job() -> Schema:
    """The CRD of StreamJob."""
    names = {
        "kind": streamjob.KIND,
        "listKind": f"{streamjob.KIND}List",
        "plural": "streamjobs",
        "singular": "streamjob",
        "shortNames": ["sj"],
        "categories": ["all", "spillway"],
    }
    columns: list[Schema] = [
        {"name": name, "type": "string", "jsonPath": path, "description": text, "priority": priority}
        for name, path, text, priority in COLUMNS
    ]
    columns.insert(5, {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
    version = {
        "name": streamjob.VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema()},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{streamjob.GROUP}"},
        "spec": {"group": streamjob.GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


class _Generator(json_schema.GenerateJsonSchema):
    """Writes defaults as people would: `60s` for a duration, only the fields that are set for a part."""

    def encode_default(self, dft: Any) -> Any:
        """The default of a field as JSON."""
        if isinstance(dft, parts.Part):
            return dft.model_dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(dft, quantities.Duration | quantities.MemorySize):
            return str(dft)
        return super().encode_default(dft)


def schema() -> Schema:
    """The structural schema of a StreamJob."""
    made = streamjob.StreamJob.model_json_schema(schema_generator=_Generator)
    root = _structural(made, made.get("$defs", {}))
    fields = root["properties"]
    # The API server knows these itself, and takes no rules about them but through the object.
    fields["apiVersion"] = {"type": "string", "description": fields["apiVersion"]["description"]}
    fields["kind"] = {"type": "string", "description": fields["kind"]["description"]}
    fields["metadata"] = {"type": "object"}
    root["required"] = ["spec"]
    return root


def _structural(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """One node of the schema, with everything inside it."""
    node = _resolved(node, definitions)
    made: Schema = {key: node[key] for key in _KEPT if key in node}
    if "const" in node:
        made["enum"] = [node["const"]]
    if "items" in node:
        made["items"] = _structural(node["items"], definitions)
        made["x-kubernetes-list-type"] = "map" if "listKey" in node else "atomic"
    if "listKey" in node:
        made["x-kubernetes-list-map-keys"] = [node["listKey"]]
    if "properties" in node:
        made["properties"] = {name: _structural(field, definitions) for name, field in node["properties"].items()}
        if "required" in node:
            made["required"] = list(node["required"])
    if made.get("type") == "integer":
        made["format"] = "int32" if made.get("maximum", _INT32 + 1) <= _INT32 else "int64"
    if "enum" in made:
        made.pop("maxLength", None)
    return made


def _resolved(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """The node without references and without `X or null`; what stands beside a reference wins over what it names."""
    if "anyOf" in node:
        (real,) = [option for option in node["anyOf"] if option.get("type") != "null"]
        beside = {key: value for key, value in node.items() if key != "anyOf" and (key, value) != ("default", None)}
        return {**_resolved(real, definitions), **beside}
    if "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return {**_resolved(definitions[node["$ref"].rpartition("/")[2]], definitions), **beside}
    return dict(node)
