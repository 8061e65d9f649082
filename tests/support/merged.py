"""Several jobs as the parts of one: a job that has them all runs in the same few processes, and each is judged alone.

Names of a part's streams, tables, operators and outputs, and its topics, begin with the name of the part.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from running_job import accepted
from spillway.bench.inputs import Message
from spillway.model.streamjob import Spec

KINDS = ("streams", "tables", "operators", "outputs")


@dataclasses.dataclass(frozen=True)
class Part:
    """A job beside others.

    Attributes:
        name: of letters and digits.
        spec: its streams, tables, operators and outputs, as in a manifest.
        messages: what its topics get, in the order of their times.
        code: where its functions are.
    """

    name: str
    spec: dict[str, Any]
    messages: Sequence[Message]
    code: Path | None = None


def document(name: str, bootstrap: str, parts: Iterable[Part], **more: Any) -> dict[str, Any]:
    """The manifest of a job of this name that has all parts; `more` stands in its spec too."""
    spec: dict[str, Any] = {"kafka": {"bootstrapServers": [bootstrap]}, "latency": {"bound": "1s"}, **more}
    for part in parts:
        renamed = _renamed(part, name)
        for kind in KINDS:
            spec.setdefault(kind, []).extend(renamed[kind])
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "test"},
        "spec": {key: value for key, value in spec.items() if value != []},
    }


def alone(name: str, bootstrap: str, part: Part, **more: Any) -> Spec:
    """The spec that a part has by itself, in the job of this name."""
    return accepted(document(name, bootstrap, [part], **more)).spec


def topic(job: str, part: Part, name: str) -> str:
    """What a topic of a part is called in a job."""
    return f"{job}.{part.name}.{name}"


def module(job: str, name: str) -> str:
    """What a module of functions is called in a job: a process that has read one does not read another of its name."""
    return f"{job}_{name}"


def _renamed(part: Part, job: str) -> dict[str, list[dict[str, Any]]]:
    found = {kind: copy.deepcopy(part.spec.get(kind, [])) for kind in KINDS}
    for each in (each for kind in KINDS for each in found[kind]):
        each["name"] = f"{part.name}-{each['name']}"
        if "topic" in each:
            each["topic"] = topic(job, part, each["topic"])
        if "input" in each:
            each["input"] = f"{part.name}-{each['input']}"
        if "inputs" in each:
            each["inputs"] = [f"{part.name}-{name}" for name in each["inputs"]]
        if "python" in each:
            each["python"]["function"] = f"{module(job, '')}{each['python']['function']}"
        for side in ("table", "stream"):
            if side in each.get("join", ()):
                each["join"][side] = f"{part.name}-{each['join'][side]}"
    return found
