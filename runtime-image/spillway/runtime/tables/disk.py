"""Rows of tables on disk, for tables that are larger than memory: the ones that are used most stay in memory.

The disk is only a cache: what is committed stands in the changelog. So nothing is ever synced; a slot begins with an
empty folder, and restores its tables from their changelogs as it would without a disk. LMDB, because a read costs
0.8 µs, a third of what the alternative takes (`docs/decisions/0009-tables-on-disk.md`).

Rows are in two generations, two dicts. A row that is used is in the young one, or moves there; when that is full, the
old one is written (what of it has changed) and forgotten, and the young one is the old one from then on. So what was
used within the last generation is in memory, as with a list by last use, but a row that is there costs one look into a
dict and no bookkeeping. Rows that are known not to be there are kept just so, as None.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import lmdb

from spillway.model.errors import SpillwayError
from spillway.runtime.tables.store import Codec

Key = Any
Entry = Any

# Rows of one store that stay in memory, at the least: a record of a row that is not there takes three to four times as
# long, so many small stores are better off with a little more memory than they were given.
LEAST = 1_000
# Rows in one transaction. Each may touch a page of its own, which is held in memory until then: 20 MiB. With 50 000,
# the file was twice as large and it took 180 MiB more.
AT_ONCE = 5_000
# Rows of a restore that are written together: the more, the more of them share a page, in the order of their keys.
LOADED = 50_000
# Bytes of address space of one file, and the most that it holds. They cost nothing until they are used, and a process
# has two thousand times as many. To grow it later would move what others are reading.
ROOM = 1 << 36

# Bytes of a key that LMDB takes. No key begins as a hash does: keys are arrays of msgpack, which begin otherwise.
LONGEST, HASHED, WIDTH = 511, b"\xff", 4
# A due time as bytes that are in its order: not below zero, and wide enough that none begins as a hash does.
SHIFT, AT = 1 << 64, 9

OURS = "rows-"  # folders that we make

_UNKNOWN: Any = object()


class DiskError(SpillwayError):
    """The disk does not take what a table has."""


class Disk:
    """The folder of one slot, and how many rows its stores keep in memory together."""

    def __init__(self, folder: Path, cached: int) -> None:
        """What a predecessor left in the folder is removed: nobody knows how far it came."""
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{OURS}*"):  # and nothing else: somebody may have named the wrong folder
            shutil.rmtree(left, ignore_errors=True)
        self._folder, self._cached = folder, cached
        self._open: weakref.WeakValueDictionary[Path, Rows] = weakref.WeakValueDictionary()

    def rows(self, codec: Codec) -> Rows:
        """An empty map; a table takes it in place of a dict (`store.Rows`)."""
        folder = Path(tempfile.mkdtemp(prefix=OURS, dir=self._folder))
        made = self._open[folder] = Rows(codec, folder, self._share)
        return made

    def later(self, encode: Callable[[Key], bytes], decode: Callable[[bytes], Key]) -> Later:
        """Due times of keys, in a file of their own."""
        return Later(encode, decode, Path(tempfile.mkdtemp(prefix=OURS, dir=self._folder)))

    def _share(self) -> int:
        """How many rows a store may keep now."""
        return max(LEAST, self._cached // max(1, len(self._open)))


class Rows(MutableMapping[Key, Entry]):
    """Rows by key, some in memory, all others in one file. An entry is never None, and never changed in place."""

    def __init__(self, codec: Codec, folder: Path, share: Callable[[], int]) -> None:
        """`share` tells how many may be in memory, whenever a generation is full."""
        self._codec, self._share = codec, share
        self._young: dict[Key, Entry] = {}
        self._old: dict[Key, Entry] = {}
        self._unsaved: dict[Key, None] = {}
        self._loading: dict[bytes, bytes | None] = {}
        self._count = 0
        self._full = share() // 2
        self._file = _File(folder)
        self.close = weakref.finalize(self, _removed, self._file.environment, folder)
        """Removes the file; also happens by itself, when nobody has the map any more."""

    def get(self, key: Key, default: Any = None) -> Any:
        """The entry of a key."""
        found = self._young.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._fetched(key)
        return default if found is None else found

    def __getitem__(self, key: Key) -> Entry:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: Key, entry: Entry) -> None:
        known = self._young.get(key, _UNKNOWN)
        if known is _UNKNOWN:
            known = self._old.pop(key, _UNKNOWN)
            if known is _UNKNOWN:  # whether it is there is enough; nobody wants the entry
                known = self._file.get(self._codec.key(key))
        if known is None:
            self._count += 1
        self._young[key] = entry
        self._unsaved[key] = None
        if len(self._young) > self._full:
            self._turn()

    def __delitem__(self, key: Key) -> None:
        if self.get(key) is None:
            raise KeyError(key)
        self._count -= 1
        self._young[key] = None
        self._unsaved[key] = None

    def __len__(self) -> int:
        return self._count

    def load(self, key: bytes, value: bytes | None) -> None:
        """Take a row as it stands in a changelog; it can be had once all are `loaded`."""
        if self._young or self._old:
            self._turn()
            self._turn()
        self._loading[key] = value
        if len(self._loading) >= LOADED:
            self.loaded()

    def loaded(self) -> None:
        """All that was loaded can be had."""
        if self._loading:
            self._file.write(list(self._loading.items()))
            self._loading.clear()
            self._count = len(self._file)

    def __iter__(self) -> Iterator[Key]:
        return (key for key, _ in self._pairs())

    def items(self) -> Any:
        """Keys and entries: those in memory first. To change rows meanwhile is an error, as it is with a dict."""
        return self._pairs()

    def values(self) -> Any:
        """Entries, in the order of `items`."""
        return (entry for _, entry in self._pairs())

    def _pairs(self) -> Iterator[tuple[Key, Entry]]:
        # Copies: to look at other rows meanwhile moves some from one generation to the other.
        cached = [*self._young.items(), *self._old.items()]
        yield from (pair for pair in cached if pair[1] is not None)
        known = {self._codec.key(key) for key, _ in cached}
        for key, value in self._file.all():
            if key not in known:
                inner = self._codec.key_of(key)
                yield inner, self._codec.entry(inner, value)

    def _fetched(self, key: Key) -> Entry | None:
        """Bring a row to the young ones, from the old ones or from disk."""
        entry = self._old.pop(key, _UNKNOWN)
        if entry is _UNKNOWN:
            value = self._file.get(self._codec.key(key))
            entry = None if value is None else self._codec.entry(key, value)
        self._young[key] = entry
        if len(self._young) > self._full:
            self._turn()
        return entry

    def _turn(self) -> None:
        """A generation is over: write what has changed of the old one, and forget it."""
        unsaved, encode = self._unsaved, self._codec
        changed = []
        for key, entry in self._old.items():
            if key in unsaved:
                del unsaved[key]
                changed.append((encode.key(key), None if entry is None else encode.value(key, entry)))
        self._file.write(changed)
        self._old, self._young = self._young, {}
        self._full = self._share() // 2


class Later:
    """Entries by their due times, in one file: what `expiry` needs not have in memory.

    The bytes of a due time and of a key are a key of the file, in the order of time. A key that is too long for that
    stands in the value, and its hash in its place.
    """

    def __init__(self, encode: Callable[[Key], bytes], decode: Callable[[bytes], Key], folder: Path) -> None:
        self._encode, self._decode = encode, decode
        self._waiting: dict[bytes, bytes] = {}
        self._file = _File(folder)
        self.close = weakref.finalize(self, _removed, self._file.environment, folder)

    def add(self, due: int, key: Key) -> None:
        """Keep one."""
        at, encoded = (due + SHIFT).to_bytes(AT, "big"), self._encode(key)
        whole = at + encoded
        if len(whole) <= LONGEST:
            self._waiting[whole] = b""
        else:
            self._waiting[at + hashlib.sha256(encoded).digest()] = encoded
        if len(self._waiting) >= AT_ONCE:
            self._write()

    def take(self, most: int) -> tuple[list[tuple[int, Key]], float]:
        """Take out the earliest, and say when the next one is due."""
        self._write()
        found = list(itertools.islice(self._file.all(), most + 1))
        border = self._due(found.pop()[0]) if len(found) > most else math.inf
        self._file.write([(place, None) for place, _ in found])
        return [(self._due(place), self._decode(value or place[AT:])) for place, value in found], border

    def clear(self) -> None:
        """Forget all."""
        self._waiting.clear()
        self._file.clear()

    def _write(self) -> None:
        self._file.write(list(self._waiting.items()))
        self._waiting.clear()

    @staticmethod
    def _due(place: bytes) -> int:
        return int.from_bytes(place[:AT], "big") - SHIFT


class _File:
    """One LMDB file, which lasts as long as its map.

    LMDB takes keys of 511 bytes. A longer one stands under its hash, and before its value.
    """

    def __init__(self, folder: Path) -> None:
        # Without syncs: after a crash nobody reads it. Without read ahead: rows are asked for one at a time, and pages
        # around them would push out others.
        self.environment = lmdb.open(str(folder), map_size=ROOM, sync=False, metasync=False, readahead=False)
        self._reading = self.environment.begin()

    def get(self, key: bytes) -> bytes | None:
        """The value of a key."""
        if len(key) <= LONGEST:
            return self._reading.get(key)
        found = self._reading.get(_hashed(key))
        return None if found is None else found[WIDTH + len(key) :]

    def write(self, rows: list[tuple[bytes, bytes | None]]) -> None:
        """Write or remove these rows, in the order of their keys: neighbours are on one page."""
        self._reading.abort()
        rows.sort(key=lambda row: row[0])
        try:
            for start in range(0, len(rows), AT_ONCE):
                self._write(rows[start : start + AT_ONCE])
        except lmdb.Error as error:
            message = f"rows of a table can't be written to {self.environment.path()}: {error}; is the disk full?"
            raise DiskError(message) from None
        self._reading = self.environment.begin()

    def clear(self) -> None:
        """Remove all rows."""
        self._reading.abort()
        with self.environment.begin(write=True) as writing:
            writing.drop(self.environment.open_db(None, txn=writing), delete=False)
        self._reading = self.environment.begin()

    def __len__(self) -> int:
        return int(self.environment.stat()["entries"])

    def all(self) -> Iterator[tuple[bytes, bytes]]:
        """Every row, as of now."""
        with self.environment.begin() as reading, reading.cursor() as cursor:
            for key, value in cursor:
                if key[:1] != HASHED:
                    yield key, value
                    continue
                end = WIDTH + int.from_bytes(value[:WIDTH], "big")
                yield value[WIDTH:end], value[end:]

    def _write(self, rows: list[tuple[bytes, bytes | None]]) -> None:
        with self.environment.begin(write=True) as writing:
            for key, value in rows:
                if value is None:
                    writing.delete(key if len(key) <= LONGEST else _hashed(key))
                elif len(key) <= LONGEST:
                    writing.put(key, value)
                else:
                    writing.put(_hashed(key), len(key).to_bytes(WIDTH, "big") + key + value)


def _hashed(key: bytes) -> bytes:
    return HASHED + hashlib.sha256(key).digest()


def _removed(environment: Any, folder: Path) -> None:
    environment.close()
    shutil.rmtree(folder, ignore_errors=True)
