"""Rows that nobody tells apart are counted by the verifier, and only those."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import yaml

from spillway.bench.verifier import bags, expectation
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Assumptions
from spillway.controllers import acceptance
from spillway.model import topology
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft

WORDS = "{name: words, input: lines, explode: {array: \"split(line, ' ')\", as: word, keep: []}}"
REAL = "{name: real, input: words, filter: \"word <> ''\"}"
LINES = ["to be or not to be", "", "be  quick", "to"]


def spec(*operators: str) -> Spec:
    (last,) = [yaml.safe_load(operators[-1])["name"]]
    document: dict[str, Any] = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "bags"},
        "spec": {
            "kafka": {"bootstrapServers": ["localhost:9092"]},
            "latency": {"bound": "500ms", "quantile": 0.99},
            "streams": [{"name": "lines", "topic": "lines", "format": "raw", "columns": "line string"}],
            "operators": [yaml.safe_load(operator) for operator in operators],
            "outputs": [{"name": "result", "input": last, "topic": "out"}],
        },
    }
    accepted = acceptance.accept(document)
    assert accepted.job is not None, accepted.message
    return accepted.job.spec


def exploding(*operators: str) -> frozenset[str]:
    graph, _ = topology.build(Draft.of(spec(*operators)))
    return bags.exploding(graph)


def test_words_that_are_only_counted_are_a_bag() -> None:
    counts = '{name: counts, input: real, aggregate: {by: [word], values: ["count(*) as n", "max(word) as most"]}}'

    assert exploding(WORDS, REAL, counts) == {"words"}


@pytest.mark.parametrize(
    "last",
    [
        "{name: shown, input: real, select: [word]}",
        '{name: windows, input: real, aggregate: {by: [word], window: {size: 10s}, values: ["count(*) as n"]}, '
        "retention: 1h}",
        '{name: all, input: real, aggregate: {by: [word], values: ["collect_set(word) as found"]}}',
    ],
)
def test_words_of_which_more_matters_are_none(last: str) -> None:
    assert exploding(WORDS, REAL, last) == frozenset()


def test_counts_of_a_bag_are_those_of_its_words() -> None:
    counts = '{name: counts, input: real, aggregate: {by: [word], values: ["count(*) as n"]}}'
    records = [Record(0, i, None, line.encode(), 1_000 + i) for i, line in enumerate(LINES)]

    (expected,) = expectation.expected(spec(WORDS, REAL, counts), {"lines": records}, Assumptions())

    found = {row.values: row.appended for row in expected.relation.rows}
    wanted = collections.Counter(word for line in LINES for word in line.split())
    assert found.keys() == set(wanted.items())
    assert found["to", 3] == 1_003  # the last line that it needed
