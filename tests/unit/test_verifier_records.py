"""What the verifier keeps of topics with millions of messages."""

from __future__ import annotations

import tracemalloc

import pytest

from spillway.bench.verifier.records import Packed, Packs, Record

MANY = 50_000


def packed(records: list[Record]) -> Packed:
    found = Packed(records[0].partition)
    for record in records:
        found.add(record.offset, record.key, record.value, record.time)
    return found


RECORDS = [
    Record(2, 5, b"key", b"value", 1_000),
    Record(2, 6, None, b"no key", 1_001),
    Record(2, 9, b"", b"", 1_002),
    Record(2, 10, b"deleted", None, 2**40),
]


def test_messages_come_back_as_they_were() -> None:
    assert list(packed(RECORDS)) == RECORDS


@pytest.mark.parametrize("record", RECORDS)
def test_a_message_is_found_by_its_offset(record: Record) -> None:
    found = packed(RECORDS)
    assert found.find(record.offset) == record
    assert not found.is_next(record.offset)


def test_what_is_not_there_is_not_found() -> None:
    found = packed(RECORDS)
    assert [found.find(offset) for offset in (0, 7, 11)] == [None, None, None]
    assert found.is_next(11)
    assert Packed(0).find(0) is None
    assert (Packed(0).first, found.first) == (None, 5)


def test_a_topic_is_its_partitions_one_after_the_other() -> None:
    other = [Record(3, 0, b"a", b"b", 7)]
    found = Packs([packed(RECORDS), packed(other)])
    assert [*found] == [*RECORDS, *other]
    assert len(found) == 5
    assert other[0] in found


def test_a_million_messages_are_some_tens_of_megabytes() -> None:
    tracemalloc.start()
    try:
        found = Packed(0)
        for number in range(MANY):
            found.add(number, b"a word", b'{"word":"a word","n":%d}' % number, 1_700_000_000_000 + number)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert sum(record.offset for record in found) == MANY * (MANY - 1) // 2
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / MANY < 100  # bytes, of which 34 are the message
    assert most - kept < 20_000  # looking at one after the other keeps none of them
