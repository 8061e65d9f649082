"""Which tables can be asked for a key, and by which columns: the manifest and the programs say the same."""

from __future__ import annotations

import pytest

import programs
from spillway.model.streamjob import Spec
from spillway.runtime import point_queries
from spillway.runtime.programs import cutting
from spillway.runtime.worker import tables

TEXT = """
streams:
  - {name: events, topic: events, columns: 'a string, b bigint, n bigint, at timestamp', timestamp: at}
  - {name: others, topic: others, columns: 'a string, m bigint, met_at timestamp', timestamp: met_at}
tables:
  - {name: places, topic: places, columns: 'a string, name string', key: [a]}
operators:
  - {name: kept, input: events, filter: "n > 0"}
  - {name: counts, input: kept, aggregate: {by: [b, a], window: {size: 10s}, values: ["count(*) as c"]}, retention: 1h}
  - {name: total, input: kept, aggregate: {values: ["sum(n) as total"]}}
  - {name: sums, input: kept, aggregate: {by: [a], values: ["sum(n) as total"]}, retention: 1h}
  - {name: most, input: kept, aggregate: {by: [a], values: ["max(n) as most"]}, retention: 1h}
  - {name: both, input: sums, join: {table: most, by: [a]}, retention: 1h}
  - {name: named, input: kept, join: {table: places, by: [a]}, retention: 1h}
  - {name: met, input: kept, join: {stream: others, by: [a], within: 1m}, retention: 1h}
outputs:
  - {name: r, input: counts, topic: r}
  - {name: s, input: total, topic: s}
  - {name: t, input: both, topic: t}
  - {name: u, input: named, topic: u}
  - {name: v, input: met, topic: v}
"""


def of_programs(spec: Spec) -> dict[str, tuple[str, ...]]:
    """What the tables of all programs are asked by, where each keyed operator has a program of its own."""
    digests = {name: function.digest for name, function in programs.loaded(spec).items()}
    cut = cutting.cut(spec, programs.together(spec), digests)
    states = [state for program in cut for state in program.states]
    return {state.name: names for state in states if (names := point_queries.by(state))}


def test_aggregates_are_asked_by_their_groups_and_joins_of_tables_by_their_key() -> None:
    found = of_programs(programs.spec(TEXT))

    assert found == {"counts": ("b", "a"), "sums": ("a",), "most": ("a",), "both": ("a",)}


def test_a_worker_reads_the_same_out_of_a_manifest_as_a_slot_has_in_its_programs() -> None:
    spec = programs.spec(TEXT)

    assert tables.columns(spec) == of_programs(spec)


@pytest.mark.parametrize("example", sorted(file.stem for file in programs.EXAMPLES.glob("*.yaml")))
def test_so_it_is_with_every_example(example: str) -> None:
    spec = programs.example(example)

    assert tables.columns(spec) == of_programs(spec)
