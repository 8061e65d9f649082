"""What the merged jobs of the tests are made of: all examples, random topologies, and what neither of them has."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import msgspec
import yaml

import programs
import topologies
from merged import Part
from spillway.bench import inputs
from spillway.bench.inputs import Message

CODE = Path(__file__).parent / "user_code"
STEP = 20.0  # milliseconds from one record to the next, so that all of them are within every retention


def _start(count: int) -> int:
    """Such that the last of so many records is of now: topics delete what is a week old."""
    return int(time.time() * 1000 - count * STEP)


def example(name: str, count: int, partitions: int) -> Part:
    """An example with input of its own."""
    spec = yaml.safe_load((programs.EXAMPLES / f"{name}.yaml").read_text())["spec"]
    given = inputs.messages(name, seed=1, count=count, partitions=partitions, start=_start(count), step=STEP)
    return Part(name.replace("-", ""), spec, tuple(given), programs.EXAMPLES)


def examples(count: int, partitions: int) -> list[Part]:
    """All of them."""
    return [example(name, count, partitions) for name in inputs.examples()]


def random_topology(seed: int, size: int, count: int, partitions: int, order: random.Random | None = None) -> Part:
    """A random topology with random records; `order` brings those into another one."""
    made = topologies.topology(programs.seeded(seed), size)
    records = topologies.events(programs.seeded(seed), count)
    if order is not None:
        order.shuffle(records)
    labels = [{"k": k, "label": label} for k, label in topologies.LABELS.items() if made.parts["tables"]]
    start = _start(count)
    encode = msgspec.json.encode
    lead = start - inputs.LEAD
    found = [Message("labels", n % partitions, row["k"].encode(), encode(row), lead) for n, row in enumerate(labels)]
    for number, record in enumerate(records):
        found.append(Message("events", number % partitions, None, encode(record), start + int(number * STEP)))
    return Part(f"random{seed}{'again' if order else ''}", made.parts, tuple(found), CODE)


FORMATS: dict[str, Any] = yaml.safe_load("""
streams:
  - {name: blobs, topic: blobs, format: raw, columns: "data binary", keyColumn: who}
  - {name: clicks, topic: clicks, columns: "a bigint, price decimal(12,4), day date, at timestamp", keyColumn: who}
  - {name: quiet, topic: quiet, columns: "a bigint"}
tables:
  - {name: people, topic: people, key: [who, a], columns: "who string, a bigint, note string"}
operators:
  - {name: large, input: blobs, filter: "who is not null"}
  - {name: heard, input: quiet, filter: "a > 0"}
  - {name: dear, input: clicks, filter: "price > 1"}
  - {name: noted, input: clicks, join: {table: people, by: [who, a], asOf: latest, type: left}}
  - {name: sums, input: clicks, aggregate: {by: [who], values: ["sum(price) as total", "max(day) as last"]}}
  - {name: few, input: sums, filter: "total < 100"}
outputs:
  - {name: blobs, input: blobs, topic: all-blobs, key: [who]}
  - {name: large, input: large, topic: some-blobs}
  - {name: heard, input: heard, topic: heard}
  - {name: clicks, input: clicks, topic: all-clicks}
  - {name: dear, input: dear, topic: dear-clicks, key: [day, price]}
  - {name: noted, input: noted, topic: noted-clicks, key: [who]}
  - {name: few, input: few, topic: small-sums}
  - {name: updates, input: sums, topic: updates-of-sums, mode: append}
""")


def formats(count: int, partitions: int) -> Part:
    """Raw and binary messages, keys as columns, outputs of what is as it came, a topic without a message."""
    dice = programs.seeded(3)
    start, encode = _start(count), msgspec.json.encode
    found = []
    for number in range(6):
        row = {"who": f"p{number % 3}", "a": number // 3, "note": f"note {number}"}
        key = encode({"who": row["who"], "a": row["a"]})
        found.append(Message("people", number % partitions, key, encode(row), start - inputs.LEAD))
    for number in range(count):
        at = start + int(number * STEP)
        who = dice.choice([b"p0", b"p1", b"p2", b"p3", None, "p\u00e4".encode(), b"\xff"])
        if dice.random() < 0.3:
            found.append(Message("blobs", dice.randrange(partitions), who, dice.randbytes(dice.randrange(9)), at))
            continue
        price = dice.choice(["1.2345", '"-0.5"', "99999999.9999", "1e2", "null", "0.00005", "true"])
        day = dice.choice(['"2026-02-28"', "null", '"yesterday"'])
        text = f'{{"a": {dice.randrange(3)}, "price": {price}, "day": {day}, "at": {at}}}'
        found.append(Message("clicks", dice.randrange(partitions), who, text.encode(), at))
    return Part("formats", FORMATS, tuple(found))
