"""Where tables keep their entries: a map in memory, and what of it has changed since the last commit.

A table reads and writes `rows`, and notes in `dirty` which keys it wrote or removed. A commit takes the `changes`:
the newest entry of each such key, encoded, or None where it is gone. That is all a compacted changelog needs:

    state at a commit = for each key, the last change up to that commit        (compacting never removes that one)

The stores of one table share a changelog: the first byte of a changelog key is the number of its store.
Event time has come as far as `time` says; tables with a retention set it. It is written like an entry, and so is the
next `number`: what is late after a restart has to be what would have been late without it.

`rows` is a dict here. What tables ask of it is `get`, item assignment, `pop`, `len` and iteration, so that a map on
disk with a write-back cache can take its place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

Key = Any
Entry = Any
Change = tuple[bytes, bytes | None]

NEVER = -(2**63)  # before every event: the smallest time that a column can hold

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_unpack_numbers = msgspec.msgpack.Decoder(tuple[int, int]).decode


class Store:
    """A keyed map with a dirty set.

    Attributes:
        rows: the entries.
        dirty: keys that changed since the last `changes`, in the order of their first change. A dict, not a set: what
            is written must not depend on how Python hashes.
        time: the largest event time seen, where the table has a retention.
        number: that of the next entry, where entries are numbered.
    """

    def __init__(
        self,
        encode_key: Callable[[Key], bytes],
        decode_key: Callable[[bytes], Key],
        encode: Callable[[Key, Entry], Any],
        decode: Callable[[Key, Any], Entry],
        *,
        place: int = 0,
        restored: Callable[[], None] = lambda: None,
    ) -> None:
        """How keys become bytes and entries become values for msgpack, and back.

        `place`: which of the table's stores it is. `restored`: called after a restore.
        """
        self.rows: dict[Key, Entry] = {}
        self.dirty: dict[Key, None] = {}
        self.time = NEVER
        self._encode_key, self._decode_key = encode_key, decode_key
        self._encode, self._decode = encode, decode
        self._prefix = bytes((place,))
        self._restored = restored
        self.number = 0
        self._saved = (NEVER, 0)
        self._bytes = self._count = 0

    def changes(self) -> list[Change]:
        """What has changed since the last call, for the changelog; None is a tombstone."""
        prefix, encode_key, current, encode = self._prefix, self._encode_key, self.current, self._encode
        found: list[Change] = []
        for key in self.dirty:
            entry = current(key)
            value = None if entry is None else _pack(encode(key, entry))
            found.append((prefix + encode_key(key), value))
        self.dirty.clear()
        self._measure(found)
        if self._saved != (self.time, self.number):
            self._saved = (self.time, self.number)
            found.append((prefix, _pack(self._saved)))
        return found

    def load(self, key: bytes, value: bytes | None) -> None:
        """Take one record of the changelog, in its order."""
        if len(key) == 1:
            if value is not None:
                self.time, self.number = self._saved = _unpack_numbers(value)
            return
        found = self._decode_key(key[1:])
        if value is None:
            self.put(found, None)
            return
        self.put(found, self._decode(found, _unpack(value)))
        self._bytes += len(key) + len(value)
        self._count += 1

    def restored(self) -> None:
        """The changelog is at its end: what the table derives from its entries can be built."""
        self.dirty.clear()
        self._restored()

    def current(self, key: Key) -> Entry | None:
        """The entry of a key."""
        return self.rows.get(key)

    def put(self, key: Key, entry: Entry | None) -> None:
        """Set an entry, or remove it, without noting that it changed."""
        if entry is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = entry

    def scan(self, most: int) -> list[tuple[Key, Entry]]:
        """Some entries, at most so many."""
        return list(itertools.islice(self.rows.items(), most))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Bytes of all entries once the changelog is compacted, estimated by those that were written or read."""
        return len(self) * self._bytes // max(1, self._count)

    def _measure(self, changes: Iterable[Change]) -> None:
        for key, value in changes:
            if value is not None:
                self._bytes += len(key) + len(value)
                self._count += 1


def load(stores: Sequence[Store], key: bytes, value: bytes | None) -> None:
    """Take one record of the changelog that the stores of a table share."""
    stores[key[0]].load(key, value)
