"""Costs written into a manifest, which stays as somebody wrote it: comments, order and layout. Pure.

Only the text of `costs` of operators is replaced, or put behind what an operator has, on one line. Whoever calls reads
the result again, and compares: nothing else may have changed.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

import yaml

from spillway.cli import manifests
from spillway.model.errors import TerminalError
from spillway.model.streamjob import KIND

FIELD = "costs"
_BLOCK_SCALARS = ("|", ">")


class WritingError(TerminalError):
    """The manifest is written in a way that can't be added to; the message says where."""


def written(text: str, costs: Mapping[str, str]) -> str:
    """The manifest with these costs, as flow mappings, of its operators by name; others stay as they are."""
    edits: list[tuple[int, int, str]] = []
    seen: set[int] = set()
    for name, node in _operators(text):
        if name not in costs:
            continue
        if id(node) in seen:
            message = f"operator {name!r} is written as an alias (*): costs would be those of another one, too"
            raise WritingError(message)
        seen.add(id(node))
        edits.append(_edit(text, node, costs[name]))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def check(before: str, after: str, costs: Collection[str]) -> None:
    """Refuse a text that says anything else than before, but for costs; raises WritingError."""
    was, now = _read(before), _read(after)
    if was is None or now is None or _without(now, costs) != _without(was, costs):
        message = "costs can't be written into this manifest without changing something else; paste them by hand"
        raise WritingError(message)


def _read(text: str) -> dict[str, Any] | None:
    """The StreamJob, as every command reads it; None where a mistake is in it."""
    found = manifests.read("", io.BytesIO(text.encode()))
    jobs = [one.value for one in found if isinstance(one.value, dict) and one.value.get("kind") == KIND]
    return jobs[0] if len(jobs) == 1 and not any(one.mistakes for one in found) else None


def _without(document: Mapping[str, Any], costs: Collection[str]) -> Any:
    """All but the costs of these operators."""
    spec = dict(document["spec"])
    spec["operators"] = [
        {key: value for key, value in one.items() if key != FIELD or one.get("name") not in costs}
        for one in spec["operators"]
    ]
    return {**document, "spec": spec}


def _operators(text: str) -> list[tuple[str, Any]]:
    """The operators of the StreamJob of a file, with their nodes."""
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        fields = _fields(document)
        kind = fields.get("kind")
        if kind is None or kind[1].value != KIND:
            continue
        listed = _fields(_fields(document)["spec"][1])["operators"][1]
        return [(str(_fields(node)["name"][1].value), node) for node in listed.value]
    return []


def _fields(node: Any) -> dict[str, tuple[Any, Any]]:
    return {key.value: (key, value) for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _edit(text: str, node: Any, costs: str) -> tuple[int, int, str]:
    """What is to be replaced by what."""
    fields = _fields(node)
    if FIELD in fields:
        key, value = fields[FIELD]
        return key.end_mark.index, max(_end(text, value), key.end_mark.index), f": {costs}"
    last = node.value[-1][1]
    end = _end(text, last)
    if node.flow_style:
        return end, end, f", {FIELD}: {costs}"
    # Behind the line, so that a comment at its end stays with what it is about.
    line = text.find("\n", end)
    line = len(text) if line < 0 else line
    return line, line, f"\n{' ' * node.value[0][0].start_mark.column}{FIELD}: {costs}"


def _end(text: str, node: Any) -> int:
    """Where the text of a node ends: that of a block goes on to whatever is next, with comments and blank lines."""
    if isinstance(node, yaml.ScalarNode):
        end = int(node.end_mark.index)
        if node.style in _BLOCK_SCALARS:
            while end > 0 and text[end - 1].isspace():
                end -= 1
        return end
    if node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(text, last[1] if isinstance(node, yaml.MappingNode) else last)
