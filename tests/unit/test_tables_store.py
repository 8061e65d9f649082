"""Stores: what a commit writes, and what becomes of it when it is read again."""

from __future__ import annotations

from typing import Any

from spillway.runtime import keys
from spillway.runtime.tables.store import NEVER, Store, load


def _store(place: int = 0) -> Store:
    decode = keys.decoder(())
    return Store(
        lambda key: keys.encode((key,)), lambda key: decode(key)[0], lambda _, e: e, lambda _, e: e, place=place
    )


def _write(store: Store, key: Any, entry: Any) -> None:
    store.put(key, entry)
    store.dirty[key] = None


def test_a_commit_writes_what_changed_once_in_the_order_of_the_first_change() -> None:
    store = _store()
    for key, entry in [("b", 1), ("a", 2), ("b", 3)]:
        _write(store, key, entry)

    changes = store.changes()

    assert changes == [(b"\x00\x91\xa1b", b"\x03"), (b"\x00\x91\xa1a", b"\x02")]
    assert store.changes() == []


def test_what_is_gone_is_a_tombstone() -> None:
    store = _store()
    _write(store, "a", 1)
    store.changes()

    _write(store, "a", None)

    assert store.changes() == [(b"\x00\x91\xa1a", None)]
    assert len(store) == 0


def test_the_last_record_of_a_key_counts() -> None:
    store = _store()
    for value in (b"\x01", b"\x02", None, b"\x03"):
        store.load(b"\x00\x91\xa1a", value)
    store.load(b"\x00\x91\xa1b", b"\x01")
    store.load(b"\x00\x91\xa1b", None)
    store.restored()

    assert store.rows == {"a": 3}
    assert store.changes() == []


def test_event_time_is_restored_and_written_only_when_it_has_advanced() -> None:
    store, again = _store(), _store()
    store.time, store.number = 1_700_000_000_000_000, 3
    log = store.changes()
    assert store.changes() == []

    for key, value in log:
        again.load(key, value)
    again.restored()

    assert (again.time, again.number) == (store.time, store.number)
    assert again.changes() == []
    assert _store().time == NEVER
    assert len(again) == 0


def test_stores_of_one_table_share_a_changelog() -> None:
    stores, again = [_store(0), _store(1)], [_store(0), _store(1)]
    _write(stores[0], "a", 1)
    _write(stores[1], "a", 2)
    stores[1].time = 5

    for store in stores:
        for key, value in store.changes():
            load(again, key, value)

    assert [store.rows for store in again] == [{"a": 1}, {"a": 2}]
    assert [store.time for store in again] == [NEVER, 5]


def test_a_restore_tells_who_derives_something_from_the_entries() -> None:
    told: list[str] = []
    store = Store(keys.encode, keys.decoder(()), lambda _, e: e, lambda _, e: e, restored=lambda: told.append("now"))
    store.load(b"\x00\x90", b"\x01")
    assert told == []

    store.restored()

    assert told == ["now"]


def test_the_size_is_that_of_a_compacted_changelog() -> None:
    store = _store()
    assert store.size == 0
    for i in range(10):
        _write(store, f"k{i}", "x" * 100)
    written = sum(len(key) + len(value or b"") for key, value in store.changes())
    for i in range(10):
        _write(store, f"k{i}", "y" * 100)
    store.changes()

    assert store.size == written
    _write(store, "k0", None)
    store.changes()
    assert store.size == written * 9 // 10


def test_a_scan_is_bounded() -> None:
    store = _store()
    for i in range(10):
        _write(store, i, str(i))

    assert store.scan(3) == [(0, "0"), (1, "1"), (2, "2")]
    assert len(store.scan(100)) == 10
