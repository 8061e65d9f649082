"""Workloads with Quix Streams.

One process. State is in RocksDB with a changelog topic, as by default: so what it promises is what we promise, state
and positions that fit together after a crash. Chosen beyond the defaults: records are decoded by orjson (which is what
it does by itself), its producer compresses as ours does, and its consumer reads ahead as far as it likes.
"""

import json
import sys
from pathlib import Path
from typing import Any

from quixstreams import Application
from quixstreams.dataframe.windows import Count, Max, Mean

Record = dict[str, Any]


def words(app: Application, source: str, output: str, _: Path) -> None:
    """A running count of each word; records meet by word in a topic that Quix makes."""

    def split(record: Record) -> list[Record]:
        return [{"word": word, "due": record["due"]} for word in record["line"].split(" ")]

    def count(record: Record, state: Any) -> Record:
        n, due = state.get("seen", (0, 0))
        n, due = n + 1, max(due, record["due"])
        state.set("seen", (n, due))
        return {"word": record["word"], "n": n, "due": due}

    frame = app.dataframe(app.topic(source, value_deserializer="json"))
    frame = frame.apply(split, expand=True).group_by("word").apply(count, stateful=True)
    frame.to_topic(app.topic(output, value_serializer="json"), key=lambda record: record["word"])


def ads(app: Application, source: str, output: str, folder: Path) -> None:
    """Views by campaign in windows of ten seconds; the table is a dict, which is less than others do for it."""
    campaigns = dict(json.loads((folder / "campaigns.json").read_text()))
    topic = app.topic(
        source, value_deserializer="json", timestamp_extractor=lambda value, headers, at, kind: value["event_time"]
    )

    def joined(record: Record) -> Record:
        return {"campaign_id": campaigns[record["ad_id"]], "event_time": record["event_time"]}

    def told(value: Record, key: Any, timestamp: int, headers: Any) -> Record:
        return {"campaign_id": key, "window_start": value["start"], "n": value["n"], "due": value["due"]}

    frame = app.dataframe(topic)
    frame = frame.filter(lambda record: record["event_type"] == "view").apply(joined).group_by("campaign_id")
    # As long as our retention: partitions are read at different speeds, and what is late would be dropped.
    windows = frame.tumbling_window(duration_ms=10_000, grace_ms=3_600_000)
    frame = windows.agg(n=Count(), due=Max("event_time")).current().apply(told, metadata=True)
    frame.to_topic(app.topic(output, value_serializer="json", key_serializer="str"))


def orders(app: Application, source: str, output: str, _: Path) -> None:
    """Filter, select, function, filter, select, and a message for each record by key."""

    def weigh(record: Record) -> Record:
        record["total"] *= 1.5
        return record

    def priced(record: Record) -> Record:
        return {
            "id": record["id"],
            "user": record["user"],
            "due": record["due"],
            "total": record["price"] * record["qty"],
            "qty": record["qty"],
        }

    frame = app.dataframe(app.topic(source, value_deserializer="json"))
    frame = frame.filter(lambda record: record["qty"] > 0).apply(priced).apply(weigh)
    frame = frame.filter(lambda record: record["total"] >= 0.0 and record["user"] is not None)
    frame = frame[["id", "user", "due", "total"]]
    frame.to_topic(app.topic(output, value_serializer="json"), key=lambda record: record["user"])


def lines(app: Application, source: str, output: str, _: Path) -> None:
    """A running count of each word, of messages that are lines and nothing else."""

    def split(line: str) -> list[Record]:
        return [{"word": word} for word in line.split(" ")]

    def count(record: Record, state: Any) -> Record:
        n = state.get("seen", 0) + 1
        state.set("seen", n)
        return {"word": record["word"], "n": n}

    frame = app.dataframe(app.topic(source, value_deserializer="str"))
    frame = frame.apply(split, expand=True).group_by("word").apply(count, stateful=True)
    frame.to_topic(app.topic(output, value_serializer="json"), key=lambda record: record["word"])


def grep(app: Application, source: str, output: str, _: Path) -> None:
    """Lines with a pattern."""
    frame = app.dataframe(app.topic(source, value_deserializer="str"))
    frame = frame.filter(lambda line: "ab" in line).apply(lambda line: {"line": line})
    frame.to_topic(app.topic(output, value_serializer="json"))


def averages(app: Application, source: str, output: str, _: Path) -> None:
    """The mean session time by place, in sliding windows."""

    def told(value: Record, key: Any, timestamp: int, headers: Any) -> Record:
        return {"geo": key, "window_start": value["start"], "session_time": value["mean"], "n": value["n"]}

    frame = app.dataframe(timed(app, source)).group_by("geo")
    windows = frame.hopping_window(duration_ms=8_000, step_ms=4_000, grace_ms=3_600_000)
    frame = windows.agg(n=Count(), mean=Mean("session_time")).current().apply(told, metadata=True)
    frame.to_topic(app.topic(output, value_serializer="json", key_serializer="str"))


def q1(app: Application, source: str, output: str, _: Path) -> None:
    """Prices in another currency."""

    def euros(record: Record) -> Record:
        told = {name: record[name] for name in ("bid", "auction", "bidder")}
        return {**told, "euros": record["price"] * 908 / 1000}

    frame = app.dataframe(app.topic(source, value_deserializer="json")).apply(euros)
    frame.to_topic(app.topic(output, value_serializer="json"))


def q2(app: Application, source: str, output: str, _: Path) -> None:
    """Bids for one auction in 123."""
    frame = app.dataframe(app.topic(source, value_deserializer="json"))
    frame = frame.filter(lambda record: record["auction"] % 123 == 0)[["bid", "auction", "price"]]
    frame.to_topic(app.topic(output, value_serializer="json"))


def q5(app: Application, source: str, output: str, _: Path) -> None:
    """Bids by auction, in windows of ten seconds every two."""

    def told(value: Record, key: Any, timestamp: int, headers: Any) -> Record:
        return {"auction": int(key), "window_start": value["start"], "n": value["n"]}

    frame = app.dataframe(timed(app, source)).group_by(lambda record: str(record["auction"]), name="auction")
    windows = frame.hopping_window(duration_ms=10_000, step_ms=2_000, grace_ms=3_600_000)
    frame = windows.agg(n=Count()).current().apply(told, metadata=True)
    frame.to_topic(app.topic(output, value_serializer="json", key_serializer="str"))


def q7(app: Application, source: str, output: str, _: Path) -> None:
    """The highest bid in windows of ten seconds: all of them are brought together by one key."""

    def told(value: Record, key: Any, timestamp: int, headers: Any) -> Record:
        return {"window_start": value["start"], "price": value["price"], "n": value["n"]}

    frame = app.dataframe(timed(app, source)).group_by(lambda record: "all", name="all")
    windows = frame.tumbling_window(duration_ms=10_000, grace_ms=3_600_000)
    frame = windows.agg(n=Count(), price=Max("price")).current().apply(told, metadata=True)
    frame.to_topic(app.topic(output, value_serializer="json", key_serializer="str"))


def timed(app: Application, source: str) -> Any:
    """Records of JSON with an event time."""
    return app.topic(
        source, value_deserializer="json", timestamp_extractor=lambda value, headers, at, kind: value["event_time"]
    )


WORKLOADS = {
    "words": words,
    "lines": lines,
    "split": lines,
    "grep": grep,
    "ads": ads,
    "orders": orders,
    "averages": averages,
    "q1": q1,
    "q2": q2,
    "q5": q5,
    "q7": q7,
}


def main() -> None:
    """Run until killed."""
    bootstrap, source, output, name, workload, folder = sys.argv[1:]
    app = Application(
        broker_address=bootstrap,
        consumer_group=name,
        auto_offset_reset="earliest",
        auto_create_topics=True,
        state_dir=str(Path(folder) / "state"),
        loglevel="ERROR",
        producer_extra_config={"compression.type": "lz4", "linger.ms": 1},
        consumer_extra_config={"fetch.wait.max.ms": 50},
    )
    WORKLOADS[workload](app, source, output, Path(folder))
    app.run()


if __name__ == "__main__":
    main()
