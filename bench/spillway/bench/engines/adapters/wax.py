"""Workloads with bytewax.

One process with one worker thread. Without recovery, as by default: it commits nothing, and after a crash counts would
begin anew; what it is compared with stores state and positions, so this is in its favour. Chosen beyond the defaults:
1000 messages at a time (1000 is its default for a source in Kafka as well), orjson, producer settings as ours. Windows
and joins are states by key that tell with every record: its own windows tell when they close.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSinkMessage
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.run import cli_main
from confluent_kafka import OFFSET_BEGINNING

KEPT = 300_000  # milliseconds for which records wait for partners, as elsewhere

Seen = tuple[int, int]
Both = tuple[list[dict[str, Any]], list[dict[str, Any]]]  # of two streams


def _message(key: str, record: dict[str, Any]) -> KafkaSinkMessage:
    return KafkaSinkMessage(key.encode(), orjson.dumps(record))


def _count(seen: Seen | None, due: int) -> tuple[Seen, Seen]:
    n, latest = seen or (0, 0)
    now = (n + 1, max(latest, due))
    return now, now


def words(streams: list[Any], _: Path) -> Any:
    """A running count of each word."""

    def split(message: Any) -> Iterable[tuple[str, int]]:
        record = orjson.loads(message.value)
        return [(word, record["due"]) for word in record["line"].split(" ")]

    counted = op.stateful_map("count", op.flat_map("split", streams[0], split), _count)
    return op.map("message", counted, lambda at: _message(at[0], {"word": at[0], "n": at[1][0], "due": at[1][1]}))


def lines(streams: list[Any], _: Path) -> Any:
    """A running count of each word, of messages that are lines and nothing else."""

    def split(message: Any) -> Iterable[tuple[str, None]]:
        return [(word, None) for word in message.value.decode().split(" ")]

    def count(seen: int | None, _: None) -> tuple[int, int]:
        n = (seen or 0) + 1
        return n, n

    counted = op.stateful_map("count", op.flat_map("split", streams[0], split), count)
    return op.map("message", counted, lambda at: _message(at[0], {"word": at[0], "n": at[1]}))


def grep(streams: list[Any], _: Path) -> Any:
    """Lines with a pattern."""
    found = op.filter("matches", streams[0], lambda message: b"ab" in message.value)
    return op.map(
        "message", found, lambda message: KafkaSinkMessage(None, orjson.dumps({"line": message.value.decode()}))
    )


def ads(streams: list[Any], folder: Path) -> Any:
    """Views by campaign in windows of ten seconds, told with every view: windows of its own tell when they close."""
    campaigns = dict(json.loads((folder / "campaigns.json").read_text()))

    def keyed(record: dict[str, Any]) -> tuple[str, int]:
        at = record["event_time"]
        return f"{campaigns[record['ad_id']]}|{at - at % 10_000}", at

    def told(at: tuple[str, Seen]) -> KafkaSinkMessage:
        campaign, _, window = at[0].partition("|")
        record = {"campaign_id": campaign, "window_start": int(window), "n": at[1][0], "due": at[1][1]}
        return _message(campaign, record)

    records = op.map("parse", streams[0], lambda message: orjson.loads(message.value))
    views = op.filter("views", records, lambda record: record["event_type"] == "view")
    return op.map("message", op.stateful_map("count", op.map("join", views, keyed), _count), told)


def orders(streams: list[Any], _: Path) -> Any:
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

    records = op.map("parse", streams[0], lambda message: orjson.loads(message.value))
    real = op.filter("real", records, lambda record: record["qty"] > 0)
    weighed = op.map("weighed", op.map("priced", real, priced), weigh)
    large = op.filter("large", weighed, lambda record: record["total"] >= 0.0 and record["user"] is not None)
    return op.map("message", op.map("kept", large, kept), lambda record: _message(record["user"], record))


def parsed(stream: Any, name: str = "parse") -> Any:
    """Records of JSON."""
    return op.map(name, stream, lambda message: orjson.loads(message.value))


def starts(at: int, size: int, slide: int) -> Iterable[int]:
    """Of all windows that a time is in, in milliseconds."""
    return range(at - at % slide, at - size, -slide)


def averages(streams: list[Any], _: Path) -> Any:
    """The mean session time by place, in sliding windows."""

    def keyed(record: dict[str, Any]) -> Iterable[tuple[str, float]]:
        return [(f"{record['geo']}|{at}", record["session_time"]) for at in starts(record["event_time"], 8_000, 4_000)]

    def add(seen: tuple[int, float] | None, value: float) -> tuple[tuple[int, float], tuple[int, float]]:
        n, total = seen or (0, 0.0)
        now = (n + 1, total + value)
        return now, now

    def told(at: tuple[str, tuple[int, float]]) -> KafkaSinkMessage:
        geo, _, window = at[0].partition("|")
        n, total = at[1]
        return _message(geo, {"geo": geo, "window_start": int(window), "session_time": total / n, "n": n})

    return op.map("message", op.stateful_map("add", op.flat_map("windows", parsed(streams[0]), keyed), add), told)


def matched(
    left: Any, right: Any, joined: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any] | None], keep: int
) -> Any:
    """Records of two streams with the same key, each pair once; they are kept for so many milliseconds."""

    def meet(seen: Both | None, given: tuple[int, dict[str, Any]]) -> tuple[Both, Iterable[dict[str, Any]]]:
        side, record = given
        known = seen or ([], [])
        known[side].append(record)
        limit = record["event_time"] - keep
        for some in known:
            while some and some[0]["event_time"] < limit:
                some.pop(0)
        both = (joined(record, other) if side == 0 else joined(other, record) for other in known[1 - side])
        return known, [pair for pair in both if pair is not None]

    sides = op.merge(
        "sides", op.map("l", left, lambda at: (at[0], (0, at[1]))), op.map("r", right, lambda at: (at[0], (1, at[1])))
    )
    met = op.stateful_flat_map("meet", sides, meet)
    return op.map("message", met, lambda at: _message(at[0], at[1]))


def pairs(streams: list[Any], _: Path) -> Any:
    """Sessions and ads of the same visitors, at most eight seconds apart."""

    def joined(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any] | None:
        if abs(left["event_time"] - right["event_time"]) > 8_000:
            return None
        one, other = left["session_time"], right["watch_time"]
        return {
            "session": left["session"],
            "ad": right["ad"],
            "longer": max(one, other),
            "difference": abs(one - other),
        }

    def keyed(record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return f"{record['geo']}|{record['visitor']}", record

    left, right = (op.map(f"key{n}", parsed(stream, f"parse{n}"), keyed) for n, stream in enumerate(streams))
    return matched(left, right, joined, KEPT)


def q1(streams: list[Any], _: Path) -> Any:
    """Prices in another currency."""

    def euros(record: dict[str, Any]) -> KafkaSinkMessage:
        told = {name: record[name] for name in ("bid", "auction", "bidder")}
        return KafkaSinkMessage(None, orjson.dumps({**told, "euros": record["price"] * 908 / 1000}))

    return op.map("message", parsed(streams[0]), euros)


def q2(streams: list[Any], _: Path) -> Any:
    """Bids for one auction in 123."""
    found = op.filter("found", parsed(streams[0]), lambda record: record["auction"] % 123 == 0)
    return op.map(
        "message",
        found,
        lambda record: KafkaSinkMessage(
            None, orjson.dumps({name: record[name] for name in ("bid", "auction", "price")})
        ),
    )


def q5(streams: list[Any], _: Path) -> Any:
    """Bids by auction, in windows of ten seconds every two."""

    def keyed(record: dict[str, Any]) -> Iterable[tuple[str, int]]:
        return [(f"{record['auction']}|{at}", 0) for at in starts(record["event_time"], 10_000, 2_000)]

    def told(at: tuple[str, Seen]) -> KafkaSinkMessage:
        auction, _, window = at[0].partition("|")
        return _message(auction, {"auction": int(auction), "window_start": int(window), "n": at[1][0]})

    return op.map("message", op.stateful_map("count", op.flat_map("windows", parsed(streams[0]), keyed), _count), told)


def q7(streams: list[Any], _: Path) -> Any:
    """The highest bid in windows of ten seconds."""

    def keyed(record: dict[str, Any]) -> tuple[str, int]:
        return str(record["event_time"] - record["event_time"] % 10_000), record["price"]

    def told(at: tuple[str, Seen]) -> KafkaSinkMessage:
        return _message(at[0], {"window_start": int(at[0]), "price": at[1][1], "n": at[1][0]})

    return op.map("message", op.stateful_map("most", op.map("window", parsed(streams[0]), keyed), _count), told)


def q8(streams: list[Any], _: Path) -> Any:
    """New persons with auctions in the same window of ten seconds."""

    def joined(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any] | None:
        return {"person": left["person"], "name": left["name"], "auction": right["auction"]}

    came = op.map("came", parsed(streams[0], "parse0"), lambda r: (f"{r['person']}|{r['event_time'] // 10_000}", r))
    opened = op.map("opened", parsed(streams[1], "parse1"), lambda r: (f"{r['seller']}|{r['event_time'] // 10_000}", r))
    return matched(came, opened, joined, KEPT)


WORKLOADS = {
    "words": words,
    "lines": lines,
    "split": lines,
    "grep": grep,
    "ads": ads,
    "orders": orders,
    "averages": averages,
    "pairs": pairs,
    "q1": q1,
    "q2": q2,
    "q5": q5,
    "q7": q7,
    "q8": q8,
}


def main() -> None:
    """Run until killed."""
    bootstrap, sources, output, name, workload, folder = sys.argv[1:]
    flow = Dataflow(name)

    def stream(topic: str) -> Any:
        read = kop.input(
            f"in-{topic}".replace(".", "-"),
            flow,
            brokers=[bootstrap],
            topics=[topic],
            starting_offset=OFFSET_BEGINNING,
            batch_size=1000,
            add_config={"fetch.wait.max.ms": "50"},
        )
        return read.oks

    made = WORKLOADS[workload]([stream(topic) for topic in sources.split(",")], Path(folder))
    settings = {"compression.type": "lz4", "linger.ms": "1"}
    kop.output("out", made, brokers=[bootstrap], topic=output, add_config=settings)
    cli_main(flow)


if __name__ == "__main__":
    main()
