"""Tables whose rows are on disk are the same tables: for readers, in the changelog, and after a crash."""

from __future__ import annotations

import dataclasses
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_reference as reference
from fuzzing import cases
from spillway.model import types
from spillway.runtime import keys
from spillway.runtime.tables import disk, expiry
from spillway.runtime.tables.aggregation import Aggregation
from spillway.runtime.tables.disk import Disk
from spillway.runtime.tables.lookup_join import LookupJoin
from spillway.runtime.tables.source_table import SourceTable
from spillway.runtime.tables.store import MEMORY, Codec, Keeping
from spillway.runtime.tables.table_join import TableJoin

LONG = "x" * 600  # longer than a key of LMDB may be
KEYS = [*"abcdefgh", None, LONG, LONG + "y"]
COLUMNS = "k string, n bigint, d decimal(10,2)"
ROWS = st.tuples(
    st.sampled_from(KEYS), st.none() | st.integers(-3, 3) | st.just(2**62), st.none() | st.decimals(-9, 9, places=2)
)
TIMES = st.integers(0, 40).map(lambda t: t * 100 * reference.MS)
COMMIT, CRASH = "commit", "crash"
# What happens to a table: a side and an update (of a stream, only its new row), a commit, or a crash.
STEPS = st.lists(
    st.tuples(st.integers(0, 1), TIMES, st.none() | ROWS, st.none() | ROWS) | st.sampled_from([COMMIT, COMMIT, CRASH]),
    min_size=1,
    max_size=60,
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Disk]]:
    """Disks with a cache of four rows, of which two are in each generation, and four due times in memory."""
    monkeypatch.setattr(disk, "LEAST", 4)
    monkeypatch.setattr(disk, "AT_ONCE", 3)
    monkeypatch.setattr(expiry, "NEAR", 4)
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: Disk(Path(tempfile.mkdtemp(dir=folder)), 0)


@dataclasses.dataclass
class Kind:
    """A kind of table: how it is made, and what a step does to it."""

    make: Callable[[Keeping], Any]
    step: Callable[[Any, int, int, Any, Any], Any]


def _aggregation(retention: str | None, *, updates: bool = False, **parts: Any) -> Kind:
    values = ["sum(n) as total", "count(*) as many", "sum(100 div n) as share", "sum(d) as sum"]
    values += [] if updates else ["max(n) as most"]
    it = reference.operator(retention, aggregate={"by": ["k"], "values": values, **parts})
    given_ = reference.relation(COLUMNS)

    def step(table: Aggregation, _: int, time: int, old: Any, new: Any) -> Any:
        if updates:
            return table.update(time, old, new)
        return [] if new is None else table.record(time, new)

    return Kind(lambda kept: Aggregation(it, given_, reference.result(it, given_), updates=updates, kept=kept), step)


def _tables(retention: str | None) -> Kind:
    sides = reference.relation(COLUMNS, "k"), reference.relation("k string, m bigint", "k")
    it = reference.operator(retention, join={"table": "other", "by": ["k"], "type": "full"})

    def step(table: TableJoin, side: int, time: int, old: Any, new: Any) -> Any:
        if side:
            return table.right(time, old and old[:2], new and new[:2])
        return table.left(time, old, new)

    return Kind(lambda kept: TableJoin(it, *sides, reference.result(it, *sides), kept=kept), step)


def _lookup() -> Kind:
    left, right = reference.relation(COLUMNS), reference.relation("k string, m bigint", "k")
    it = reference.operator("1s", join={"table": "other", "by": ["k"], "type": "left", "asOf": "latest"})

    def step(table: LookupJoin, side: int, time: int, old: Any, new: Any) -> Any:
        if side:
            return table.table(time, old and old[:2], new and new[:2])
        return [] if new is None else table.record(time, new)

    return Kind(lambda kept: LookupJoin(it, left, right, reference.result(it, left, right), kept=kept), step)


def _source() -> Kind:
    def step(table: SourceTable, _: int, time: int, old: Any, new: Any) -> Any:
        key = new or old
        return [] if key is None else table.update(time, key, new)

    return Kind(lambda kept: SourceTable(reference.relation(COLUMNS, "k"), kept=kept), step)


WINDOW = {"window": {"size": "1s", "slide": "5ms"}}
KINDS: dict[str, Kind] = {
    "an aggregate": _aggregation(None),
    "an aggregate with a retention": _aggregation("1s"),
    "an aggregate of windows": _aggregation("1s", window={"size": "1s", "slide": "500ms"}),
    "an aggregate of rows that come and go": _aggregation(None, updates=True),
    "such a one with a retention": _aggregation("1s", updates=True),
    "two tables": _tables(None),
    "two tables with a retention": _tables("1s"),
    "the newest rows of a table": _lookup(),
    "a table of a topic": _source(),
}


def _run(kind: Kind, kept: Callable[[], Keeping], steps: Sequence[Any]) -> list[Any]:
    """All that a table gave and wrote, as far as anybody can see it."""
    table, seen = kind.make(kept()), list[Any]()
    log: list[Any] = []
    for step in steps:
        if step == COMMIT:
            changes = reference.written(table.stores)
            log += changes
            seen.append([sorted(changes, key=repr), [len(part) for part in table.stores]])
        elif step == CRASH:
            table = kind.make(kept())
            reference.restore(table.stores, log)
        else:
            try:
                seen.append(kind.step(table, *step))
            except Exception as error:
                seen.append(str(error))
    stores = [sorted(((key, part.rows[key]) for key in part.rows), key=repr) for part in table.stores]
    assert stores == [sorted(part.rows.items(), key=repr) for part in table.stores]
    assert [len(rows) for rows in stores] == [len(part) for part in table.stores]
    scanned = sorted(table.scan(1000), key=repr) if hasattr(table, "scan") else []
    return [*seen, stores, scanned]


@pytest.mark.parametrize("name", KINDS)
@cases(40)
@given(steps=STEPS)
def test_a_table_on_disk_is_the_same_table(name: str, small: Callable[[], Disk], steps: list[Any]) -> None:
    kind = KINDS[name]
    assert _run(kind, small, steps) == _run(kind, lambda: MEMORY, steps)


def test_rows_that_are_not_written_when_they_leave_memory_would_be_noticed(
    small: Callable[[], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk._File, "write", lambda *_: None)  # noqa: SLF001
    steps: list[Any] = [(0, i * reference.MS, None, (key, 1, None)) for i, key in enumerate("abcdefgh" * 2)]
    kind = KINDS["an aggregate"]

    with pytest.raises((AssertionError, KeyError)):
        assert _run(kind, small, steps) == _run(kind, lambda: MEMORY, steps)


def test_a_due_time_that_is_forgotten_would_be_noticed(
    small: Callable[[], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk.Later, "add", lambda *_: None)
    steps: list[Any] = [(0, i * 100 * reference.MS, None, (key, 1, None)) for i, key in enumerate("abcdefgh" * 4)]
    kind = KINDS["an aggregate of windows"]

    assert _run(kind, small, steps) != _run(kind, lambda: MEMORY, steps)


# The map and the schedule themselves

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["get", "set", "set", "pop", "in", "len", "items", "scan"]), st.integers(0, 12)),
    max_size=120,
)
CODEC = Codec(
    lambda key: keys.encode((key,)), lambda data: keys.decoder((types.BIGINT,))(data)[0],
    lambda _, entry: repr(entry).encode(), lambda _, data: int(data),
)  # fmt: skip


@cases(100)
@given(operations=OPERATIONS)
def test_a_map_on_disk_is_a_map(small: Callable[[], Disk], operations: list[tuple[str, int]]) -> None:
    rows, known = small().rows(CODEC), dict[int, int]()
    for number, (what, key) in enumerate(operations):
        match what:
            case "get":
                assert rows.get(key) == known.get(key)
            case "set":
                rows[key] = known[key] = number
            case "pop":
                assert rows.pop(key, None) == known.pop(key, None)
            case "in":
                assert (key in rows) == (key in known)
            case "len":
                assert len(rows) == len(known)
            case "items":
                assert sorted(rows.items()) == sorted(known.items())
            case _:
                assert {some: rows[some] for some in rows} == known
    rows.close()


TURNS = st.lists(st.tuples(st.integers(-20, 60), st.integers(0, 15)), max_size=80)


@cases(80)
@given(turns=TURNS)
def test_what_is_due_is_told_in_time_wherever_it_is_noted(small: Callable[[], Disk], turns: list[Any]) -> None:
    later = small().later(CODEC.key, CODEC.key_of)
    both = expiry.Expiry(5), expiry.Expiry(5, later)
    due = dict[int, int]()
    time = -100
    for at, key in turns:
        if key < 12:
            due[key] = max(at, due.get(key, at))  # moves on, or comes to be
            for one in both:
                one.watch(at, key)
        else:
            time = max(time, at)
            here, there = (sorted(one.passed(time, due.get)) for one in both)
            assert here == there == sorted((when, key) for key, when in due.items() if when < time - 5)
            for _, gone in here:
                del due[gone]
        assert both[1].next <= both[0].next
    later.close()


def test_what_a_dead_slot_left_is_removed_and_a_file_goes_with_its_map(tmp_path: Path) -> None:
    left = tmp_path / "rows-left" / "data.mdb"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half of it")
    (tmp_path / "thesis.tex").touch()
    made = Disk(tmp_path, 10)
    rows = made.rows(CODEC)
    assert len(list(tmp_path.iterdir())) == 2
    rows[1] = 1
    del rows[1]
    with pytest.raises(KeyError):
        rows[1]

    del rows
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_table_is_restored_by_one_thread_and_used_by_another(small: Callable[[], Disk]) -> None:
    rows = small().rows(CODEC)

    def restore() -> None:
        for key in range(50):
            rows.load(CODEC.key(key), b"1")
        rows.loaded()
        assert rows[7] == 1

    thread = threading.Thread(target=restore)
    thread.start()
    thread.join()
    for key in range(100):
        rows[key] = rows.get(key, 1) + 1
    assert dict(rows.items()) == dict.fromkeys(range(100), 2)


def test_a_disk_that_is_full_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "ROOM", 1 << 17)
    rows = Disk(tmp_path / "slot", 10).rows(CODEC)
    with pytest.raises(disk.DiskError, match="is the disk full"):
        rows.update((key, key) for key in range(100_000))
