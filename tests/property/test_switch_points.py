"""Wherever partitions switch between the paradigms, and whoever dies then, a job ends as in either paradigm alone.

And as plain Python: of random topologies, with tables that every owner has whole, aggregates and windows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import topologies
from fuzzing import cases
from lone_job import LoneJob
from programs import Message, messages
from spillway.controllers.protocol import reader
from spillway.controllers.protocol.rules import Rules
from spillway.model.operators import Paradigm
from spillway.runtime.batch import combining
from spillway.runtime.programs import cutting
from switch_points import BATCH, RECORD, Points, SwitchingJob

CODE = Path(__file__).parents[1] / "support" / "user_code"
STEP = 130  # milliseconds from one event of a partition to the next
seeds = st.integers(0, 2**32)


class Ran(NamedTuple):
    """A random job that ran in each way: whether all agree, and what happened in the one that was switched."""

    right: bool
    switches: int
    batches: int
    edges: int
    again: int


def labels() -> list[Message]:
    """The table, as its topic has it."""
    first = [(0, k, label) for k, label in topologies.LABELS.items()]
    return [
        Message(offset, msgspec.json.encode({"k": k, "label": label}), time=time)
        for offset, (time, k, label) in enumerate([*first, *topologies.LATER])
    ]


def inputs(dice: random.Random, count: int) -> tuple[topologies.Rows, dict[str, Any]]:
    """Events in two partitions, among which some messages are no records; and labels."""
    sent: list[list[Any]] = [[], []]
    events = []
    for event in topologies.events(dice, count):
        mine = dice.choice(sent)
        mine += [b"{"] * (dice.random() < 0.1)
        events.append({**event, topologies.TIME: len(mine) * STEP})
        mine.append(event)
    content = {number: messages(some, step=STEP) for number, some in enumerate(sent)}
    return events, {"events": content, "labels": {0: labels()}}


def cut(dice: random.Random, made: topologies.Topology, spec: Any) -> Any:
    return dice.choice([cutting.alone(spec), programs.together(spec), topologies.segments(dice, made.operators)])


def results(job: LoneJob, made: topologies.Topology, *, once: bool) -> dict[str, list[str]]:
    """What readers of the outputs end with: rows of tables, and of others all rows; `once`, however often they came."""
    found = {}
    for output in made.outputs:
        sent = [pair for (topic, _), log in sorted(job.logs.items()) if topic == output["topic"] for pair in log]
        table = output["input"] in made.tables
        values = dict(sent).values() if table else [value for _, value in sent]
        rows = [_text(msgspec.json.decode(value)) for value in values if value is not None]
        found[output["name"]] = sorted(set(rows) if once and not table else rows)
    return found


def expected(made: topologies.Topology, events: topologies.Rows, *, once: bool) -> dict[str, list[str]]:
    """What plain Python computes."""
    found = {}
    for output, rows in zip(made.outputs, made.expected(events).values(), strict=True):
        texts = [_text(row) for row in rows]
        found[output["name"]] = sorted(set(texts) if once and output["input"] not in made.tables else texts)
    return found


def _text(row: Any) -> str:
    return repr(sorted(row.items()))


def letters(job: LoneJob) -> set[Any]:
    """What the dead letters say, each once."""
    return {data for _, data in job.logs.get(("test.job.dead", 0), [])}


def ran(seed: int, size: int, count: int, crashes: float, kind: type[SwitchingJob] = SwitchingJob) -> Ran:
    """A random job, record by record, in batches, and with switches; what dies does so in the last one."""
    dice = programs.seeded(seed)
    made = topologies.topology(dice, size, timed=True)
    spec = programs.spec(made.parts)
    functions = programs.loaded(spec, CODE)
    segments = cut(dice, made, spec)
    events, content = inputs(dice, count)
    once = crashes > 0
    right = expected(made, events, once=once)

    def job(points: Points | random.Random, crashes: float) -> SwitchingJob:
        found = kind(spec, segments, content, points, functions=functions)
        found.run(dice, crashes=crashes)
        return found

    record, batch, switched = job(RECORD, 0.0), job(BATCH, 0.0), job(dice, crashes)
    said = [results(one, made, once=once) for one in (record, batch, switched)]
    bad = [letters(one) for one in (record, batch, switched)]
    agree = all(one == right for one in said) and all(one == bad[0] for one in bad)
    return Ran(agree, switched.switches, switched.batches, switched.edges, switched.again)


@pytest.mark.fuzz
@cases(40)
@given(seeds, st.integers(1, 7), st.integers(0, 80), st.sampled_from([0.0, 0.2, 0.2, 0.5]))
def test_wherever_partitions_switch_the_result_is_the_same(seed: int, size: int, count: int, crashes: float) -> None:
    assert ran(seed, size, count, crashes).right


def test_there_are_switches_among_these_and_intents_that_are_run_again() -> None:
    found = [ran(seed, 5, 60, 0.3) for seed in range(12)]

    assert all(one.right for one in found)
    assert sum(one.switches for one in found) > 30
    assert sum(one.batches for one in found) > 60
    assert sum(one.edges for one in found) > 20
    assert sum(one.again for one in found) > 15


# The comparison is not blind.


def _wrong(kind: type[SwitchingJob] = SwitchingJob, crashes: float = 0.4, jobs: int = 12) -> int:
    return sum(not ran(seed, 5, 60, crashes, kind).right for seed in range(jobs))


def test_an_heir_that_begins_one_record_late_is_caught() -> None:
    class Late(SwitchingJob):
        def cut(self, position: int, to: Paradigm) -> int:
            return position + (to is Paradigm.BATCH)

    assert _wrong(Late, 0.0) > 4


def test_an_heir_that_begins_one_record_early_is_caught() -> None:
    class Early(SwitchingJob):
        """Positions of edges hide it; outputs show it."""

        def cut(self, position: int, to: Paradigm) -> int:
            return max(0, position - (to is Paradigm.RECORD))

    assert _wrong(Early, 0.0) > 1


def test_readers_that_skip_no_positions_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    read = reader.read
    monkeypatch.setattr(reader, "read", lambda table, frame: read(table, frame, Rules(position=False)))
    assert _wrong() > 3


def test_combined_rows_that_are_left_out_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = combining._parts  # noqa: SLF001
    monkeypatch.setattr(combining, "_parts", lambda rows: parts(rows[1:]))
    assert _wrong(crashes=0.0) > 1
