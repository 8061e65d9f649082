"""For every kind of operator: a right output is judged right, and a spoiled one not, with the name of what is wrong.

Each way of spoiling is one that a broken job could have: a message is lost, repeated, out of its order, has another
value, a deletion is missing, a row is too many.
"""

from __future__ import annotations

import dataclasses
import functools
import json

import pytest

import judged
import judged_kinds
from judged import Topics
from spillway.bench.verifier import expectation, judging
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.verdict import Verdict
from spillway.model.execution import Delivery
from spillway.model.streamjob import Spec

KINDS = {**judged_kinds.STREAMS, **judged_kinds.TABLES}


@functools.cache
def case(kind: str, seed: int = 0) -> tuple[Spec, Topics, Topics]:
    """A job, what it reads, and what it wrote."""
    spec = KINDS[kind]()
    read = judged_kinds.read(spec, seed)
    job = judged.ran(spec, read)
    assert not [letter for letter in job.letters if letter.operator == "it"]
    return spec, read, judged.written(job, spec)


def spoiled(kind: str, records: list[Record], *, once: bool = False) -> Verdict:
    """The verdict on other results than the job gave."""
    _, _, wrote = case(kind)
    delivery = Delivery.EXACTLY_ONCE if once else Delivery.AT_LEAST_ONCE
    renumbered = [dataclasses.replace(record, offset=offset) for offset, record in enumerate(records)]
    return judging.compare(expected(kind), {**wrote, "result": renumbered}, delivery, 0, judged.TABLES_FIRST)


@functools.cache
def expected(kind: str) -> tuple[Expected, ...]:
    """What the verifier expects, computed once: spoiling changes nothing of it."""
    spec, read, _ = case(kind)
    return expectation.expected(spec, read, judged.TABLES_FIRST)


def results(kind: str) -> list[Record]:
    return list(case(kind)[2]["result"])


def changed(record: Record, column: str | None = None) -> Record:
    """The message with another value in a column that is no key and no null."""
    assert record.value is not None
    row = json.loads(record.value)
    name = column or [name for name, value in row.items() if type(value) is int][-1]
    return dataclasses.replace(record, value=json.dumps({**row, name: row[name] + 1}).encode())


def last_of_keys(records: list[Record]) -> dict[bytes | None, int]:
    return {record.key: number for number, record in enumerate(records)}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_a_right_output_is_right(kind: str, seed: int) -> None:
    spec, read, wrote = case(kind, seed)

    verdict = judged.judged(spec, read, wrote)

    assert verdict.right, verdict.outputs
    assert verdict.complete
    assert verdict.outputs[0].expected > 0
    assert verdict.undetermined == 0


@functools.cache
def final(kind: str) -> int:
    """The number of a message that has to be there: not one of a row that is corrected later."""
    records = results(kind)
    for number in range(len(records) // 2, len(records)):
        if spoiled(kind, records[:number] + records[number + 1 :]).lost:
            return number
    message = f"no message of {kind} is needed"
    raise AssertionError(message)


@pytest.mark.parametrize("kind", judged_kinds.STREAMS)
def test_one_record_lost(kind: str) -> None:
    records, number = results(kind), final(kind)

    verdict = spoiled(kind, records[:number] + records[number + 1 :])

    assert (verdict.right, verdict.complete, verdict.lost) == (False, False, 1)
    (example,) = verdict.outputs[0].examples
    assert example.kind == "lost"
    assert example.expected == json.loads(records[number].value or b"") or example.expected is not None


@pytest.mark.parametrize("kind", sorted(set(judged_kinds.STREAMS) - {"join that is corrected"}))
def test_one_record_twice(kind: str) -> None:
    records, number = results(kind), final(kind)
    twice = [*records, records[number]]

    verdict = spoiled(kind, twice)
    assert (verdict.right, verdict.duplicated, verdict.wrong, verdict.lost) == (True, 1, 0, 0)
    verdict = spoiled(kind, twice, once=True)
    assert (verdict.right, verdict.duplicated) == (False, 1)
    assert verdict.outputs[0].examples[0].offset == len(records)


ORDERED = [kind for kind in judged_kinds.STREAMS if " a stream" not in kind and kind != "join that is corrected"]


@pytest.mark.parametrize("kind", ORDERED)
def test_two_records_of_a_key_swapped(kind: str) -> None:
    records = results(kind)
    told = 0
    for number in range(min(30, len(records) - 1)):
        one, other = records[number], records[number + 1]
        if one.key == other.key and one.value != other.value:
            verdict = spoiled(kind, [*records[:number], other, one, *records[number + 2 :]])
            # Records of different partitions have no order; those of one have.
            assert (verdict.lost, verdict.duplicated, verdict.wrong) == (0, 0, 0)
            assert verdict.right == (verdict.reordered == 0)
            told += verdict.reordered
    assert told > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_changed(kind: str) -> None:
    records = results(kind)
    if kind in judged_kinds.STREAMS:
        number = final(kind)
    else:
        numbers = last_of_keys(records).values()
        number = next(n for n in numbers if records[n].value is not None)
    spoilt = records[number]
    assert spoilt.value is not None
    row = json.loads(spoilt.value)
    name = next(name for name in reversed(row) if name != "k" and row[name] is not None)
    new = row[name] + 1000 if isinstance(row[name], int) else "2031-01-01T00:00:00Z"
    records[number] = dataclasses.replace(spoilt, value=json.dumps({**row, name: new}).encode())

    verdict = spoiled(kind, records)

    assert (verdict.right, verdict.lost, verdict.wrong) == (False, 0, 1)
    (example,) = [e for e in verdict.outputs[0].examples if e.kind == "wrong"]
    assert (example.key, example.offset) == (spoilt.key and spoilt.key.decode(), number)
    assert example.found != example.expected is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_too_many(kind: str) -> None:
    records = results(kind)
    other = next(r for r in records if r.value is not None)
    row = {**json.loads(other.value or b""), "k": "z"} if "k" in json.loads(other.value or b"") else {"g": 77, "c": 1}
    records.append(dataclasses.replace(other, key=b"new key", value=json.dumps(row).encode()))

    verdict = spoiled(kind, records)

    assert (verdict.right, verdict.complete, verdict.wrong) == (False, True, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_message_of_the_output(kind: str) -> None:
    records = results(kind)
    records.append(dataclasses.replace(records[-1], key=b"new key", value=b"{not json"))

    verdict = spoiled(kind, records)

    assert (verdict.right, verdict.wrong) == (False, 1)
    assert verdict.outputs[0].examples[-1].found == "{not json"


@pytest.mark.parametrize("kind", judged_kinds.TABLES)
def test_a_row_lost(kind: str) -> None:
    records = results(kind)
    key = next(key for key, number in last_of_keys(records).items() if records[number].value is not None)

    verdict = spoiled(kind, [record for record in records if record.key != key])

    assert (verdict.right, verdict.complete, verdict.lost, verdict.wrong) == (False, False, 1, 0)


@pytest.mark.parametrize("kind", judged_kinds.TABLES)
def test_the_last_update_lost(kind: str) -> None:
    records = results(kind)
    last = max(n for n in last_of_keys(records).values() if _has_earlier(records, n))

    verdict = spoiled(kind, records[:last] + records[last + 1 :])

    assert (verdict.right, verdict.lost + verdict.wrong) == (False, 1)


def _has_earlier(records: list[Record], number: int) -> bool:
    before = [r for r in records[:number] if r.key == records[number].key]
    return bool(before) and before[-1].value != records[number].value and records[number].value is not None


@pytest.mark.parametrize("kind", judged_kinds.TABLES)
def test_the_last_two_updates_swapped(kind: str) -> None:
    records = results(kind)
    last = max(n for n in last_of_keys(records).values() if _has_earlier(records, n))
    first = max(n for n in range(last) if records[n].key == records[last].key)
    records[first], records[last] = records[last], records[first]

    verdict = spoiled(kind, records)

    assert not verdict.right
    assert verdict.lost + verdict.wrong > 0


@pytest.mark.parametrize("kind", judged_kinds.TABLES)
def test_an_update_twice(kind: str) -> None:
    records = results(kind)
    number = next(n for n in range(len(records)) if records[n].value is not None)
    twice = [*records[: number + 1], records[number], *records[number + 1 :]]

    assert (spoiled(kind, twice).right, spoiled(kind, twice).duplicated) == (True, 1)
    assert not spoiled(kind, twice, once=True).right


@pytest.mark.parametrize("kind", judged_kinds.DELETING)
def test_a_deletion_missing(kind: str) -> None:
    records = results(kind)
    number = next(
        n
        for n in last_of_keys(records).values()
        if records[n].value is None and any(r.key == records[n].key and r.value for r in records[:n])
    )

    verdict = spoiled(kind, records[:number] + records[number + 1 :])

    assert (verdict.right, verdict.lost, verdict.wrong) == (False, 0, 1)
    assert "should not be there" in verdict.outputs[0].examples[0].why


@pytest.mark.parametrize("kind", ["aggregate", "aggregate by windows"])
def test_a_count_that_was_never_right(kind: str) -> None:
    records = results(kind)
    number = next(n for n, record in enumerate(records) if n not in last_of_keys(records).values())
    records[number] = dataclasses.replace(
        records[number], value=json.dumps({**json.loads(records[number].value or b""), "n": 999}).encode()
    )

    verdict = spoiled(kind, records)

    assert (verdict.right, verdict.wrong) == (False, 1)
    assert "never right" in "".join(example.why for example in verdict.outputs[0].examples)


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_in_two_partitions(kind: str) -> None:
    records = results(kind)
    keys = [record.key for record in records]
    number = next(n for n, record in enumerate(records) if keys.count(record.key) > 1)
    records[number] = dataclasses.replace(records[number], partition=7)

    assert spoiled(kind, records).wrong > 0
