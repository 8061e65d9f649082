"""The jobs that are measured, as users would write them; every run has topics and a group of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from spillway.controllers import acceptance
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob

CODE = Path(__file__).with_name("code")

_ORDERS = """
streams:
  - {name: orders, topic: in, columns: "id bigint, user string, due bigint, kind string, price double, qty bigint"}
"""

# Five operators between two topics of the user, and a message for each: the record loop and nothing else.
_CHAIN = f"""{_ORDERS}
operators:
  - {{name: real, input: orders, filter: "qty > 0"}}
  - {{name: priced, input: real, select: [id, user, due, "price * qty as total", qty]}}
  - name: weighed
    input: priced
    python:
      function: chain:weigh
      as: map
      returns: "id bigint, user string, due bigint, total double, qty bigint"
  - {{name: large, input: weighed, filter: "total >= 0.0 and user is not null"}}
  - {{name: kept, input: large, select: [id, user, due, total]}}
outputs:
  - {{name: result, input: kept, topic: out, key: [user]}}
"""

# From a source to a sink that has no results: an edge, and as little as possible before and behind it.
_TRANSFER = """
streams:
  - {name: records, topic: in, format: raw, columns: "payload string"}
operators:
  - {name: head, input: records, filter: "true"}
  - {name: sink, input: head, filter: "payload is null"}
outputs:
  - {name: result, input: sink, topic: out}
"""

# Two segments: what is filtered by one is added up by the other, behind an edge by key.
_SUMS = f"""{_ORDERS}
operators:
  - {{name: real, input: orders, filter: "qty > 0"}}
  - {{name: priced, input: real, select: [user, due, "price * qty as total"]}}
  - name: sums
    input: priced
    aggregate: {{by: [user], values: ["sum(total) as total", "count(*) as orders", "max(due) as due"]}}
outputs:
  - {{name: result, input: sums, topic: out}}
"""

# Large rows behind an edge by key, and a rule behind them that can be changed while all of it runs.
_PROFILES = """
streams:
  - {name: orders, topic: in, columns: "user string, due bigint, qty bigint, note string"}
operators:
  - {name: real, input: orders, filter: "qty > 0"}
  - name: sums
    input: real
    aggregate:
      by: [user]
      values: ["sum(qty) as total", "count(*) as orders", "max(due) as due", "max(note) as note"]
  - {name: told, input: sums, select: [user, orders, due, "total * 1 as total", "1 as rule"]}
outputs:
  - {name: result, input: told, topic: out}
"""

# A function that takes its time, and what comes of it goes out as it is: nobody needs the order.
_SLOW = f"""{_ORDERS}
operators:
  - name: slowly
    input: orders
    python: {{function: chain:slowly, as: map, returns: "id bigint, user string, due bigint, qty bigint"}}
outputs:
  - {{name: result, input: slowly, topic: out}}
"""

# The same, and added up by key behind an edge, whose reader needs the order of each partition.
_SLOW_SUMS = f"""{_ORDERS}
operators:
  - name: slowly
    input: orders
    python: {{function: chain:slowly, as: map, returns: "id bigint, user string, due bigint, qty bigint"}}
  - name: sums
    input: slowly
    aggregate: {{by: [user], values: ["sum(qty) as total", "max(due) as due"]}}
outputs:
  - {{name: result, input: sums, topic: out}}
"""

_WORDS = """
streams:
  - {name: lines, topic: in, columns: "line string, due bigint"}
operators:
  - {name: words, input: lines, explode: {array: "split(line, ' ')", as: word, keep: [due]}}
  - {name: counts, input: words, aggregate: {by: [word], values: ["count(*) as n", "max(due) as due"]}}
outputs:
  - {name: result, input: counts, topic: out}
"""

_YSB = """
streams:
  - name: events
    topic: in
    columns: >-
      user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time timestamp,
      ip_address string
    timestamp: event_time
tables:
  - {name: campaigns, topic: campaigns, key: [ad_id], columns: "ad_id string, campaign_id string"}
operators:
  - {name: views, input: events, filter: "event_type = 'view'"}
  - {name: fields, input: views, select: [ad_id, event_time]}
  - {name: joined, input: fields, join: {table: campaigns, by: [ad_id], asOf: latest}}
  - name: counts
    input: joined
    aggregate: {by: [campaign_id], window: {size: 10s}, values: ["count(*) as n", "max(event_time) as due"]}
    retention: 1h
outputs:
  - {name: result, input: counts, topic: out}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A job, what flows through it, and how it is cut.

    Attributes:
        text: streams, tables, operators and outputs.
        workload: of `logs.EVENTS`.
        segments: the operators of each, by its head.
        workers: as many as there may be.
    """

    text: str
    workload: str
    segments: Mapping[str, Sequence[str]]
    workers: int = 1

    def over(self, workload: str) -> Case:
        """The same job on other events."""
        return dataclasses.replace(self, workload=workload)


CHAIN = Case(_CHAIN, "orders", {"real": ("real", "priced", "weighed", "large", "kept")})
TRANSFER = Case(_TRANSFER, "payloads", {"head": ("head",), "sink": ("sink",)})
SUMS = Case(_SUMS, "orders", {"real": ("real", "priced"), "sums": ("sums",)})
PROFILES = Case(_PROFILES, "visits", {"real": ("real",), "sums": ("sums", "told")}, workers=4)
SLOW = Case(_SLOW, "orders", {"slowly": ("slowly",)})
SLOW_SUMS = Case(_SLOW_SUMS, "orders", {"slowly": ("slowly",), "sums": ("sums",)})
WORDS = Case(_WORDS, "lines", {"words": ("words",), "counts": ("counts",)})
YSB = Case(_YSB, "ads", {"views": ("views", "fields", "joined"), "counts": ("counts",)})


def topics(source: str, streams: Sequence[str]) -> list[str]:
    """The topics of streams: one alone has the name that is given, of several each its own behind it."""
    return [source] if len(streams) == 1 else [f"{source}.{name}" for name in streams]


def job(
    case: Case,
    bootstrap: str,
    run: str,
    source: str,
    *,
    slots: int = 1,
    paradigm: Paradigm = Paradigm.RECORD,
    bound: str = "50ms",
    policy: Mapping[str, Any] = MappingProxyType({}),
) -> StreamJob:
    """An accepted job that reads topics of `source`, and writes topics of this run alone: none is left of another."""
    spec: dict[str, Any] = yaml.safe_load(case.text)
    names = [stream["name"] for stream in spec["streams"]]
    for stream, topic in zip(spec["streams"], topics(source, names), strict=True):
        stream["topic"] = topic
    for part in (*spec.get("tables", ()), *spec["outputs"]):
        part["topic"] = f"{run}.{part['topic']}"
    document = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": run, "namespace": "bench"},
        "spec": {
            "kafka": {"bootstrapServers": [bootstrap]},
            "latency": {"bound": bound, "quantile": 0.99},
            **spec,
            "policy": dict(policy),
            "execution": {"paradigm": str(paradigm), "workers": {"min": 1, "max": case.workers, "slots": slots}},
        },
    }
    verdict = acceptance.accept(document)
    if verdict.job is None:
        raise ValueError(verdict.message)
    return verdict.job
