"""A mapping that never changes: states of the protocol are values, compared and hashed as such."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Hashable)


class Frozen(Mapping[Key, Value]):
    """Keys and values that stay as they are; a change is a new mapping.

    A change copies the dict below: 10 µs with 1000 partitions, and control messages come by the hundred per second at
    most. A tree that shares what is equal would win from about 100 000 partitions on, which no job has.
    """

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[Key, Value] | Iterable[tuple[Key, Value]] = ()) -> None:
        self._items = dict(items)
        self._hash: int | None = None

    def put(self, key: Key, value: Value) -> Frozen[Key, Value]:
        """The same with one more, or another, value."""
        return Frozen({**self._items, key: value})

    def drop(self, key: Key) -> Frozen[Key, Value]:
        """The same without one key."""
        return Frozen({k: v for k, v in self._items.items() if k != key}) if key in self._items else self

    def __getitem__(self, key: Key) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, Frozen) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Frozen({self._items!r})"
