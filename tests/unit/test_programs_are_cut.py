"""From segments to programs: ways in and out, what is needed of each, what can't be cut so, and the content address."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import programs
from spillway.runtime.programs import cutting
from spillway.runtime.programs.cutting import CutError
from spillway.runtime.programs.program import MAIN, OTHER, Program

TEXT = """
streams: [{name: events, topic: events, columns: 'k string, a bigint, b bigint, c string, at timestamp', timestamp: at}]
tables:
  - {name: small, topic: small, key: [k], columns: 'k string, label string, more string'}
  - {name: large, topic: large, key: [k], columns: 'k string, size int', distribution: partitioned}
operators:
  - {name: some, input: events, filter: "a > 0"}
  - {name: priced, input: some, select: [k, "a * 2 as twice", "1 / b as never"]}
  - {name: labelled, input: priced, join: {table: small, by: [k]}}
  - name: counts
    input: labelled
    aggregate: {by: ["lower(label) as low"], window: {size: 10s}, values: ["sum(twice) as s"]}
  - {name: many, input: counts, filter: "s > 5"}
  - {name: sized, input: some, join: {table: large, by: [k], type: left}}
outputs: [{name: r, input: many, topic: r}, {name: t, input: sized, topic: t}, {name: e, input: events, topic: e}]
"""
SEGMENTS = {"front": ("some", "priced", "labelled"), "counts": ("counts", "many"), "sized": ("sized",)}


def cut(text: str = TEXT, segments: Any = SEGMENTS) -> dict[str, Program]:
    return {program.name: program for program in cutting.cut(programs.spec(text), segments)}


def test_a_source_that_is_read_by_key_or_copied_gets_a_program_that_reads_it() -> None:
    found = cut()

    assert list(found) == ["events", "large", "front", "counts", "sized"]
    assert [step.name for step in found["events"].steps] == []
    assert [(edge.reader, edge.key) for edge in found["large"].edges] == [("sized", ("`k`",))]
    assert [output.name for output in found["events"].outputs] == ["e"]


def test_a_stream_of_which_there_is_a_program_is_read_through_it() -> None:
    (port,) = (port for port in cut()["front"].ports if not port.broadcast)

    assert port.source is None
    assert (port.label, port.into) == ("some.main", "some")


def test_a_stream_that_nobody_reads_by_key_is_read_from_its_topic() -> None:
    given = TEXT.replace(", {name: e, input: events, topic: e}", "")
    found = cut(given, {**SEGMENTS, "front": ("some", "priced", "labelled")})

    assert "events" not in found
    assert [port.label for port in found["front"].ports] == ["events", "labelled.other"]


def test_only_what_somebody_reads_goes_along_an_edge() -> None:
    found = cut()
    edges = {edge.label: edge for program in found.values() for edge in program.edges}

    assert {label: str(edge.schema) for label, edge in edges.items()} == {
        "some.main": "k string, a bigint, b bigint, c string, at timestamp",
        "sized.other": "k string, size int",
        "sized.main": "k string, a bigint, b bigint, c string, at timestamp",
        "counts.main": "twice bigint, label string",
    }
    assert found["front"].step("priced").result.schema.names == ("k", "twice")


def test_what_is_not_read_is_not_computed() -> None:
    text = TEXT.replace(", {name: t, input: sized, topic: t}, {name: e, input: events, topic: e}", "")
    text = text.replace("  - {name: sized, input: some, join: {table: large, by: [k], type: left}}\n", "")
    text = text.replace(
        "  - {name: large, topic: large, key: [k], columns: 'k string, size int', distribution: partitioned}\n", ""
    )
    found = cut(text, {"front": SEGMENTS["front"], "counts": SEGMENTS["counts"]})

    events, small = found["front"].ports
    assert str(events.schema) == "k string, a bigint, at timestamp"
    assert str(small.schema) == "k string, label string"


def test_an_edge_has_the_key_of_what_reads_it() -> None:
    keys = {edge.label: edge.key for program in cut().values() for edge in program.edges}

    assert keys == {
        "some.main": None,
        "sized.other": ("`k`",),
        "sized.main": ("`k`",),
        "counts.main": ("lower(label) as low",),
    }


def test_rows_of_a_table_stay_in_order_by_the_key_of_the_table() -> None:
    found = cut(segments={**SEGMENTS, "counts": ("counts",), "many": ("many",)})
    (edge,) = found["counts"].edges

    assert edge.key == ("`low`", "`window_start`", "`window_end`")
    assert edge.updates


def test_both_sides_of_a_join_come_by_the_same_key() -> None:
    ports = {port.side: port for port in cut()["sized"].ports}

    assert ports[MAIN].label == "sized.main"
    assert not ports[MAIN].updates
    assert ports[OTHER].updates
    assert not ports[OTHER].broadcast


def test_sources_of_a_merge_share_an_edge() -> None:
    given = programs.example("diamond")
    found = {program.name: program for program in cutting.cut(given, programs.together(given, sources=True))}

    (edge,) = found["readings"].edges
    assert (edge.reader, edge.sources) == ("alarms", ("heat-alarms", "frost-alarms"))
    assert [port.label for port in found["alarms"].ports] == ["alarms.main"]
    assert [port.label for port in found["counts"].ports] == ["counts.main", "counts.combined"]


def test_tables_know_what_they_are_built_from() -> None:
    found = cut()

    (counts,) = found["counts"].states
    assert counts.given[MAIN].schema.names == ("twice", "label")
    assert counts.result.key == ("low", "window_start", "window_end")
    (look_up,) = found["front"].states
    assert look_up.broadcast
    assert look_up.result.schema.names == ("k", "twice", "label")
    assert found["large"].states == ()


@pytest.mark.parametrize(
    ("segments", "why"),
    [
        ({"a": ("some", "priced")}, "no segment has labelled, counts, many, sized"),
        ({**SEGMENTS, "x": ("some",)}, "'some' is in segment 'front' already"),
        ({**SEGMENTS, "x": ("nothing",)}, "segment 'x' has 'nothing', which the job does not have"),
        ({**SEGMENTS, "x": ()}, "segment 'x' is empty"),
        ({"front": ("some", "priced", "labelled", "counts", "many"), "s": ("sized",)}, "'counts' can only be the head"),
        ({"front": ("some", "priced", "many"), "l": ("labelled",)}, "segment 'front' is no tree: 'many' reads counts"),
        ({"front": ("priced", "some"), "l": ("labelled",)}, "segment 'front' is no tree: 'some' reads events"),
        ({**SEGMENTS, "front": ("priced", "labelled"), "events": ("some",)}, "would have its name"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_refused(segments: Any, why: str) -> None:
    with pytest.raises(CutError, match=why):
        cut(segments=segments)


# The content address


def test_the_id_is_the_same_in_every_process_and_version() -> None:
    """A golden one: when the compiler's meaning changes, raise COMPILER and write the new one here."""
    script = (
        "import sys; sys.path.insert(0, 'tests/support'); sys.path.insert(0, 'tests/unit')\n"
        "import test_programs_are_cut as here; print(here.cut()['front'].id)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert found == {cut()["front"].id} == {"fd5c7db7416a6606267c95459c003e8c"}


def test_equal_programs_have_equal_ids_wherever_they_stand() -> None:
    whole, other = cut(), cut(segments={**SEGMENTS, "counts": ("counts",), "many": ("many",)})

    assert whole["front"].id == other["front"].id
    assert whole["counts"].id != other["counts"].id


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a > 0", "a > 1"),
        ("topic: events,", "topic: others,"),
        ("timestamp: at", "keyColumn: kk"),
        ("k string, label string", "k string, label int"),
        ("lower(label) as low", "upper(label) as low"),
        ("table: small, by: [k]", "table: small, by: [k], asOf: latest"),
        ("b bigint", "b int"),
    ],
)  # fmt: skip
def test_whatever_changes_what_a_program_does_changes_its_id(before: str, after: str) -> None:
    assert before in TEXT
    text = TEXT.replace(", {name: e, input: events, topic: e}", "")
    changed = text.replace(before, after).replace(
        "lower(label)", "lower(cast(label as string))" if "int" in after else "lower(label)"
    )

    assert cut(changed)["front"].id != cut(text)["front"].id


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("filter: \"a > 0\"", "filter: \"a > 0\", costs: {cpu: 5ms}, paradigm: record"),
        ("s > 5", "s > 6"),
        ("at timestamp', timestamp: at", "at timestamp', timestamp: at, costs: {cpu: 1ms}"),
    ],
)  # fmt: skip
def test_what_a_program_costs_and_what_others_do_leaves_its_id_alone(before: str, after: str) -> None:
    assert before in TEXT
    assert cut(TEXT.replace(before, after))["front"].id == cut()["front"].id


def test_a_changed_function_is_another_program() -> None:
    given = programs.example("sentiment")
    ids = {
        cutting.cut(given, programs.together(given), {"sentiment:score": digest})[0].id
        for digest in ("one", "other", "one")
    }

    assert len(ids) == 2


def test_streams_that_are_read_as_one_get_programs_that_read_them() -> None:
    text = """
streams: [{name: left, topic: t1, columns: 'a bigint'}, {name: right, topic: t2, columns: 'a bigint'}]
operators: [{name: both, inputs: [left, right], filter: "a > 0"}]
outputs: [{name: r, input: both, topic: r}]
"""
    found = cut(text, {"both": ("both",)})

    assert [(name, [port.label for port in program.ports]) for name, program in found.items()] == [
        ("left", ["left"]),
        ("right", ["right"]),
        ("both", ["both.main"]),
    ]


def test_the_row_of_an_aggregate_over_everything_has_a_key_so_that_its_updates_stay_in_order() -> None:
    text = """
streams: [{name: e, topic: t, columns: 'a bigint'}]
operators: [{name: total, input: e, aggregate: {by: [], values: ["sum(a) as s"]}}]
outputs: [{name: r, input: total, topic: r}]
"""
    spec = programs.spec(text)
    job = programs.Job(spec, cutting.alone(spec)).run({"t": programs.messages([{"a": 1}, {"a": 2}])})

    assert job.rows("r") == [{"s": 1}, {"s": 3}]
    assert job.table("r") == {b"{}": {"s": 3}}
