"""What a batch adds up for a reader: the same table as record by record, and the very same parts when done again."""

from __future__ import annotations

from typing import Any

import pytest

import programs
from programs import seeded
from spillway.controllers.protocol.reader import Source
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.runtime import frames, keys
from spillway.runtime.batch import combining
from spillway.runtime.batch.combining import Combiner
from spillway.runtime.programs import cutting, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program
from spillway.runtime.task import Task

WIDTH = 4
START = 1_700_000_000_000_000
SOURCE = Source(Partition("words<lines", 0), 1, 10, 400)


def _programs(name: str) -> dict[str, Program]:
    given = programs.example(name)
    return {program.name: program for program in cutting.cut(given, programs.together(given))}


def _rows(count: int, distinct: int) -> list[tuple[Any, ...]]:
    dice = seeded(5)
    return [(10 + i, 0, START + dice.randrange(60_000_000), f"k{dice.randrange(distinct)}") for i in range(count)]


def _combined(made: dict[str, Program], rows: list[tuple[Any, ...]], letters: list[Any]) -> list[tuple[int, bytes]]:
    sender = next(program for program in made.values() if program.edges)
    (edge,) = sender.edges
    aim = combining.aims(sender, made)[edge.label]
    combiner = Combiner(edge, aim, WIDTH, lambda *refused: letters.append(refused))
    for at in range(0, len(rows), 37):
        combiner.add(rows[at : at + 37])
    return list(combiner.frames(SOURCE, sender.id, 7))


def _table(made: dict[str, Program], taken: list[bytes]) -> dict[Any, Any]:
    """What the reader's table comes to, of one partition."""
    program = made["counts"]
    (state,) = program.states
    task = Task(Loop(program), {state.name: states.made(state)}, 0, 1, Names("a.b."), WIDTH)
    task.take([programs.Message(offset, data) for offset, data in enumerate(taken)])
    assert task.letters() == []
    return {key: value for _, sends, _ in task.results() for _, _, key, value in sends}


@pytest.mark.parametrize("name", ["word-count", "ysb"])
def test_what_is_added_up_gives_the_same_table_in_far_fewer_rows(name: str) -> None:
    made = _programs(name)
    rows = _rows(300, 6)
    found = _combined(made, rows, [])
    sender = next(program for program in made.values() if program.edges)
    (edge,) = sender.edges
    layout = frames.Layout(edge.schema)
    one_by_one = frames.Sender(layout, frames.Origin("words<lines", 0, sender.id), 1).frames(rows, 7)

    by_partition = [_table(made, [data for number, data in found if number == n]) for n in range(WIDTH)]
    assert {key: value for table in by_partition for key, value in table.items()} == _table(made, one_by_one)
    assert sum(frames.read(data).count for _, data in found) < 100


def test_a_row_goes_to_the_partition_of_its_key() -> None:
    made = _programs("word-count")
    for number, data in _combined(made, _rows(300, 40), []):
        frame = frames.read(data)
        layout = frames.Layout(next(port for port in made["counts"].ports if port.combined).schema, combined=True)
        assert {keys.partition(keys.encode(key), WIDTH) for *_, key, _ in layout.rows(frame)} == {number}


def test_the_same_range_gives_the_very_same_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combining, "PART", 200)
    made = _programs("word-count")
    found = _combined(made, _rows(2000, 300), [])

    assert found == _combined(made, _rows(2000, 300), [])
    heads = [(number, frames.read(data).combined) for number, data in found]
    for partition in range(WIDTH):
        parts = [head for number, head in heads if number == partition and head is not None]
        assert [head.part for head in parts] == list(range(len(parts)))
        assert {head.parts for head in parts} == {len(parts)}
        assert len(parts) > 3


def test_a_reader_takes_the_parts_of_a_range_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combining, "PART", 200)
    made = _programs("word-count")
    mine = [data for number, data in _combined(made, _rows(2000, 300), []) if number == 0]

    assert _table(made, [*mine[:3], *mine, *mine[1:]]) == _table(made, mine)


def test_rows_that_are_added_up_first_are_not_shared_out_before() -> None:
    made = _programs("word-count")
    sender = next(program for program in made.values() if program.edges)
    (edge,) = sender.edges
    aims = combining.aims(sender, made)
    lines = [programs.Message(offset, f"a{offset % 7} b{offset % 5}".encode()) for offset in range(50)]
    apart = Loop(sender).bind(partitions={edge.reader: WIDTH})
    kept = Loop(sender, together=combining.together(sender, aims)).bind(partitions={edge.reader: WIDTH})
    for running in (apart, kept):
        running.run[sender.ports[0].label](lines)

    (rows,) = kept.edges[edge.label]
    assert sorted(rows) == sorted(row for part in apart.edges[edge.label] for row in part)
    assert sum(map(bool, apart.edges[edge.label])) > 1
    assert combining.together(sender, {}) == frozenset()


def test_a_row_that_can_not_be_added_up_is_told_with_the_partition_that_it_would_have_gone_to() -> None:
    made = _programs("word-count")
    sender = next(program for program in made.values() if program.edges)
    (edge,) = sender.edges
    told: list[Any] = []
    combiner = Combiner(edge, combining.aims(sender, made)[edge.label], WIDTH, lambda *refused: told.append(refused))
    combiner.add([(4, 0, START, "k1"), (5, 0, "no time", "k1")])

    assert [(refused[1], refused[-1]) for refused in told] == [(5, keys.partition(keys.encode(("k1",)), WIDTH))]
