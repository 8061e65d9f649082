"""However a topology is cut into programs, the result is the same, and the one that plain Python computes."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import topologies
from fuzzing import cases
from programs import Job, messages
from spillway.runtime import frames
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting
from spillway.runtime.programs.running import Running

CODE = Path(__file__).parents[1] / "support" / "user_code"
LABELS = [{"k": k, "label": label} for k, label in topologies.LABELS.items()]
# Seeds, not dice of hypothesis: it would take longer to draw a topology number by number than to run it.
seeds = st.integers(0, 2**32)


def sort(rows: Any) -> list[Any]:
    return sorted(({name: row[name] for name in sorted(row)} for row in rows), key=repr)


def run(given_spec: Any, segments: Any, events: Any, dice: random.Random, partitions: int = 3) -> Job:
    job = Job(given_spec, segments, programs.loaded(given_spec, CODE), partitions=partitions, dice=dice)
    sent = messages(events)
    return job.run({"events": {0: sent[::2], 1: sent[1::2]}, "labels": messages(LABELS)})


def results(job: Job, made: topologies.Topology) -> dict[str, Any]:
    found = {}
    for output in made.outputs:
        name = output["name"]
        found[name] = sort(job.table(name).values() if output["input"] in made.tables else job.rows(name))
    return found


@cases(15)
@given(seeds, st.integers(1, 9), st.integers(0, 40))
def test_any_cut_gives_what_plain_python_gives(seed: int, size: int, count: int) -> None:
    dice = programs.seeded(seed)
    made = topologies.topology(dice, size)
    spec = programs.spec(made.parts)
    events = topologies.events(dice, count)
    expected = {name: sort(rows) for name, rows in made.expected(events).items()}

    for segments in (
        cutting.alone(spec),
        programs.together(spec, sources=dice.random() < 0.5),
        topologies.segments(dice, made.operators),
    ):
        job = run(spec, segments, events, dice, dice.choice([1, 3]))
        assert job.letters == []
        assert results(job, made) == expected


@cases(10)
@given(seeds, st.integers(1, 6))
def test_what_happens_does_not_depend_on_how_much_comes_at_once(seed: int, size: int) -> None:
    dice = programs.seeded(seed)
    made = topologies.topology(dice, size)
    spec = programs.spec(made.parts)
    segments = topologies.segments(dice, made.operators)
    events = topologies.events(dice, 90)
    jobs = [run(spec, segments, events, _Always(many)) for many in (1, 100)]

    assert jobs[0].outputs == jobs[1].outputs
    counts = [{name: _seen(at) for name, at in job.running.items()} for job in jobs]
    assert counts[0] == counts[1]


def _seen(at: Any) -> Any:
    return {name: (count.records_in, count.records_out, count.errors) for name, count in at.counts().items()}


class _Always(random.Random):
    """Dice for a job that takes so many at once."""

    def __init__(self, many: int) -> None:
        super().__init__(0)
        self.many = many

    def choice(self, seq: Any) -> Any:
        return self.many if self.many in seq else 3


# Each row that raises is judged alone, so nothing of what follows may depend on where a topology is cut.


def raising(record: dict[str, Any]) -> dict[str, Any]:
    if record["a"] == 2:
        message = "no twos"
        raise ValueError(message)
    return {**record, "a": record["b"]}


def raising_all(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([raising(record) for record in batch.to_pylist()], batch.schema)


def midway(record: dict[str, Any]) -> Any:
    yield record
    yield {**record, "a": 100 // (record["a"] or 0)}


def exiting(record: dict[str, Any]) -> bool:
    return sys.exit(3) if record["b"] == 3 else True


CALLED = {
    f"bad:{called.__name__}": Function(f"bad:{called.__name__}", called, "0")
    for called in (raising, raising_all, midway, exiting)
}


def _calls(name: str, kind: str, **more: Any) -> dict[str, Any]:
    columns = {} if kind == "filter" else {"returns": topologies.COLUMNS}
    return {"python": {"function": f"bad:{name}", "as": kind, **columns, **more}}


STREAMS: list[dict[str, Any]] = [
    {"filter": "100 div a > 3"},
    {"filter": "a is null or a > -2"},
    {"select": ["k", "100 div (a - b) as a", "b", "w"]},
    {"select": ["w as k", "a", "b", "cast(cast(k as bigint) as string) as w"]},
    {"select": ["k", "b as a", "a as b", "w"]},
    {"explode": {"array": "array(a, b, 1L)", "as": "x"}},
    {"explode": {"array": "split(cast(100 div a as string), '0')", "as": "x"}},
    _calls("raising", "map"),
    _calls("raising_all", "map", vectorised=True),
    _calls("midway", "flatMap"),
    _calls("exiting", "filter"),
    {"join": {"table": "labels", "by": ["k"], "asOf": "latest", "type": "left"}},
]
AGGREGATES: list[dict[str, Any]] = [
    {"by": ["k"], "values": ["count(*) as n", "sum(a) as total"]},
    {"by": ["100 div b as k"], "values": ["count(*) as n", "sum(a) as total"]},
    {"by": ["w as k"], "values": ["count(*) as n", "sum(100 div a) as total"]},
]
TABLES: list[dict[str, Any]] = [
    {"filter": "100 div (n - 2) > 1"},
    {"filter": "total is null or 7 div total < 3"},
    {"select": ["k", "n", "10 div (n % 3) as total"]},
    {"aggregate": {"by": ["n % 3 as g"], "values": ["sum(7 div total) as s"]}},
    {"aggregate": {"by": ["12 div (n - 1) as g"], "values": ["count(*) as c"]}},
]


def bad_topology(dice: random.Random, size: int, *, tables: bool) -> topologies.Topology:
    """One on whose rows much raises; where rows of tables raise, streams are not mixed, so that they have an order."""
    made = topologies.Topology()
    streams, known = ["events"], list[str]()

    def add(part: dict[str, Any], **reads: Any) -> str:
        made.operators.append({"name": f"o{len(made.operators)}", **reads, **part})
        return f"o{len(made.operators) - 1}"

    for _ in range(size):
        choice = dice.random()
        source = dice.choice(streams[-2:] + streams)
        if choice < 0.6:
            part = dice.choice(STREAMS)
            name = add(part, input=source)
            if "explode" in part or "join" in part:  # all streams have the same columns
                name = add({"select": ["k", "100 div b as a" if "explode" in part else "a", "b", "w"]}, input=name)
            streams.append(name)
        elif choice < 0.7 and len(streams) > 2 and not tables:
            streams.append(add({"filter": "5 div b < 3"}, inputs=dice.sample(streams, 2)))
        elif choice < 0.85 or not known or not tables:
            known.append(add({"aggregate": dice.choice(AGGREGATES)}, input=source))
            made.tables.add(known[-1])
        else:
            part = dice.choice(TABLES)
            made.tables.add(add(part, input=dice.choice(known)))
            if "aggregate" not in part:
                known.append(made.operators[-1]["name"])
    read = {name for o in made.operators for name in (o.get("input"), *o.get("inputs", ()))}
    taken = [o["name"] for o in made.operators if o["name"] not in read or dice.random() < 0.5]
    made.outputs = [{"name": f"out-{name}", "input": name, "topic": f"t-{name}"} for name in taken]
    return made


def bad_events(dice: random.Random, count: int) -> list[Any]:
    """Records of which some can't be decoded."""
    found: list[Any] = topologies.events(dice, count)
    for event in found:
        event["k"] = dice.choice([event["k"], "7"])
    return [
        dice.choice([{**event, "w": 5}, {**event, "a": "x"}, b"{"]) if dice.random() < 0.1 else event for event in found
    ]


def judged(
    made: topologies.Topology, topics: Any, dice: random.Random, partitions: int = 1, behind: Any = None
) -> list[Any]:
    """What comes of each cut: rows, and letters by operator, error and row. `behind` is a join to read instead."""
    first = {"j": ("j",)} if behind else {}
    spec = programs.spec(behind or made.parts)
    functions = {o["python"]["function"] for o in made.operators if "python" in o}
    found = []
    for segments in (
        cutting.alone(spec),
        programs.together(spec),
        programs.together(spec, sources=True),
        {**first, **topologies.segments(dice, made.operators)},
    ):
        job = Job(spec, segments, {name: CALLED[name] for name in functions}, partitions=partitions, dice=dice)
        job.run({**topics, "labels": messages(LABELS)})
        assert all(letter.row is not None for letter in job.letters)
        letters = {(one.operator, one.error, one.timestamp, one.columns, one.row) for one in job.letters}
        found.append((results(job, made), sorted(letters, key=repr)))
    return found


@cases(20)
@given(seeds, st.integers(1, 9), st.integers(0, 30), st.booleans())
def test_every_cut_gives_the_same_rows_and_the_same_letters(seed: int, size: int, count: int, tables: bool) -> None:
    dice = programs.seeded(seed)
    made = bad_topology(dice, size, tables=tables)
    sent = messages(bad_events(dice, count))
    # In one partition, rows come in one order however the topology is cut.
    topics = {"events": {0: sent} if tables else {0: sent[::2], 1: sent[1::2]}}
    first, *others = judged(made, topics, dice, 1 if tables else 3)

    for other in others:
        assert other == first


@cases(10)
@given(seeds, st.integers(1, 7), st.integers(0, 25))
def test_so_it_is_behind_a_join_that_corrects_its_records(seed: int, size: int, count: int) -> None:
    dice = programs.seeded(seed)
    made = bad_topology(dice, size, tables=True)
    for operator in made.operators:
        if operator.get("input") == "events":
            operator["input"] = "s"
    for output in made.outputs:
        if output["input"] == "events":
            output["input"] = "s"
    join = {"stream": "others", "by": ["k"], "within": "10ms", "type": "full"}
    parts = {
        **made.parts,
        "streams": [*made.parts["streams"], {"name": "others", "topic": "others", "columns": "k string, c bigint"}],
        "operators": [
            {"name": "j", "input": "events", "join": join},
            {"name": "s", "input": "j", "select": ["k", "a", "12 div (c - b) as b", "w"]},
            *made.operators,
        ],
    }
    made.operators.insert(0, parts["operators"][1])
    others = [{"k": event["k"], "c": event["b"]} for event in topologies.events(dice, count // 2)]
    topics = {"events": messages(topologies.events(dice, count)), "others": messages(others, step=2)}
    first, *rest = judged(made, topics, dice, behind=parts)

    for one in rest:
        assert one == first


def test_a_loop_that_takes_back_what_a_record_sent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Running.refused

    def failed(self: Running, error: BaseException, offset: int, index: int, *more: Any) -> None:
        refused(self, error, offset, index, *more)
        for rows in self.outputs.values():
            rows[:] = [row for row in rows if row[:2] != (offset, index)]

    made = topologies.Topology(
        [
            {"name": "o0", "input": "events", "filter": "b is not null"},
            {"name": "o1", "input": "o0", "filter": "100 div a > 3"},
        ],
        [{"name": name, "input": name, "topic": name} for name in ("o0", "o1")],
    )
    topics = {"events": messages(topologies.events(programs.seeded(5), 60))}
    monkeypatch.setattr(Running, "refused", failed)
    first, *others = judged(made, topics, programs.seeded(1))

    assert any(other != first for other in others)


def test_a_job_that_loses_a_frame_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    made = topologies.topology(programs.seeded(5), 4)
    spec, events = programs.spec(made.parts), topologies.events(programs.seeded(5), 60)
    segments = cutting.alone(spec)
    right = results(run(spec, segments, events, programs.seeded(1)), made)
    monkeypatch.setattr(frames.Sender, "frames", lambda self, rows, earliest: [])

    assert results(run(spec, segments, events, programs.seeded(1)), made) != right
