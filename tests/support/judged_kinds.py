"""A small job for each kind of operator, with inputs that take every path of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import programs
from judged import Topics
from programs import seeded
from spillway.bench.verifier.records import Record
from spillway.model.streamjob import Spec

START = 1_772_366_400_000

EVENTS = {"name": "events", "topic": "events", "columns": "k string, a bigint, at timestamp", "timestamp": "at"}
OTHERS = {"name": "others", "topic": "others", "columns": "k string, b bigint, bt timestamp", "timestamp": "bt"}
LABELS = {
    "name": "labels",
    "topic": "labels",
    "key": ["k"],
    "columns": "k string, label string, lt timestamp",
    "timestamp": "lt",
}
TAGS = {"name": "tags", "topic": "tags", "key": ["k"], "columns": "k string, tag string"}


def job(operators: list[dict[str, Any]], mode: str | None = None, key: str | None = "k", **tables: Any) -> Spec:
    """A job of these operators; with changes of its tables."""
    read = {name for operator in operators for name in (operator.get("input"), *operator.get("inputs", ()))}
    read |= {operator.get("join", {}).get(side) for operator in operators for side in ("stream", "table")}
    streams = [stream for stream in (EVENTS, OTHERS) if stream["name"] in read]
    if not streams:
        streams = [EVENTS]
        operators = [*operators, {"name": "unused", "input": "events", "filter": "a > 5"}]
    known = [{**table, **tables} for table in (LABELS, TAGS) if table["name"] in read]
    output = {"name": "result", "input": operators[-1]["name"], "topic": "result", "mode": mode}
    outputs = [{**output, **({} if key is None else {"key": [key]})}]
    if operators[-1]["name"] == "unused":
        outputs[0]["input"] = operators[-2]["name"]
        outputs.append({"name": "unused", "input": "unused", "topic": "unused"})
    parts = {"streams": streams, "tables": known, "operators": operators, "outputs": outputs}
    return programs.spec(json.loads(json.dumps(parts)))


def _one(**operator: Any) -> list[dict[str, Any]]:
    return [{"name": "it", "input": "events", **operator}]


def _joined(kind: str) -> list[dict[str, Any]]:
    return _one(join={"stream": "others", "by": ["k"], "within": "5s", "type": kind})


def _both(kind: str) -> list[dict[str, Any]]:
    return [{"name": "it", "input": "labels", "join": {"table": "tags", "by": ["k"], "type": kind}}]


PARTITIONED = {"distribution": "partitioned"}
COUNTED = ["count(*) as n", "sum(a) as total", "max(a) as most"]

STREAMS: dict[str, Callable[[], Spec]] = {
    "filter": lambda: job(_one(filter="a > 2 and k <> 'c'")),
    "select": lambda: job(_one(select=["k", "a * 2 as twice", "coalesce(a, -1L) as known", "at"])),
    "explode": lambda: job(_one(explode={"array": "array(a, a + 1, a * a)", "as": "e"})),
    "several inputs": lambda: job(
        [
            {"name": "big", "input": "events", "filter": "a > 4"},
            {"name": "small", "input": "events", "filter": "a <= 4"},
            {"name": "it", "inputs": ["big", "small"], "select": ["k", "a", "at"]},
        ]
    ),
    "join with a stream": lambda: job(_joined("inner")),
    "left join with a stream": lambda: job(_joined("left")),
    "right join with a stream": lambda: job(_joined("right")),
    "full join with a stream": lambda: job(_joined("full")),
    "join with a table": lambda: job(_one(join={"table": "labels", "by": ["k"]})),
    "left join with a table": lambda: job(_one(join={"table": "labels", "by": ["k"], "type": "left"})),
    "join with the newest rows": lambda: job(_one(join={"table": "labels", "by": ["k"], "asOf": "latest"})),
    "join with a partitioned table": lambda: job(_one(join={"table": "labels", "by": ["k"]}), **PARTITIONED),
    "join that is corrected": lambda: job(
        _one(join={"table": "labels", "by": ["k"], "type": "left"}, retention="1h"), **PARTITIONED
    ),
}
TABLES: dict[str, Callable[[], Spec]] = {
    "aggregate": lambda: job(_one(aggregate={"by": ["k"], "values": COUNTED})),
    "aggregate by windows": lambda: job(
        _one(aggregate={"by": ["k"], "window": {"size": "10s"}, "values": COUNTED}), key=None
    ),
    "aggregate by windows that slide": lambda: job(
        _one(aggregate={"by": ["k"], "window": {"size": "9s", "slide": "4s"}, "values": COUNTED}), key=None
    ),
    "aggregate of a table": lambda: job(
        [
            *_one(aggregate={"by": ["k"], "values": COUNTED}),
            {"name": "again", "input": "it", "aggregate": {"by": ["n % 3 as g"], "values": ["count(*) as c"]}},
        ],
        key=None,
    ),
    "aggregate of an outer join": lambda: job(
        [
            *_joined("left"),
            {"name": "sums", "input": "it", "aggregate": {"by": ["k"], "values": ["count(b) as pairs", "sum(a) as s"]}},
        ]
    ),
    "filter of a table": lambda: job(
        [
            *_one(aggregate={"by": ["k", "a"], "values": ["count(*) as n"]}),
            {"name": "few", "input": "it", "filter": "n < 4"},
        ],
        key=None,
    ),
    "a table as it is": lambda: job([{"name": "it", "input": "labels", "select": ["k", "label"]}]),
    "join of tables": lambda: job(_both("inner")),
    "left join of tables": lambda: job(_both("left")),
    "right join of tables": lambda: job(_both("right")),
    "full join of tables": lambda: job(_both("full")),
}
# Rows of these come and go, so there are empty messages.
DELETING = ("filter of a table", "a table as it is", "join of tables", "full join of tables")


def read(spec: Spec, seed: int = 0, count: int = 120) -> Topics:
    """Inputs of the topics that a job reads: a few keys, nulls, times out of order, updates and deletions."""
    dice = seeded(seed)
    offsets = {topic: itertools.count() for topic in ("events", "others", "labels", "tags")}
    found: Topics = {topic: [] for topic in offsets}

    def send(topic: str, number: int, key: str, value: dict[str, Any] | None, partition: int) -> None:
        data = None if value is None else json.dumps(value).encode()
        time = START + number * 100
        found[topic].append(Record(partition, next(offsets[topic]), key.encode(), data, time))

    def maybe(value: Any) -> Any:
        return None if dice.random() < 0.05 else value

    for number in range(count):
        at = START + number * 100 - dice.randrange(3000)
        key = maybe(dice.choice("abcde"))
        send("events", number, str(key), {"k": key, "a": maybe(dice.randrange(9)), "at": at}, dice.randrange(3))
        other = maybe(dice.choice("abcdef"))
        if dice.random() < 0.4:
            send("others", number, str(other), {"k": other, "b": number, "bt": at + 700}, dice.randrange(3))
        if dice.random() < 0.3:
            of = dice.choice("abcdefg")
            label = {"k": of, "label": maybe(f"l{number}"), "lt": at}
            send("labels", number, of, None if dice.random() < 0.3 else label, ord(of) % 2)
        if dice.random() < 0.3:
            of = dice.choice("abcdefg")
            send("tags", number, of, None if dice.random() < 0.3 else {"k": of, "tag": f"t{number}"}, ord(of) % 2)
    topics = {part.topic for part in spec.streams} | {part.topic for part in spec.tables}
    return {topic: records for topic, records in found.items() if topic in topics}
