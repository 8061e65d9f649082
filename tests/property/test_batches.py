"""However a job is cut into ranges, and whatever is done twice, it ends as record by record, and as plain Python."""

from __future__ import annotations

import collections
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import ranged
import topologies
from fuzzing import cases
from lone_job import LoneJob
from programs import messages
from ranged import RangedJob
from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition, ProtocolError
from spillway.runtime import frames
from spillway.runtime.batch import combining, ranges
from spillway.runtime.batch.ranges import Range
from spillway.runtime.driver import origins
from spillway.runtime.programs import cutting

CODE = Path(__file__).parents[1] / "support" / "user_code"
seeds = st.integers(0, 2**32)


def topology(dice: random.Random, size: int) -> topologies.Topology:
    """One without joins: a batch has no tables."""
    while True:
        made = topologies.topology(dice, size)
        if not any("join" in operator for operator in made.operators):
            return made


def cut(dice: random.Random, made: topologies.Topology, spec: Any) -> Any:
    return dice.choice([cutting.alone(spec), programs.together(spec), topologies.segments(dice, made.operators)])


def inputs(dice: random.Random, count: int, bad: float = 0.1) -> tuple[topologies.Rows, dict[str, Any]]:
    """Records, and the messages in two partitions, among which some are no records."""
    events = topologies.events(dice, count)
    sent: list[Any] = []
    for event in events:
        sent += [b"{"] * (dice.random() < bad)
        sent.append(event)
    both = [messages(sent[number::2]) for number in range(2)]
    return events, {"events": dict(enumerate(both))}


def results(job: LoneJob, made: topologies.Topology, *, once: bool) -> dict[str, Any]:
    """What readers of the outputs end with: rows of tables, and of others all rows; `once`, however often they came."""
    found = {}
    for output in made.outputs:
        sent = [pair for (topic, _), log in job.logs.items() if topic == output["topic"] for pair in log]
        if output["input"] in made.tables:
            rows = [msgspec.json.decode(value) for value in dict(sent).values() if value is not None]
        else:
            rows = [msgspec.json.decode(value) for value in _once([value or b"" for _, value in sent], once=once)]
        found[output["name"]] = rows
    return {name: sort(rows) for name, rows in found.items()}


def _once(found: list[Any], *, once: bool) -> list[Any]:
    return list({repr(one): one for one in found}.values()) if once else found


def sort(rows: Any) -> list[Any]:
    return sorted(({name: row[name] for name in sorted(row)} for row in rows), key=repr)


def letters(job: LoneJob) -> set[Any]:
    """What the dead letters say, each once."""
    return {data for _, data in job.logs.get(("test.job.dead", 0), [])}


def expected(made: topologies.Topology, events: topologies.Rows, *, once: bool) -> dict[str, Any]:
    """What plain Python computes."""
    found = {}
    for output, rows in zip(made.outputs, made.expected(events).values(), strict=True):
        found[output["name"]] = sort(rows if output["input"] in made.tables else _once(rows, once=once))
    return found


def ran(seed: int, size: int, count: int, crashes: float) -> tuple[bool, RangedJob]:
    """Whether a random job ended right, and what there was in batches."""
    dice = programs.seeded(seed)
    made = topology(dice, size)
    spec = programs.spec(made.parts)
    functions = programs.loaded(spec, CODE)
    segments = cut(dice, made, spec)
    events, content = inputs(dice, count)
    alone = LoneJob(spec, segments, content, functions=functions)
    alone.run(dice)
    job = RangedJob(spec, segments, content, functions=functions)
    job.run(dice, crashes=crashes)
    once = crashes > 0
    rows = results(job, made, once=once)
    right = rows == results(alone, made, once=once) == expected(made, events, once=once)
    return right and letters(job) == letters(alone), job


@pytest.mark.fuzz
@cases(40)
@given(seeds, st.integers(1, 7), st.integers(0, 80), st.sampled_from([0.0, 0.0, 0.2, 0.5]))
def test_however_it_is_cut_into_ranges_the_result_is_the_same(seed: int, size: int, count: int, crashes: float) -> None:
    right, _ = ran(seed, size, count, crashes)
    assert right


def test_there_are_batches_among_these_and_some_are_done_twice() -> None:
    found = [ran(seed, 5, 60, 0.3) for seed in range(12)]

    assert all(right for right, _ in found)
    assert sum(job.batches for _, job in found) > 40
    assert sum(job.again for _, job in found) > 10
    assert sum(job.edges for _, job in found) > 40
    assert sum(job.edges_again for _, job in found) > 10


@pytest.mark.fuzz
@cases(20)
@given(seeds, st.integers(1, 5), st.integers(1, 80), st.booleans())
def test_a_range_that_is_done_twice_sends_the_same_byte_by_byte(
    seed: int, size: int, count: int, combine: bool
) -> None:
    dice = programs.seeded(seed)
    made = topology(dice, size)
    spec = programs.spec(made.parts)
    _, content = inputs(dice, count)
    job = RangedJob(spec, cut(dice, made, spec), content, functions=programs.loaded(spec, CODE))
    for (name, partition), place in job.places.items():
        log = content.get(place.task.topic, {}).get(partition, [])
        if not log or place.task.program.states:
            continue
        start = dice.randrange(len(log))
        given_range = Range(partition, start, len(log), 3)
        order = job.order(name, combine=combine, frame=dice.choice([1, 4, 1000]))
        once, again = (ranged.worked(order, job.loops[name], given_range, log, programs.seeded(n)) for n in (1, 2))
        assert once[0] == again[0]
        assert once[1].changes == again[1].changes


PASSED = {
    "streams": [{"name": "lines", "topic": "lines", "format": "raw", "columns": "line string"}],
    "operators": [
        {"name": "short", "input": "lines", "filter": "length(line) < 8"},
        {"name": "long", "input": "lines", "filter": "length(line) >= 8"},
        {"name": "passed", "inputs": ["short", "long"], "filter": "line <> ''"},
    ],
    "outputs": [
        {"name": "result", "input": "passed", "topic": "passed"},
        {"name": "few", "input": "short", "topic": "few"},
    ],
}


def passed(*, exactly: bool) -> list[bool]:
    """Of some jobs without tables whose slots never die, but whose batches are done twice, which had outputs once."""
    spec, right, again = programs.spec(PASSED), [], 0
    lines = [f"#{n}" + " more words" * (n % 2) for n in range(300)]
    for seed in range(8):
        content = {"lines": {n: messages([line.encode() for line in lines[n::2]]) for n in range(2)}}
        job = RangedJob(spec, cutting.alone(spec), content, exactly=exactly)
        job.slots_die = False
        job.run(programs.seeded(seed), crashes=0.4)
        again += job.edges_again
        found = {
            topic: sorted(msgspec.json.decode(value or b"")["line"] for _, value in log)
            for (topic, _), log in job.logs.items()
            if topic in ("passed", "few")
        }
        right.append(found == {"passed": sorted(lines), "few": sorted(line for line in lines if len(line) < 8)})
    assert again  # else nothing was tried
    return right


def test_outputs_that_are_handed_back_are_there_once_however_often_a_range_is_done() -> None:
    assert all(passed(exactly=True))
    # Were they sent at once, they would be repeated.
    assert not all(passed(exactly=False))


# Each of the checks above catches what it is there for.


def _wrong(crashes: float = 0.4) -> int:
    return sum(not ran(seed, 5, 60, crashes)[0] for seed in range(12))


def test_a_batch_that_leaves_a_record_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    work = ranges.work

    def shorter(order: Any, given_ranges: Any, tools: Any) -> Any:
        (given_range,) = given_ranges
        short = Range(
            given_range.number, min(given_range.start + 1, given_range.stop), given_range.stop, given_range.epoch
        )
        return work(order, [short], tools)

    monkeypatch.setattr(ranges, "work", shorter)
    assert _wrong(0.0) > 6


MERGED = {
    "streams": [{"name": "lines", "topic": "lines", "format": "raw", "columns": "line string"}],
    "operators": [
        {"name": "short", "input": "lines", "filter": "length(line) < 8"},
        {"name": "long", "input": "lines", "filter": "length(line) >= 8"},
        {
            "name": "words",
            "inputs": ["short", "long"],
            "explode": {"array": "split(line, ' ')", "as": "word", "keep": []},
        },
        {"name": "counts", "input": "words", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
    ],
    "outputs": [{"name": "result", "input": "counts", "topic": "word-counts"}],
}


def _miscounted_behind_an_edge() -> int:
    """Of some word counts whose words are made of frames, mostly in batches and more than once, how many end wrong."""
    spec, wrong = programs.spec(MERGED), 0
    lines = [f"a w{n % 7} v{n % 3}" + " more" * (n % 2) for n in range(300)]
    right = collections.Counter(word for line in lines for word in line.split(" "))
    for seed in range(12):
        content = {"lines": {n: messages([line.encode() for line in lines[n::2]]) for n in range(2)}}
        job = RangedJob(spec, cutting.alone(spec), content, share=0.7)
        try:
            job.run(programs.seeded(seed), crashes=0.5)
        except ProtocolError:
            wrong += 1
            continue
        sent = [pair for (topic, _), log in job.logs.items() if topic == "word-counts" for pair in log]
        found = {(key or b"").decode(): msgspec.json.decode(value or b"")["n"] for key, value in sent}
        wrong += found != right
        assert job.edges > 1
    return wrong


def test_an_engine_that_forgets_what_slots_have_applied_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _miscounted_behind_an_edge() == 0
    monkeypatch.setattr(origins.Origins, "of", lambda *_: ())
    assert _miscounted_behind_an_edge() > 6


def test_an_engine_that_forgets_what_it_has_stored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins.Origins, "stored", lambda *_: None)
    assert _miscounted_behind_an_edge() > 1


def test_an_engine_that_knows_what_was_never_stored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = origins.Origins.stored
    monkeypatch.setattr(RangedJob, "ran", lambda job, name, result: stored(job.origins, name, result.changes))
    assert _miscounted_behind_an_edge() > 2


def test_a_reader_that_takes_a_range_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    read = reader.read

    def everything(table: Any, frame: Any, *more: Any) -> Any:
        found = read({}, frame, *more)
        seen = dict(read(table, frame, *more).seen)
        return reader.Reading(
            found.verdict, found.above, tuple((Partition(*at), seen.get(at, s)) for at, s in found.seen)
        )

    monkeypatch.setattr(reader, "read", everything)
    assert _wrong() > 3


def test_combined_rows_whose_parts_depend_on_what_came_at_once_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combining, "PART", 40)
    parts = combining._parts  # noqa: SLF001
    dice = programs.seeded(1)

    def odd(rows: Any) -> Any:
        monkeypatch.setattr(combining, "PART", dice.choice([1, 20, 100]))
        return parts(rows)

    assert _miscounted() == 0
    monkeypatch.setattr(combining, "_parts", odd)
    assert _miscounted() > 3


def _miscounted() -> int:
    """Of some word counts over ranges that are mostly done more than once, how many end wrong."""
    spec, wrong = programs.example("word-count"), 0
    lines = [f"a w{n % 40} v{n % 30}" for n in range(200)]
    right = collections.Counter(word for line in lines for word in line.split(" "))
    for seed in range(8):
        content = {"lines": {0: messages([line.encode() for line in lines])}}
        job = RangedJob(spec, programs.together(spec), content, share=1.0)
        try:
            job.run(programs.seeded(seed), crashes=0.6)
        except ProtocolError:
            wrong += 1
            continue
        sent = [pair for (topic, _), log in job.logs.items() if topic == "word-counts" for pair in log]
        found = {(key or b"").decode(): msgspec.json.decode(value or b"")["occurrences"] for key, value in sent}
        wrong += found != right
    return wrong


def test_bytes_that_differ_are_noticed() -> None:
    spec = programs.example("word-count")
    content = {"lines": {0: messages([f"a b{n}".encode() for n in range(40)])}}
    job = RangedJob(spec, programs.together(spec), content)
    (name,) = (name for name, loop in job.loops.items() if not loop.program.states)
    order, log = job.order(name, combine=True), content["lines"][0]
    found = [
        ranged.worked(order, job.loops[name], Range(0, 0, stop, 1), log, programs.seeded(1))[0] for stop in (39, 40)
    ]
    assert found[0] != found[1]
    assert all(frames.read(send.value or b"").combined for send in found[1])
