"""However a topology is cut into programs, the result is the same, and the one that plain Python computes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import topologies
from fuzzing import cases
from programs import Job, messages
from spillway.runtime import frames
from spillway.runtime.programs import cutting

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


RAISING = ["100 / a > 3", "100 / (a - b) > 0.5", "cast(w as int) > 0", "a > b", "b is not null"]


@cases(20)
@given(seeds, st.lists(st.sampled_from(RAISING), min_size=1, max_size=5))
def test_in_a_chain_every_cut_gives_the_same_results_and_the_same_letters(seed: int, texts: list[str]) -> None:
    dice = programs.seeded(seed)
    operators = [
        {"name": f"o{i}", "input": f"o{i - 1}" if i else "events", "filter": text} for i, text in enumerate(texts)
    ]
    made = topologies.Topology(operators, [{"name": "r", "input": operators[-1]["name"], "topic": "r"}])
    spec = programs.spec(made.parts)
    events = topologies.events(dice, 50)
    cuts = [cutting.alone(spec), programs.together(spec), topologies.segments(dice, operators)]

    jobs = [run(spec, segments, events, dice) for segments in cuts]

    assert len({repr(job.rows("r")) for job in jobs}) == 1
    assert len({repr(sorted((letter.operator, letter.error) for letter in job.letters)) for job in jobs}) == 1


def test_a_job_that_loses_a_frame_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    made = topologies.topology(programs.seeded(5), 4)
    spec, events = programs.spec(made.parts), topologies.events(programs.seeded(5), 60)
    segments = cutting.alone(spec)
    right = results(run(spec, segments, events, programs.seeded(1)), made)
    monkeypatch.setattr(frames.Sender, "frames", lambda self, rows, earliest: [])

    assert results(run(spec, segments, events, programs.seeded(1)), made) != right
