"""Costs are written into a manifest as it was written: comments, order and layout stay."""

from __future__ import annotations

import pytest

from spillway.cli.profiling import writing
from spillway.cli.profiling.writing import WritingError

HEAD = """\
# A job of mine.
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: mine}
spec:
  kafka: {bootstrapServers: ["localhost:9092"]}
  latency: {bound: 500ms, quantile: 0.99}
  streams:
    - {name: lines, topic: lines, format: raw, columns: "line string"}
  operators:
"""
TAIL = """\
  outputs:
    - {name: result, input: kept, topic: out}  # who reads this?
"""
COSTS = {"kept": "{cpu: 2us, selectivity: 0.5}"}


def manifest(*operators: str) -> str:
    return HEAD + "".join(f"{line}\n" for line in operators) + TAIL


CASES = {
    "an operator on one line gets them behind what it has": (
        ('    - {name: kept, input: lines, filter: "true"}  # mine',),
        ('    - {name: kept, input: lines, filter: "true", costs: {cpu: 2us, selectivity: 0.5}}  # mine',),
    ),
    "costs that are there are replaced, and nothing around them": (
        ("    - {name: kept, costs: {cpu: 1us}, input: lines, filter: 'true' }",),
        ("    - {name: kept, costs: {cpu: 2us, selectivity: 0.5}, input: lines, filter: 'true' }",),
    ),
    "an operator on several lines gets a line more, behind its comments": (
        ("    - name: kept", "      input: lines", "      filter: >-", "        line <> ''", "        and true", ""),
        (
            "    - name: kept",
            "      input: lines",
            "      filter: >-",
            "        line <> ''",
            "        and true",
            "      costs: {cpu: 2us, selectivity: 0.5}",
            "",
        ),
    ),
    "a comment behind the last line stays there": (
        ("    - name: kept", "      input: lines", "      filter: 'true'  # all of them", "    # the end"),
        (
            "    - name: kept",
            "      input: lines",
            "      filter: 'true'  # all of them",
            "      costs: {cpu: 2us, selectivity: 0.5}",
            "    # the end",
        ),
    ),
    "costs on several lines become one": (
        (
            "    - name: kept",
            "      costs:",
            "        cpu: 1us",
            "        fetch: 3us",
            "      input: lines",
            "      filter: 'true'",
        ),
        ("    - name: kept", "      costs: {cpu: 2us, selectivity: 0.5}", "      input: lines", "      filter: 'true'"),
    ),
    "operators that were not profiled stay as they are": (
        ("    - {name: other, input: lines, filter: 'true', costs: {cpu: 9us}}",),
        ("    - {name: other, input: lines, filter: 'true', costs: {cpu: 9us}}",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_manifest_with_costs(case: str) -> None:
    before, after = CASES[case]
    found = writing.written(manifest(*before), COSTS)
    assert found == manifest(*after)
    writing.check(manifest(*before), found, COSTS)


def test_other_documents_of_the_file_are_left_alone() -> None:
    other = "kind: ConfigMap\nspec: {operators: [{name: kept, input: x}]}\n---\n"
    text = other + manifest("    - {name: kept, input: lines, filter: 'true'}")
    found = writing.written(text, COSTS)
    assert found.startswith(other)
    assert COSTS["kept"] in found


def test_whatever_else_would_change_is_refused() -> None:
    text = manifest("    - {name: kept, input: lines, filter: 'true'}")
    changed = writing.written(text, COSTS).replace("topic: out", "topic: in")
    with pytest.raises(WritingError, match="paste them by hand"):
        writing.check(text, changed, COSTS)


def test_an_alias_is_refused() -> None:
    text = manifest("    - &one {name: kept, input: lines, filter: 'true'}", "    - *one")
    with pytest.raises(WritingError, match="alias"):
        writing.written(text, COSTS)
