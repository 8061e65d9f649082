"""The examples, run in memory through real frames, against what a few lines of plain Python make of the same input."""

from __future__ import annotations

import collections
import datetime
from typing import Any

import pytest

import programs
from programs import Job, messages, seeded
from spillway.controllers.protocol.reader import Source
from spillway.controllers.protocol.values import Partition
from spillway.runtime import frames
from spillway.runtime.programs import compiler, cutting, states
from spillway.runtime.tables import aggregation

SECOND = 1000  # milliseconds
START = 1_772_366_400_000
Segments = dict[str, tuple[str, ...]]


def cuts(name: str) -> list[Segments]:
    given = programs.example(name)
    return [
        cutting.alone(given),
        programs.together(given),
        programs.together(given, sources=True),
    ]


def split(found: list[Any], parts: int = 2) -> dict[int, list[Any]]:
    return {i: found[i::parts] for i in range(parts)}


def run(name: str, cut: int, topics: Any) -> Job:
    given = programs.example(name)
    dice = seeded(cut)
    job = Job(given, cuts(name)[cut], programs.loaded(given), partitions=3, dice=dice).run(topics)
    assert job.letters == []
    return job


def iso(millis: int) -> str:
    moment = datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC)
    return moment.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("cut", range(3))
def test_words_are_counted(cut: int) -> None:
    lines = ["To be or not to be", "  be  ", "", "Not now"] * 5
    expected = collections.Counter(word for line in lines for word in line.lower().split(" ") if word)

    job = run("word-count", cut, {"lines": split(messages(line.encode() for line in lines))})

    assert {row["word"]: row["occurrences"] for row in job.table("result").values()} == expected


@pytest.mark.parametrize("cut", range(3))
def test_lines_are_found(cut: int) -> None:
    lines = ["ERROR a", "ok", "an ERROR", ""]

    job = run("grep", cut, {"lines": messages(line.encode() for line in lines)})

    assert job.rows("result") == [{"line": "ERROR a"}, {"line": "an ERROR"}]


@pytest.mark.parametrize("cut", range(3))
def test_views_are_counted_by_campaign_and_window(cut: int) -> None:
    dice = seeded(1)
    events: list[dict[str, Any]] = [
        {
            "ad_id": f"ad-{dice.randrange(25)}",
            "event_type": dice.choice(["view", "click"]),
            "event_time": START + dice.randrange(30 * SECOND),
        }
        for _ in range(300)
    ]
    ads = [{"ad_id": f"ad-{i}", "campaign_id": f"c-{i % 4}"} for i in range(20)]
    expected: collections.Counter[tuple[str, str]] = collections.Counter()
    for event in events:
        number = int(event["ad_id"][3:])
        if event["event_type"] == "view" and number < 20:
            window = event["event_time"] // (10 * SECOND) * 10 * SECOND
            expected[f"c-{number % 4}", iso(window)] += 1

    job = run("ysb", cut, {"ad-events": split(messages(events)), "ad-campaigns": messages(ads)})

    rows = job.table("result").values()
    assert {(row["campaign_id"], row["window_start"]): row["views"] for row in rows} == expected


@pytest.mark.parametrize("cut", range(3))
def test_both_ways_of_a_diamond_come_together(cut: int) -> None:
    dice = seeded(2)
    readings: list[dict[str, Any]] = [
        {"sensor": f"s-{dice.randrange(3)}", "celsius": dice.randrange(-20, 60) / 2, "measured_at": START + i * 500}
        for i in range(200)
    ]
    expected: dict[tuple[str, str, str], list[float]] = {}
    for reading in readings:
        celsius = reading["celsius"]
        alarm, excess = ("heat", celsius - 30) if celsius > 30 else ("frost", -celsius)
        if (celsius > 30 or celsius < 0) and excess >= 0.5:
            window = iso(reading["measured_at"] // (60 * SECOND) * 60 * SECOND)
            expected.setdefault((reading["sensor"], alarm, window), []).append(excess)

    job = run("diamond", cut, {"readings": split(messages(readings))})

    found = {(row["sensor"], row["alarm"], row["window_start"]): row for row in job.table("result").values()}
    assert {key: (row["alarms"], row["worst"]) for key, row in found.items()} == {
        key: (len(many), max(many)) for key, many in expected.items()
    }


@pytest.mark.parametrize("cut", range(3))
def test_orders_meet_the_customer_of_their_time(cut: int) -> None:
    customers = [
        {"customer_id": "a", "country": "DE", "tier": "gold", "changed_at": START},
        {"customer_id": "b", "country": None, "tier": "none", "changed_at": START},
        {"customer_id": "a", "country": "FR", "tier": "none", "changed_at": START + 10 * SECOND},
    ]
    orders = [
        {"order_id": "1", "customer_id": "a", "amount": 10.05, "ordered_at": START + SECOND},
        {"order_id": "2", "customer_id": "a", "amount": 10.05, "ordered_at": START + 11 * SECOND},
        {"order_id": "3", "customer_id": "b", "amount": 7, "ordered_at": START + SECOND},
        {"order_id": "4", "customer_id": "c", "amount": 8, "ordered_at": START + SECOND},
    ]

    job = Job(programs.example("enrichment"), cuts("enrichment")[cut], partitions=3)
    # The table's updates flow first, so that every order finds its customer there.
    job.programs = tuple(sorted(job.programs, key=lambda p: p.name != "customers"))
    job.run({"orders": split(messages(orders)), "customers": messages(customers)})

    assert job.letters == []
    assert job.rows("result") == [
        {"order_id": "1", "country": "DE", "to_pay": 9.05},
        {"order_id": "2", "country": "FR", "to_pay": 10.05},
        {"order_id": "3", "country": "unknown", "to_pay": 7.0},
        {"order_id": "4", "country": "unknown", "to_pay": 8.0},
    ]


@pytest.mark.parametrize("cut", range(3))
def test_streams_match_by_place_and_time(cut: int) -> None:
    dice = seeded(3)
    sessions: list[dict[str, Any]] = [
        {"geo": f"g{dice.randrange(3)}", "session_time": dice.randrange(50) / 2, "event_time": START + i * SECOND}
        for i in range(40)
    ]
    ads: list[dict[str, Any]] = [
        {"geo": f"g{dice.randrange(3)}", "watch_time": dice.randrange(50) / 2, "watched_at": START + i * SECOND}
        for i in range(40)
    ]
    expected = [
        {
            "geo": s["geo"],
            "longer": max(s["session_time"], a["watch_time"]),
            "difference": abs(s["session_time"] - a["watch_time"]),
        }
        for s in sessions
        for a in ads
        if s["geo"] == a["geo"] and abs(s["event_time"] - a["watched_at"]) <= 8 * SECOND
    ]

    job = run("windowed-join", cut, {"sessions": messages(sessions), "ad-watches": messages(ads)})

    assert job.rows("result") == sorted(expected, key=repr)


@pytest.mark.parametrize("cut", range(3))
def test_averages_slide(cut: int) -> None:
    sessions: list[dict[str, Any]] = [
        {"geo": f"g{i % 2}", "session_time": float(i), "event_time": START + 700 * i} for i in range(60)
    ]
    expected: dict[tuple[str, str], list[float]] = {}
    for session in sessions:
        at = session["event_time"]
        for start in range(at // 4000 * 4000 - 4000, at + 1, 4000):
            expected.setdefault((session["geo"], iso(start)), []).append(session["session_time"])

    job = run("sliding-average", cut, {"sessions": split(messages(sessions))})

    found = {(row["geo"], row["window_start"]): row for row in job.table("result").values()}
    assert {key: (row["session_time"], row["sessions"]) for key, row in found.items()} == {
        key: (sum(many) / len(many), len(many)) for key, many in expected.items()
    }


@pytest.mark.parametrize("cut", range(3))
def test_moods_of_hashtags_are_averaged(cut: int) -> None:
    posts = [
        {"id": str(i), "text": text, "posted_at": START + i * SECOND}
        for i, text in enumerate(["so good #sun", "not good #sun #rain", "#rain", "#", "bad bad #sun"])
    ]

    job = run("sentiment", cut, {"posts": split(messages(posts))})

    found = {row["hashtag"]: (row["mood"], row["posts"]) for row in job.table("result").values()}
    assert found == {"#sun": (pytest.approx(-1 / 3), 3), "#rain": (-0.5, 2)}


@pytest.mark.parametrize("cut", range(3))
def test_tolls_follow_from_average_speeds(cut: int) -> None:
    dice = seeded(4)
    reports = [(i * 1500, dice.randrange(100), dice.randrange(20, 70), dice.randrange(2)) for i in range(400)]
    lines = [f"0,{at},{car},{speed},0,1,0,{segment},9000".encode() for at, car, speed, segment in reports]
    sent = [
        programs.Message(i, line, time=START + at)
        for i, (line, (at, *_)) in enumerate(zip(lines, reports, strict=True))
    ]
    minutes: dict[tuple[int, int], list[int]] = {}
    for at, _, speed, segment in reports:
        minutes.setdefault((segment, (START + at) // 60_000), []).append(speed)
    averages = {key: sum(many) / len(many) for key, many in minutes.items()}
    windows: dict[tuple[int, int], list[float]] = {}
    for (segment, minute), average in averages.items():
        for start in range(minute - 4, minute + 1):
            windows.setdefault((segment, start), []).append(average)
    blocked = {key for key, many in minutes.items() if len(many) > 50 and averages[key] < 40}

    job = run("linear-road", cut, {"car-positions": split([*sent, programs.Message(400, b"2,no report")])})

    found = {(row["segment"], row["window_start"]): row["cents"] for row in job.table("tolls").values()}
    expected = {}
    for (segment, start), many in windows.items():
        average = sum(many) / len(many)
        cents = round((40 - average) * 2 + 1e-9) if average < 40 else 0
        expected[segment, iso(start * 60_000)] = cents
    assert found == expected
    assert len(job.table("blocked")) == len(blocked)


@pytest.mark.parametrize("name", ["word-count", "ysb"])
def test_what_a_batch_combines_is_merged_to_the_same_table(name: str) -> None:
    dice = seeded(6)
    given = programs.example(name)
    made = {program.name: program for program in cutting.cut(given, programs.together(given))}
    program = made["counts"]
    (state,) = program.states
    assert state.operator is not None
    main, combined = program.ports
    records = [(i, 0, START * 1000 + dice.randrange(60_000_000), f"k{dice.randrange(5)}") for i in range(200)]
    running = [compiler.Loop(program).bind({"counts": states.made(state)}) for _ in range(2)]
    running[0].run[main.label](0, records)

    for part, at in enumerate(range(0, 200, 50)):
        combiner = aggregation.combiner(state.operator, state.given[0], state.result)
        for _, _, timestamp, *row in records[at : at + 50]:
            combiner.record(timestamp, tuple(row))
        rows = [(at, 0, last, key, folded) for key, folded, last in combiner.partials()]
        layout = frames.Layout(combined.schema, combined=True)
        intent = frames.Combined((Source(Partition("x", 0), 1, at, at + 50),), part, 4)
        (data,) = frames.Sender(layout, frames.Origin("x", 0, program.id), 1).frames(rows, 0, intent)
        running[1].run[combined.label](part, layout.rows(frames.read(data)))

    one, other = ({key: value for *_, key, value in at.outputs["result"]} for at in running)
    assert one == other
    assert [at.letters for at in running] == [[], []]
    assert len(one) >= 5
