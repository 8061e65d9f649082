"""What rows on disk cost, and which embedded store is the one to keep them in.

    python -m spillway.bench.stores lmdb | rocksdict       an engine alone, if it is installed
    python -m spillway.bench.stores memory | disk          an aggregate, with its rows in a dict or on disk

The pattern is that of an aggregate whose table is ten times its cache: 500 000 groups, 50 000 of them in memory. An
engine is asked for rows that the cache does not have, and given 25 000 changed ones at once; an aggregate takes records
of uniform keys, and of Zipf's (exponent 1, so five of six of them are among the 50 000 most frequent). Printed are
microseconds of processor time for each row or record, all threads counted, for what works in the background takes the
same cores; and the peak of resident memory, pages of files among it.
"""

from __future__ import annotations

import contextlib
import pathlib
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from spillway.expressions import relations
from spillway.model import types
from spillway.model.operators import Operator
from spillway.runtime.tables import disk, store
from spillway.runtime.tables.aggregation import Aggregation

ROWS, CACHED, BATCH, ASKED = 500_000, 50_000, 25_000, 100_000
FIRST = 1_772_359_200_000_000
_pack = msgspec.msgpack.Encoder().encode


class Lmdb:
    """LMDB as tables use it."""

    def __init__(self, folder: str) -> None:
        self._file = disk._File(pathlib.Path(folder))  # noqa: SLF001 - the very thing
        self.get, self.put = self._file.get, self._file.write

    def count(self) -> int:
        """Read all."""
        return sum(1 for _ in self._file.all())


class Rocks:
    """RocksDB without a write-ahead log, with Bloom filters and a block cache of 64 MiB."""

    def __init__(self, folder: str) -> None:
        import rocksdict as r

        self._r = r
        options = r.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_max_background_jobs(2)
        options.set_write_buffer_size(32 << 20)
        table = r.BlockBasedOptions()
        table.set_bloom_filter(10, False)
        table.set_block_cache(r.Cache(64 << 20))
        options.set_block_based_table_factory(table)
        self._rows = r.Rdict(folder, options)
        self._writing = r.WriteOptions()
        self._writing.disable_wal = True
        self.get = self._rows.get

    def put(self, rows: Sequence[tuple[bytes, bytes | None]]) -> None:
        """As one batch."""
        batch = self._r.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self._rows.write(batch, self._writing)

    def count(self) -> int:
        """Read all."""
        return sum(1 for _ in self._rows.keys())  # noqa: SIM118 - it is no dict


ENGINES: dict[str, Callable[[str], Any]] = {"lmdb": Lmdb, "rocksdict": Rocks}


def main(names: Sequence[str]) -> None:
    """Measure one of them; each in a process of its own, or the peak of memory is that of all."""
    (name,) = names
    with tempfile.TemporaryDirectory() as folder:
        if name in ENGINES:
            before = _engine(ENGINES[name](folder))
        else:
            before = _aggregate(disk.Disk(pathlib.Path(folder), CACHED) if name == "disk" else store.MEMORY)
        files = [file.stat().st_blocks * 512 for file in pathlib.Path(folder).rglob("*") if file.is_file()]
        _say(f"  on disk {sum(files) / 2**20:.0f} MiB, peak of memory {_peak() - before:.0f} MiB more than before")


def _engine(engine: Any) -> float:
    """The peak of memory before the engine had anything is what is given back."""
    dice = random.Random(1)  # noqa: S311 - a load, no secret
    numbers = list(range(ROWS))
    dice.shuffle(numbers)
    before = _peak()
    with _measured("rows in random order, the first time", ROWS):
        for start in range(0, ROWS, BATCH):
            engine.put([(_key(n), _value(n, 0)) for n in numbers[start : start + BATCH]])
    # Beyond the most frequent ones, which are in memory, Zipf's keys are uniform in their logarithm.
    tail = [int(ROWS ** dice.uniform(0.825, 1)) for _ in range(ASKED)]
    for what, asked in (("uniform", [dice.randrange(ROWS) for _ in range(ASKED)]), ("Zipf's tail", tail)):
        keys = [_key(number) for number in asked]
        with _measured(f"get, {what}", ASKED):
            for key in keys:
                engine.get(key)
        changed = [(key, _value(i, 1)) for i, key in enumerate(dict.fromkeys(keys))]
        with _measured(f"put, {what}", len(changed)):
            for start in range(0, len(changed), BATCH):
                engine.put(changed[start : start + BATCH])
    absent = [_key(number + ROWS) for number in range(ASKED)]
    with _measured("get, not there", ASKED):
        for key in absent:
            engine.get(key)
    with _measured("read all", ROWS):
        engine.count()
    return before


def _aggregate(kept: store.Keeping) -> float:
    given = relations.Relation(types.parse_schema("campaign string, price bigint"), None)
    parts = {"by": ["campaign"], "values": ["count(*) as n", "sum(price) as total"]}
    it = Operator.model_validate_json(msgspec.json.encode({"name": "it", "input": "events", "aggregate": parts}))
    result = relations._KINDS[it.kind](it, (given,))  # noqa: SLF001 - infer() would want a whole topology
    dice = random.Random(1)  # noqa: S311
    names = [f"campaign-{number * 2654435761 % 2**32:08x}" for number in range(ROWS)]
    table = Aggregation(it, given, result, kept=kept)
    (part,) = table.stores
    zipf = [names[int(ROWS ** dice.random()) - 1] for _ in range(2 * ASKED)]
    uniform = [dice.choice(names) for _ in range(2 * ASKED)]
    value = _pack([FIRST, [1, [5, 1]]])
    before = _peak()
    with _measured("restore, with the bytes of keys", ROWS):
        for i in range(ROWS):
            part.load(b"\0" + _pack((names[i * 7_919 % ROWS],)), value)
        part.restored()
    for what, keys in (("Zipf", zipf), ("uniform", uniform)):
        for half, some in (("warming up", keys[:ASKED]), ("record", keys[ASKED:])):
            with _measured(f"{half}, {what}", ASKED):
                for i, name in enumerate(some):
                    table.record(FIRST + i, (name, i))
            with _measured("  change, at the commit", len(part.dirty)):
                part.changes()
    return before


def _key(number: int) -> bytes:
    return _pack((f"campaign-{number * 2654435761 % 2**32:08x}",))


def _value(number: int, turn: int) -> bytes:
    return _pack([FIRST + turn, [number + turn, [float(number), turn]]])


@contextlib.contextmanager
def _measured(what: str, rows: int) -> Iterator[None]:
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    spent, took = time.process_time() - cpu, time.perf_counter() - wall
    _say(f"  {what:38} {spent * 1e6 / rows:7.2f} µs of CPU   {took * 1e6 / rows:7.2f} µs")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
