"""What a StreamJob asks of planning: nodes, costs, promise and room, and what is said of what is only assumed."""

# ruff: noqa: E501 - a table reads best with a case in each line

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

import plans
from spillway.controllers.costmodel import resources
from spillway.controllers.costmodel.flow import Costs, Node
from spillway.controllers.planning import jobs, typical
from spillway.controllers.planning.problem import Chaining, Problem
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob

MICRO = 1e-6
JOB = """\
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: shop}
spec:
  kafka: {bootstrapServers: ["kafka:9092"]}
  latency: {bound: 200ms, quantile: 0.95}
  streams:
    - {name: sales, topic: sales, columns: "user string, price double"}
    - {name: clicks, topic: clicks, columns: "user string, page string"}
  tables:
    - {name: users, topic: users, key: [user], columns: "user string, country string"}
    - {name: pages, topic: pages, key: [page], columns: "page string, words array<string>", distribution: partitioned}
  operators:
    - {name: dear, input: sales, filter: "price > 10", costs: {cpu: 2us, fetch: 3us, emit: 4us, selectivity: 0.25, recordSize: 50}}
    - {name: located, input: dear, join: {table: users, by: [user]}}
    - {name: seen, input: clicks, join: {table: pages, by: [page]}}
    - {name: words, input: seen, explode: {array: words, as: word, keep: [user]}}
    - {name: counts, input: words, aggregate: {by: [word], window: {size: 10s, slide: 2s}, values: ["count(*) as n"]}}
  outputs:
    - {name: first, input: located, topic: first}
    - {name: second, input: counts, topic: second}
    - {name: third, input: counts, topic: third}
"""


def job(*edits: tuple[str, str]) -> StreamJob:
    text = JOB
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return plans.accepted(yaml.safe_load(text))


def asked(*edits: tuple[str, str], **options: Any) -> Problem:
    return jobs.problem(job(*edits), {"sales": 100.0, "clicks": 50.0}, **options)


def node(name: str, *edits: tuple[str, str]) -> Node:
    return asked(*edits).flow[name]


def costs(name: str, *edits: tuple[str, str]) -> tuple[Any, ...]:
    """Of a node with one output: cpu, fetch, emit in microseconds, and selectivity, all of them but for rounding."""
    found = node(name, *edits)
    (output,) = found.outputs
    figures = (found.cpu / MICRO, found.fetch / MICRO, output.emit / MICRO, output.selectivity)
    return tuple(pytest.approx(float(figure)) for figure in figures)


def execution(text: str) -> tuple[str, str]:
    return ("  outputs:\n", f"  execution: {{{text}}}\n  outputs:\n")


# Who takes part


def test_operators_and_what_they_read_are_the_nodes() -> None:
    flow = asked().flow
    assert {n.name: n.inputs for n in flow.nodes} == {
        "sales": (), "clicks": (), "pages": (),
        "dear": ("sales",), "located": ("dear",), "seen": ("clicks", "pages"), "words": ("seen",), "counts": ("words",),
    }  # fmt: skip


def test_a_stream_that_is_read_without_a_key_is_a_topic_and_costs_nothing() -> None:
    problem = asked()
    assert problem.topics == {"sales", "pages"}
    sales = problem.flow["sales"]
    assert (sales.is_topic, sales.cpu, sales.fetch, sales.outputs[0].emit) == (True, 0.0, 0.0, 0.0)


def test_a_stream_with_costs_is_a_segment_of_its_own() -> None:
    edit = (
        "{name: sales, topic: sales,",
        "{name: sales, costs: {cpu: 1us, emit: 2us, selectivity: 0.5}, topic: sales,",
    )
    assert asked(edit).topics == {"pages"}
    assert costs("sales", edit) == (1.0, 0.0, 2.0, 0.5)
    assert not asked(edit).flow["sales"].is_topic


KEYED = {
    "a join with a partitioned table": ("seen", "clicks", ()),
    "an aggregate": ("dear", "sales", (("filter: \"price > 10\", costs: {cpu: 2us, fetch: 3us, emit: 4us, selectivity: 0.25, recordSize: 50}", "aggregate: {by: [user], values: [\"sum(price) as total\"]}"), ("{table: users, by: [user]}", "{table: users, by: [user], type: full}"))),
    "a join of two streams": ("seen", "clicks", (("{table: pages, by: [page]}", "{stream: sales, by: [user], within: 5s}"), ("array: words", "array: \"split(page, '/')\""), ("    - {name: pages, topic: pages, key: [page], columns: \"page string, words array<string>\", distribution: partitioned}\n", ""))),
}  # fmt: skip


@pytest.mark.parametrize("sentence", KEYED)
def test_what_is_read_by_key_has_to_be_partitioned_by_somebody(sentence: str) -> None:
    reader, stream, edits = KEYED[sentence]
    problem = asked(*edits)
    assert stream not in problem.topics
    assert costs(stream, *edits) == (0.67, 0.0, 1.02, 1.0)
    assert (problem.traits[reader].keyed, problem.traits[reader].batchable) == (True, False)
    assert [line for line in jobs.assumed(job(*edits)) if line.startswith(f"{stream} is a step of its own: ")]


def test_a_table_is_partitioned_by_the_key_that_it_is_joined_by() -> None:
    assert "pages" in asked().topics


def test_an_output_that_takes_a_stream_as_it_is_makes_it_a_step() -> None:
    edit = ("input: located, topic: first", "input: sales, topic: first")
    problem = asked(edit, ("    - {name: third, input: counts", "    - {name: third, input: located"))
    assert "sales" not in problem.topics
    # It reads each record for 0.67 us, and writes it into the topic of the output for 1.02 us.
    assert float(problem.flow["sales"].cpu) == pytest.approx(1.69 * MICRO)


def test_a_table_that_all_owners_have_flows_nowhere() -> None:
    problem = asked()
    assert "users" not in {n.name for n in problem.flow.nodes}
    assert (problem.traits["located"].keyed, problem.traits["located"].batchable) == (False, True)


# Costs


def test_declared_costs_are_taken_as_they_are() -> None:
    # Nothing is added for reading the topic: a cost that somebody declared is that of the whole record.
    assert costs("dear") == (2.0, 3.0, 4.0, 0.25)
    assert node("dear").outputs[0].record_size == 50


def test_what_is_not_declared_is_typical_field_by_field() -> None:
    edit = ("costs: {cpu: 2us, fetch: 3us, emit: 4us, selectivity: 0.25, recordSize: 50}", "costs: {cpu: 2us}")
    assert costs("dear", edit) == (2.0, 0.67, 1.02, 1.0)


def test_measured_costs_come_before_declared_ones() -> None:
    measured = Costs(7 * MICRO, 8 * MICRO, 9 * MICRO, 0.125, 10)
    problem = jobs.problem(job(), {}, measured={"dear": measured, "sales": measured, "users": measured})
    assert (float(problem.flow["dear"].cpu), problem.flow["dear"].fetch) == (measured.cpu, measured.fetch)
    assert problem.topics == {"pages"}, "a stream that was measured is a step of its own"
    assert "users" not in {n.name for n in problem.flow.nodes}


TYPICAL = {
    "a filter that reads a topic": ("dear", (("costs: {cpu: 2us, fetch: 3us, emit: 4us, selectivity: 0.25, recordSize: 50}", "costs: {recordSize: 50}"),), 0.065 + 0.67, 1.0),
    "a join with a table of all owners, and an output": ("located", (), 0.065 + 0.25 + 1.02, 1.0),
    "a join with a partitioned table keeps its rows": ("seen", (), 0.065 + 0.25 + 0.21 + 0.67, 1.0),
    "an explode pays for each element": ("words", (), 0.065 + 8 * 0.1, 8.0),
    "an explode with a selectivity pays for that": ("words", (("as: word, keep: [user]}", "as: word, keep: [user]}, costs: {selectivity: 3}"),), 0.065 + 3 * 0.1, 3.0),
    "an aggregate pays for each window, and each of two outputs": ("counts", (), 0.065 + 5 * 0.21 + 2 * 5 * 1.02, 5.0),
    "a function of the user": ("words", (("explode: {array: words, as: word, keep: [user]}", "python: {function: \"m:f\", as: flatMap, returns: \"word string\"}"),), 0.065 + 5, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("sentence", TYPICAL)
def test_typical_costs(sentence: str) -> None:
    name, edits, cpu, selectivity = TYPICAL[sentence]
    found = node(name, *edits)
    assert float(found.cpu) == pytest.approx(cpu * MICRO)
    assert found.outputs[0].selectivity == selectivity


def test_a_join_of_two_streams_writes_down_every_record() -> None:
    problem = jobs.problem(plans.example("windowed-join"), {})
    assert float(problem.flow["joined"].cpu) == pytest.approx((0.065 + 0.25 + 0.21 + 0.94) * MICRO)


def test_a_record_is_as_large_as_its_columns() -> None:
    sizes = {name: asked().flow.owners[name].outputs[0].record_size for name in ("sales", "seen", "counts")}
    # In the topic with the names of fields, in frames without: a string 24, a double 9, an array eight of its elements.
    assert sizes == {"sales": 4 + 4 + 24 + 5 + 4 + 9, "seen": 24 + 24 + 8 * 24, "counts": 24 + 9 + 9 + 9}


# The promise, and what may be had


def test_the_promise_and_the_policy_are_those_of_the_job() -> None:
    problem = asked(("  outputs:\n", "  policy: {headroom: 0.35}\n  outputs:\n"))
    assert (problem.promise.bound, problem.promise.quantile, problem.headroom) == (0.2, 0.95, 0.35)


def test_room_is_what_the_job_may_have_at_the_most() -> None:
    problem = asked(execution("workers: {max: 5, slots: 3}, executors: {max: 2, cores: 4}"))
    assert (problem.room.slots, problem.room.cores, problem.slot.sharing) == (15, 8, 3)
    assert problem.schedule == typical.SCHEDULE


def test_without_executors_there_is_no_batch_engine() -> None:
    problem = asked(execution("executors: {min: 0, max: 0}"))
    assert (problem.room.cores, problem.schedule) == (0, None)


def test_rates_are_those_of_streams_and_tables_are_quiet_unless_told() -> None:
    assert asked().workload == {"sales": 100.0, "clicks": 50.0, "pages": 0.0}
    assert jobs.problem(job(), {"pages": 7.0}).workload == {"sales": 0.0, "clicks": 0.0, "pages": 7.0}


def test_chaining_is_handed_on() -> None:
    assert asked().chaining is Chaining.AUTO
    assert asked(chaining=Chaining.NEVER).chaining is Chaining.NEVER


PINS = {
    "nothing said": ((), {"dear": "auto", "seen": "auto", "counts": "auto"}),
    "record for all": ((execution("paradigm: record"),), {"dear": "record", "seen": "record", "counts": "record"}),
    "batch for all is for all that may": ((execution("paradigm: batch"),), {"dear": "batch", "seen": "record", "counts": "record", "clicks": "batch"}),
    "one operator says otherwise": ((execution("paradigm: batch"), ("{name: dear,", "{name: dear, paradigm: auto,")), {"dear": "auto", "located": "batch"}),
    "an aggregate in batches merges all the same": ((("{name: counts,", "{name: counts, paradigm: batch,"),), {"counts": "record"}),
    "a join that can't is told so by the planner": ((("{name: seen,", "{name: seen, paradigm: batch,"),), {"seen": "batch"}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", PINS)
def test_pins(sentence: str) -> None:
    edits, pins = PINS[sentence]
    traits = asked(*edits).traits
    assert {name: str(traits[name].pinned) for name in pins} == pins


def test_no_window_holds_a_result_back() -> None:
    assert all(traits.window is None for traits in asked().traits.values())


# What is assumed


def test_what_nobody_declared_is_named() -> None:
    assert jobs.assumed(job()) == (
        "typical costs of clicks, located, seen, words, counts; declare `costs` to plan with your own",
        "words: 8 records out for one in; declare `costs.selectivity` where it is otherwise",
        "clicks is a step of its own: seen reads it by key, so somebody has to sort its records into partitions",
        "the log takes 1.1 ms from one segment to the next",
        "a micro-batch takes 30 to 60 ms beside its records, and a core does as much as a slot",
    )


def test_very_many_names_are_counted() -> None:
    document = yaml.safe_load(JOB)
    words = document["spec"]["operators"][3]
    for i in range(10):
        document["spec"]["operators"].append({**copy.deepcopy(words), "name": f"words{i}"})
        document["spec"]["outputs"].append({"name": f"o{i}", "input": f"words{i}", "topic": f"o{i}"})
    first = jobs.assumed(plans.accepted(document))[0]
    assert first.startswith("typical costs of clicks, located, seen, words, ")
    assert " and 9 more; " in first


def test_a_job_with_all_costs_assumes_only_the_platform() -> None:
    assert jobs.assumed(plans.example("linear-road")) == (
        "the log takes 1.1 ms from one segment to the next",
        "a micro-batch takes 30 to 60 ms beside its records, and a core does as much as a slot",
    )


# The golden row


def test_linear_road_gets_the_row_of_the_thesis() -> None:
    problem = jobs.problem(plans.example("linear-road"), {"spout": 500_000.0}, chaining=Chaining.NEVER)
    found = resources.minimise(problem.flow, problem.workload, problem.slot)
    settings = {name: (setting.parallelism, setting.frame) for name, setting in found.settings.items()}
    # The thesis has sinks that send nothing; ours pay s·c_emit, at rates that don't change a slot or a frame.
    assert settings == {
        "spout": (1, 15), "parse": (2, 387), "agg": (2, 1), "block": (1, None), "mv": (1, 1), "toll": (1, None)
    }  # fmt: skip
    assert float(problem.flow["toll"].cpu) == pytest.approx((4.5 + 2.6) * MICRO)
    assert problem.traits["spout"].pinned is Paradigm.AUTO


@pytest.mark.parametrize("path", plans.EXAMPLES, ids=lambda path: path.stem)
def test_every_example_asks_a_question_that_makes_sense(path: Any) -> None:
    example = plans.example(path.stem)
    problem = jobs.problem(example, {stream.name: 1000.0 for stream in example.spec.streams})
    assert {source.name for source in problem.flow.sources} == problem.workload.keys()
    assert problem.topics <= problem.workload.keys()
    assert problem.traits.keys() == {n.name for n in problem.flow.nodes} - problem.topics
    assert {operator.name for operator in example.spec.operators} <= problem.traits.keys()
