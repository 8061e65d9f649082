"""The reference of the API as Markdown, made from the same model as the CRD."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spillway.model import crds, status

_HEADER = "<!-- Made by `make docs` from the model; changes here are lost. -->\n"


def stream_job() -> str:
    """Every field of a StreamJob: type, default, bounds, meaning, and the rules between fields."""
    schema = crds.schema()["properties"]
    parts = [
        f"{_HEADER}\n# StreamJob\n",
        "`apiVersion: spillway.dev/v1alpha1`, `kind: StreamJob`. The name has small letters, digits and `-`, begins"
        " with a letter, and is at most 40 long.\n",
        "**bold** fields are required. A duration is a number with one of the units ns, us, ms, s, m, h; memory is a"
        " whole number with Ki, Mi, Gi, Ti, k, M, G or T.\n",
    ]
    for section in ("spec", "status"):
        parts += _section(section, schema[section])
    return "\n".join(parts)


def conditions() -> str:
    """Every type of condition, and every reason with the types that it appears under."""
    parts = [
        f"{_HEADER}\n# Conditions\n",
        "The status of a StreamJob speaks through conditions. Types and reasons are closed sets and part of the API:"
        " alerts and scripts may match on them.\n",
        "| type | says |\n|---|---|",
        *(f"| `{kind}` | {meaning} |" for kind, meaning in status.TYPES.items()),
        "\n## Reasons\n",
        "| reason | of | means |\n|---|---|---|",
    ]
    for reason, (kinds, meaning) in status.REASONS.items():
        parts.append(f"| `{reason}` | {', '.join(kinds)} | {meaning} |")
    return "\n".join(parts) + "\n"


def _section(path: str, node: Mapping[str, Any]) -> Iterator[str]:
    """A table of the fields at a path, its rules, and the same for everything inside."""
    yield f"\n## {path}\n"
    yield f"{node['description']}\n"
    yield "| field | type | default | meaning |\n|---|---|---|---|"
    inside = []
    for name, field in node["properties"].items():
        required = name in node.get("required", ())
        shown = f"**`{name}`**" if required else f"`{name}`"
        yield f"| {shown} | {_type(field)} | {_default(field)} | {_cell(field['description'])}{_bounds(field)} |"
        target, suffix = (field["items"], "[]") if field["type"] == "array" else (field, "")
        if "properties" in target:
            inside.append((f"{path}.{name}{suffix}", target))
    rules = [rule["message"] for rule in node.get("x-kubernetes-validations", ())]
    if rules:
        yield "\nRules:\n"
        yield from (f"- {rule}" for rule in rules)
    for deeper, target in inside:
        yield from _section(deeper, target)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _type(field: Mapping[str, Any]) -> str:
    if field["type"] == "array":
        return f"list of {_type(field['items'])}"
    if "enum" in field:
        return " \\| ".join(f"`{value}`" for value in field["enum"])
    if "(ns|us|ms|s|m|h)" in field.get("pattern", ""):
        return "duration"
    if "(Ki|Mi|Gi|Ti" in field.get("pattern", ""):
        return "memory"
    kind = str(field["type"])
    return {"integer": "whole number", "object": "mapping", "string": "text"}.get(kind, kind)


def _default(field: Mapping[str, Any]) -> str:
    if "default" not in field or isinstance(field["default"], dict) or field["default"] in ("", []):
        return ""
    value = field["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _bounds(field: Mapping[str, Any]) -> str:
    """What the schema allows, in words."""
    said = [rule["message"] for rule in field.get("x-kubernetes-validations", ()) if "properties" not in field]
    if "minimum" in field and "maximum" in field:
        said.append(f"from {field['minimum']:g} to {field['maximum']:,}")
    if "minItems" in field or ("maxItems" in field and field["type"] == "array"):
        least = f"{field['minItems']} to " if field.get("minItems") else "at most "
        said.append(f"{least}{field['maxItems']} entries")
    return f" ({'; '.join(said)})" if said else ""
