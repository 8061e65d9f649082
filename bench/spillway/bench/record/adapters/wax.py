"""Word count, the Yahoo benchmark and the five operators of the record loop, with bytewax.

One process with one worker thread. Without recovery, as by default: it commits nothing, and after a crash counts would
begin anew; what it is compared with stores state and positions, so this is in its favour. Chosen beyond the defaults:
1000 messages at a time (1000 is its default for a source in Kafka as well), orjson, producer settings as ours.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSinkMessage
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.run import cli_main
from confluent_kafka import OFFSET_BEGINNING

Seen = tuple[int, int]


def _message(key: str, record: dict[str, Any]) -> KafkaSinkMessage:
    return KafkaSinkMessage(key.encode(), orjson.dumps(record))


def _count(seen: Seen | None, due: int) -> tuple[Seen, Seen]:
    n, latest = seen or (0, 0)
    now = (n + 1, max(latest, due))
    return now, now


def words(stream: Any, _: Path) -> Any:
    """A running count of each word."""

    def split(message: Any) -> Iterable[tuple[str, int]]:
        record = orjson.loads(message.value)
        return [(word, record["due"]) for word in record["line"].split(" ")]

    counted = op.stateful_map("count", op.flat_map("split", stream, split), _count)
    return op.map("message", counted, lambda at: _message(at[0], {"word": at[0], "n": at[1][0], "due": at[1][1]}))


def lines(stream: Any, _: Path) -> Any:
    """A running count of each word, of messages that are lines and nothing else."""

    def split(message: Any) -> Iterable[tuple[str, None]]:
        return [(word, None) for word in message.value.decode().split(" ")]

    def count(seen: int | None, _: None) -> tuple[int, int]:
        n = (seen or 0) + 1
        return n, n

    counted = op.stateful_map("count", op.flat_map("split", stream, split), count)
    return op.map("message", counted, lambda at: _message(at[0], {"word": at[0], "n": at[1]}))


def grep(stream: Any, _: Path) -> Any:
    """Lines with a pattern."""
    found = op.filter("matches", stream, lambda message: b"ab" in message.value)
    return op.map(
        "message", found, lambda message: KafkaSinkMessage(None, orjson.dumps({"line": message.value.decode()}))
    )


def ads(stream: Any, folder: Path) -> Any:
    """Views by campaign in windows of ten seconds, told with every view: windows of its own tell when they close."""
    campaigns = dict(json.loads((folder / "campaigns.json").read_text()))

    def keyed(record: dict[str, Any]) -> tuple[str, int]:
        at = record["event_time"]
        return f"{campaigns[record['ad_id']]}|{at - at % 10_000}", at

    def told(at: tuple[str, Seen]) -> KafkaSinkMessage:
        campaign, _, window = at[0].partition("|")
        record = {"campaign_id": campaign, "window_start": int(window), "n": at[1][0], "due": at[1][1]}
        return _message(campaign, record)

    records = op.map("parse", stream, lambda message: orjson.loads(message.value))
    views = op.filter("views", records, lambda record: record["event_type"] == "view")
    return op.map("message", op.stateful_map("count", op.map("join", views, keyed), _count), told)


def orders(stream: Any, _: Path) -> Any:
    """Filter, select, function, filter, select, and a message for each record by key."""

    def weigh(record: dict[str, Any]) -> dict[str, Any]:
        record["total"] *= 1.5
        return record

    def priced(record: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": record["id"],
            "user": record["user"],
            "due": record["due"],
            "total": record["price"] * record["qty"],
            "qty": record["qty"],
        }

    def kept(record: dict[str, Any]) -> dict[str, Any]:
        return {name: record[name] for name in ("id", "user", "due", "total")}

    records = op.map("parse", stream, lambda message: orjson.loads(message.value))
    real = op.filter("real", records, lambda record: record["qty"] > 0)
    weighed = op.map("weighed", op.map("priced", real, priced), weigh)
    large = op.filter("large", weighed, lambda record: record["total"] >= 0.0 and record["user"] is not None)
    return op.map("message", op.map("kept", large, kept), lambda record: _message(record["user"], record))


WORKLOADS = {"words": words, "lines": lines, "split": lines, "grep": grep, "ads": ads, "orders": orders}


def main() -> None:
    """Run until killed."""
    bootstrap, source, output, name, workload, folder = sys.argv[1:]
    flow = Dataflow(name)
    read = kop.input(
        "in",
        flow,
        brokers=[bootstrap],
        topics=[source],
        starting_offset=OFFSET_BEGINNING,
        batch_size=1000,
        add_config={"fetch.wait.max.ms": "50"},
    )
    made = WORKLOADS[workload](read.oks, Path(folder))
    settings = {"compression.type": "lz4", "linger.ms": "1"}
    kop.output("out", made, brokers=[bootstrap], topic=output, add_config=settings)
    cli_main(flow)


if __name__ == "__main__":
    main()
