"""Whatever manifest was accepted, at whatever rate: a question that makes sense, and a plan that can be shown."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fuzzing
import plans
from spillway.cli.planning import answers, sheets
from spillway.controllers.costmodel import bottlenecks, flow
from spillway.controllers.costmodel.flow import Setting
from spillway.controllers.planning import jobs, planner
from spillway.controllers.planning.problem import Chaining

pytestmark = pytest.mark.fuzz

STEP_KINDS = ("filter", "select", "explode", "map", "flatMap", "broadcast", "partitioned", "aggregate", "stream")
COSTS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    {},
    {"cpu": "1us"},
    {"selectivity": 0},
    {"cpu": "20us", "fetch": "9us", "emit": "3us"},
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(STEP_KINDS),
        st.integers(0, 10**6),  # which of the streams so far it reads
        st.sampled_from([None, None, "record", "batch", "auto"]),
        st.sampled_from(COSTS),
    ),
    min_size=1,
    max_size=6,
)
SIZES = st.fixed_dictionaries(
    {
        "paradigm": st.sampled_from(["auto", "record", "batch"]),
        "workers": st.fixed_dictionaries({"max": st.integers(1, 20), "slots": st.integers(1, 4)}),
        "executors": st.fixed_dictionaries({"min": st.just(0), "max": st.integers(1, 4)}),
    }
)
RATES = st.one_of(st.just(0.0), st.floats(0.01, 1e7))
KINDS: dict[str, dict[str, Any]] = {
    "filter": {"filter": "price > 10"},
    "select": {"select": ["user", "price * 2 as price", "page"]},
    "explode": {"explode": {"array": "split(page, '/')", "as": "part"}},
    "map": {"python": {"function": "m:f", "as": "map", "returns": "user string, price double, page string"}},
    "flatMap": {"python": {"function": "m:f", "as": "flatMap", "returns": "user string, price double, page string"}},
    "broadcast": {"join": {"table": "small", "by": ["user"]}},
    "partitioned": {"join": {"table": "large", "by": ["user"]}},
    "aggregate": {"aggregate": {"by": ["user"], "window": {"size": "10s", "slide": "5s"}, "values": ["count(*) as n"]}},
    "stream": {"join": {"stream": "other", "by": ["user"], "within": "5s"}},
}
# What comes out of these can be read like what went in; of the others nobody reads on.
GOES_ON = ("filter", "select", "map", "flatMap")


def manifest(
    steps: list[tuple[str, int, str | None, dict[str, Any] | None]], execution: dict[str, Any]
) -> dict[str, Any]:
    """A job of these steps; whoever nobody reads has an output."""
    operators, streams = [], ["main"]
    for i, (kind, which, paradigm, costs) in enumerate(steps):
        name, read = f"op{i}", streams[which % len(streams)]
        given = {"paradigm": paradigm} if paradigm and not (paradigm == "batch" and kind == "stream") else {}
        known = {"costs": costs} if costs is not None else {}
        operators.append({"name": name, "input": read, **KINDS[kind], **given, **known})
        if kind in GOES_ON:
            streams.append(name)
    used = {operator["input"] for operator in operators}
    kinds = {kind for kind, *_ in steps}
    ends = [operator["name"] for operator in operators if operator["name"] not in used]
    tables = [
        {
            "name": table,
            "topic": table,
            "key": ["user"],
            "columns": f"user string, of_{table} string",
            "distribution": how,
        }
        for table, how, kind in (("small", "broadcast", "broadcast"), ("large", "partitioned", "partitioned"))
        if kind in kinds
    ]
    other = [{"name": "other", "topic": "other", "columns": "user string, total double"}] if "stream" in kinds else []
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "random"},
        "spec": {
            "kafka": {"bootstrapServers": ["kafka:9092"]},
            "latency": {"bound": "500ms"},
            "streams": [{"name": "main", "topic": "main", "columns": "user string, price double, page string"}, *other],
            **({"tables": tables} if tables else {}),
            "operators": operators,
            "outputs": [{"name": f"o{i}", "input": end, "topic": f"out{i}"} for i, end in enumerate(ends)],
            "execution": execution,
        },
    }


@fuzzing.cases(150)
@given(STEPS, SIZES, RATES)
def test_an_accepted_job_asks_a_question_that_the_cost_model_understands(
    steps: Any, execution: dict[str, Any], rate: float
) -> None:
    job = plans.accepted(manifest(steps, execution))
    asked = jobs.problem(job, {stream.name: rate for stream in job.spec.streams})
    flow.check_workload(asked.flow, asked.workload)
    worked = [node for node in asked.flow.nodes if not node.is_topic]
    assert {node.name for node in asked.flow.nodes if node.is_topic} == asked.topics
    assert {node.name for node in worked} == asked.traits.keys()
    assert {operator.name for operator in job.spec.operators} <= asked.traits.keys()
    for node in worked:
        assert node.inputs or node.fetch == 0
        assert asked.traits[node.name].batchable or asked.traits[node.name].keyed
        # Nobody reads a topic by a key that its writers did not choose, but for a table by its own.
        streams = {stream.name for stream in job.spec.streams} & set(node.inputs)
        assert not (asked.traits[node.name].keyed and streams & asked.topics)
    loads = bottlenecks.detect(asked.flow, {node.name: Setting(1, 1) for node in asked.flow.nodes}, asked.workload)
    assert all(math.isfinite(load.rate_in) for load in loads)
    assert all(line and line.isprintable() for line in jobs.assumed(job))


@fuzzing.cases(15)
@given(STEPS, SIZES, st.floats(1, 1e7), st.sampled_from(Chaining))
def test_an_accepted_job_is_planned_and_shown(
    steps: Any, execution: dict[str, Any], rate: float, chaining: Chaining
) -> None:
    job = plans.accepted(manifest(steps, execution))
    rates = {stream.name: rate for stream in job.spec.streams}
    asked = jobs.problem(job, rates, chaining=chaining)
    planned = planner.plan(asked)
    assume(planned.plan is not None)
    order = [node.name for node in asked.flow.nodes]
    found = answers.answer(planned, asked.promise, order, jobs.assumed(job))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [row["name"] for row in found["operators"]] == [name for name in order if name not in asked.topics]
    screen = io.StringIO()
    head = sheets.Asked("random", rates, asked.promise, asked.headroom, jobs.assumed(job))
    sheets.show(planned, head, sheets.console(screen, width=80))
    assert max(map(len, screen.getvalue().splitlines())) <= 80
