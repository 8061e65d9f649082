"""What the order of arrival decides is never called wrong, whatever it was; and what it doesn't decide still counts."""

from __future__ import annotations

import dataclasses
import datetime
import json
from typing import Any

import pytest

import judged
import judged_kinds
import programs
from judged import TABLES_FIRST, Topics
from spillway.bench.verifier import expectation
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Assumptions
from spillway.bench.verifier.verdict import Verdict
from spillway.model.streamjob import Spec

NOTHING_KNOWN = Assumptions(lead=None)
LOOKUPS = [kind for kind in judged_kinds.STREAMS if "table" in kind or "corrected" in kind or "newest" in kind]


def shuffled(kind: str, seed: int) -> tuple[Spec, Topics, Topics]:
    """A job whose programs take their turns in another order: streams may flow before tables, or after them."""
    spec = judged_kinds.STREAMS[kind]()
    read = judged_kinds.read(spec, seed)
    job = programs.Job(spec, judged.cuts(spec)[0], partitions=3, dice=programs.seeded(seed))
    programs.seeded(seed).shuffle(order := list(job.programs[:-1]))
    job.programs = (*order, job.programs[-1])
    job.run({topic: judged.by_partition(records) for topic, records in read.items()})
    return spec, read, judged.written(job, spec)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", LOOKUPS)
def test_a_look_up_is_right_whatever_came_first(kind: str, seed: int) -> None:
    spec, read, wrote = shuffled(kind, seed)

    verdict = judged.judged(spec, read, wrote, NOTHING_KNOWN)

    assert verdict.right, verdict.outputs
    assert (verdict.undetermined > 0) == (kind != "join that is corrected")


def test_of_a_left_join_every_record_is_there_whatever_it_met() -> None:
    spec, read, wrote = shuffled("left join with a table", 1)
    results = wrote["result"]

    verdict = judged.judged(spec, read, {"result": results[:-1]}, NOTHING_KNOWN)

    assert (verdict.right, verdict.lost) == (False, 1)


def test_a_value_that_no_order_gives_is_wrong() -> None:
    spec, read, wrote = shuffled("join that is corrected", 2)
    spoilt = json.loads(wrote["result"][-1].value or b"")
    other = dataclasses.replace(wrote["result"][-1], value=json.dumps({**spoilt, "label": "none such"}).encode())

    assert not judged.judged(spec, read, {"result": [*wrote["result"][:-1], other]}, NOTHING_KNOWN).right


# By hand: one key, a table with two versions, one record.


def spec_of(**join: Any) -> Spec:
    tables = {"distribution": "partitioned"} if "retention" in join else {}
    retention = {"retention": join.pop("retention")} if "retention" in join else {}
    return judged_kinds.job(
        [{"name": "it", "input": "events", "join": {"table": "labels", "by": ["k"], **join}, **retention}], **tables
    )


def topics(*labels: tuple[int, str | None], at: int = 50, sent: int = 50) -> Topics:
    """One record of time `at`, sent then; and rows of these times, sent at them."""
    event = {"k": "a", "a": 1, "at": at}
    rows = [{"k": "a", "label": label, "lt": time} for time, label in labels]
    history = [
        Record(0, i, b"a", json.dumps(row).encode() if row["label"] is not None else None, int(str(row["lt"])))
        for i, row in enumerate(rows)
    ]
    return {"events": [Record(0, 0, b"a", json.dumps(event).encode(), sent)], "labels": history}


def row_of(spec: Spec, read: Topics, lead: int | None) -> Any:
    """The rows that have to come, and what of them is not sure."""
    (found,) = expectation.expected(spec, read, Assumptions(lead=lead))
    names = found.relation.schema.names
    return [
        (
            row.values[names.index("label")],
            "maybe" if row.maybe else "passing" if row.passing else "final",
            sorted(names[place] for place in row.unsure),
        )
        for row in found.relation.rows
    ]


@pytest.mark.parametrize(
    ("join", "labels", "lead", "expected"),
    [
        ({}, [(10, "old")], 5, [("old", "final", [])]),
        ({}, [(10, "old"), (40, "new")], 5, [("new", "final", [])]),
        ({}, [(10, "old"), (48, "new")], 5, [("new", "final", ["label", "lt"])]),
        ({}, [(10, "old"), (60, "later")], 5, [("old", "final", [])]),
        ({}, [(48, "new")], 5, [("new", "maybe", [])]),
        ({"type": "left"}, [(48, "new")], 5, [("new", "final", ["label", "lt"])]),
        ({}, [(10, "old"), (20, None)], 5, []),
        ({"type": "left"}, [(10, "old"), (20, None)], 5, [(None, "final", [])]),
        ({"asOf": "latest"}, [(10, "old"), (60, "later")], 5, [("later", "final", ["label", "lt"])]),
        ({"retention": "1h"}, [(10, "old"), (48, "new")], 5, [("new", "final", []), ("old", "passing", [])]),
        ({"retention": "1h"}, [(48, "new")], None, [("new", "final", [])]),
        ({"type": "left", "retention": "1h"}, [(48, "new")], None, [("new", "final", []), (None, "passing", [])]),
    ],
)
def test_what_a_record_may_meet(
    join: dict[str, Any], labels: list[tuple[int, str | None]], lead: int | None, expected: Any
) -> None:
    assert row_of(spec_of(**join), topics(*labels), lead) == expected


def test_messages_that_may_be_several_leave_to_others_what_these_need() -> None:
    # Of two equal records the join of one is not sure; both messages fit that one, and only one fits the other.
    spec = spec_of(type="left")
    read = topics((40, "new"), at=50, sent=41)
    event = read["events"][0]
    read["events"] = [event, dataclasses.replace(event, offset=1, time=100)]
    row = {"k": "a", "a": 1, "at": "1970-01-01T00:00:00.050Z", "label": "new", "lt": "1970-01-01T00:00:00.040Z"}
    alone = {**row, "label": None, "lt": None}

    def verdict(*rows: dict[str, Any]) -> Verdict:
        results = [Record(0, i, b"a", json.dumps(row).encode(), 200) for i, row in enumerate(rows)]
        return judged.judged(spec, read, {"result": results}, Assumptions(lead=5))

    assert all(verdict(*rows).right for rows in [(row, alone), (alone, row), (row, row)])
    assert (verdict(alone, alone).lost, verdict(alone, alone).duplicated) == (1, 1)
    assert verdict(row, row, alone).duplicated == 1


# What may be too late for a retention.

COUNTED = {"by": ["k"], "window": {"size": "10s"}, "values": ["count(*) as n"]}
EARLY, LATE = 1_772_366_400_000, 1_772_366_400_000 + 60_000


def windows(retention: str) -> tuple[Spec, Topics]:
    """Two windows a minute apart; two records of the early one, in different partitions."""
    spec = judged_kinds.job([{"name": "it", "input": "events", "aggregate": COUNTED, "retention": retention}], key=None)
    times = [(0, EARLY), (1, EARLY + 1), (0, LATE)]
    events = [
        Record(partition, i, None, json.dumps({"k": "a", "a": 1, "at": at}).encode(), at)
        for i, (partition, at) in enumerate(times)
    ]
    return spec, {"events": events}


def given_counts(spec: Spec, early: int | None, late: int) -> Topics:
    rows = [(EARLY, early), (LATE, late)]
    results: list[Record] = []
    for start, count in rows:
        texts = [_iso(start), _iso(start + 10_000)]
        row = {"k": "a", "window_start": texts[0], "window_end": texts[1], "n": count}
        key = {name: row[name] for name in ("k", "window_start", "window_end")}
        if count is not None:
            data = json.dumps(key, separators=(",", ":")).encode()
            results.append(Record(0, len(results), data, json.dumps(row).encode(), LATE))
    return {spec.outputs[0].topic: results}


def _iso(millis: int) -> str:
    moment = datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC)
    return moment.replace(tzinfo=None).isoformat() + "Z"


def verdict_of(retention: str, early: int | None, late: int, assumed: Assumptions = TABLES_FIRST) -> Verdict:
    spec, read = windows(retention)
    return judged.judged(spec, read, given_counts(spec, early, late), assumed)


def test_a_record_that_is_surely_in_time_counts() -> None:
    assert verdict_of("1h", 2, 1).right
    assert verdict_of("1h", 1, 1).wrong == 1
    assert verdict_of("1h", None, 1).lost == 1


@pytest.mark.parametrize("early", [2, 1, None])
def test_a_record_that_may_be_late_may_count_or_not(early: int | None) -> None:
    verdict = verdict_of("10s", early, 1)

    assert (verdict.right, verdict.undetermined) == (True, 1)
    assert verdict_of("10s", early, 2).wrong == 1


def test_who_knows_that_nothing_was_late_is_told_more() -> None:
    known = Assumptions(none_late=True)

    assert (verdict_of("10s", 2, 1, known).right, verdict_of("10s", 2, 1, known).undetermined) == (True, 0)
    assert verdict_of("10s", 1, 1, known).wrong == 1


# Void.


def test_nothing_is_said_without_records() -> None:
    spec, _ = windows("1h")

    verdict = judged.judged(spec, {"events": []}, {})

    assert (verdict.right, verdict.exit_code, verdict.void) == (False, 2, "no stream has any record")


def test_nothing_is_said_of_an_expression_that_the_verifier_does_not_know() -> None:
    spec = judged_kinds.job([{"name": "it", "input": "events", "select": ["k", "soundex(k) as s"]}])
    _, read = windows("1h")

    verdict = judged.judged(spec, read, {"result": []})

    assert (verdict.right, verdict.exit_code) == (False, 2)
    assert "soundex" in verdict.void
