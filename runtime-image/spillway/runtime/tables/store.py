"""Where tables keep their entries: a map in memory, and what of it has changed since the last commit.

A table reads and writes `rows`, and notes in `dirty` which keys it wrote or removed. A commit takes the `changes`:
the newest entry of each such key, encoded, or None where it is gone. That is all a compacted changelog needs:

    state at a commit = for each key, the last change up to that commit        (compacting never removes that one)

The stores of one table share a changelog: the first byte of a changelog key is the number of its store.
Event time has come as far as `time` says; tables with a retention set it. It is written like an entry, and so is the
next `number`: what is late after a restart has to be what would have been late without it.

`rows` is a dict, or whatever map a `Keeping` has in its place: `disk` has one for tables that are larger than memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from spillway.runtime.tables.expiry import Later

Key = Any
Entry = Any
Change = tuple[bytes, bytes | None]


class Codec(NamedTuple):
    """How entries become bytes, and come back: for maps that keep them elsewhere than in memory."""

    key: Callable[[Key], bytes]
    key_of: Callable[[bytes], Key]
    value: Callable[[Key, Entry], bytes]
    entry: Callable[[Key, bytes], Entry]


class Keeping(Protocol):
    """Where tables have what they keep; all of it is made empty."""

    def rows(self, codec: Codec) -> MutableMapping[Key, Entry]:
        """The rows of a store."""

    def later(self, encode: Callable[[Key], bytes], decode: Callable[[bytes], Key]) -> Later | None:
        """Where a retention notes what is not due soon, by keys that become bytes so; None: in memory, as all else."""


class InMemory:
    """What a table has unless it is told otherwise."""

    def rows(self, _: Codec) -> MutableMapping[Key, Entry]:
        """A dict."""
        return {}

    def later(self, _: Callable[[Key], bytes], __: Callable[[bytes], Key]) -> Later | None:
        """Nothing: a heap has it."""
        return None


MEMORY = InMemory()
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
        kept: Keeping = MEMORY,
    ) -> None:
        """How keys become bytes and entries become values for msgpack, and back.

        `place`: which of the table's stores it is. `restored`: called after a restore. `kept`: where entries are.
        """
        self.rows = kept.rows(
            Codec(
                encode_key,
                decode_key,
                lambda key, entry: _pack(encode(key, entry)),
                lambda key, value: decode(key, _unpack(value)),
            )
        )
        # A map that is elsewhere takes what a restore reads as it stands in the changelog.
        self._take: Callable[[bytes, bytes | None], None] | None = getattr(self.rows, "load", None)
        self._taken: Callable[[], None] | None = getattr(self.rows, "loaded", None)
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
        if self._take is not None:
            self._take(key[1:], value)
        else:
            found = self._decode_key(key[1:])
            self.put(found, None if value is None else self._decode(found, _unpack(value)))
        if value is None:
            return
        self._bytes += len(key) + len(value)
        self._count += 1

    def restored(self) -> None:
        """The changelog is at its end: what the table derives from its entries can be built."""
        self.dirty.clear()
        if self._taken is not None:
            self._taken()
        self._restored()

    def close(self) -> None:
        """Nobody asks any more: what the map has elsewhere than in memory is removed."""
        close = getattr(self.rows, "close", None)
        if close is not None:
            close()

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
