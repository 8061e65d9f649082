"""Workloads: what is expected of each is what DuckDB makes of the very bytes that are sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import duckdb
import msgspec
import numpy as np
import pytest

from spillway.bench import engines, workloads
from spillway.bench.record import events, jobs
from spillway.bench.record.code import moods
from spillway.bench.workloads import nexmark, sessions, work
from spillway.bench.workloads.work import Floats, Key, Keys, Work

COUNT, RATE = 4_000, 150.0  # 27 seconds: several windows of each, and pairs that are too far apart
TIMES = events.START_MS / 1000 + np.arange(COUNT) / RATE

# By workload: keys of results, how many messages count for each, and what else it says; of tables l and r, which have
# the JSON of the streams and the number of each message.
QUERIES = {
    "averages": """
        select {'name': j->>'geo', 'at': w} as key, count(*) n, avg((j->>'session_time')::double) amount
        from l, unnest([t - t % 4000, t - t % 4000 - 4000]) as u(w) group by all""",
    "pairs": """
        select {'session': (l.j->>'session')::bigint, 'ad': (r.j->>'ad')::bigint,
                'longer': greatest((l.j->>'session_time')::double, (r.j->>'watch_time')::double),
                'difference': abs((l.j->>'session_time')::double - (r.j->>'watch_time')::double)} as key, 1 n,
               null amount
        from l join r on l.j->>'geo' = r.j->>'geo' and l.j->>'visitor' = r.j->>'visitor' and abs(l.t - r.t) <= 8000""",
    "q1": "select j->>'bid' as key, 1 n, (j->>'price')::bigint * 908 / 1000 amount from l",
    "q2": "select j->>'bid' as key, 1 n, (j->>'price')::double amount from l where (j->>'auction')::bigint % 123 = 0",
    "q5": """
        select {'name': (j->>'auction')::bigint, 'at': t - t % 2000 - 2000 * w} as key, count(*) n, null amount
        from l, range(5) as u(w) group by all""",
    "q7": """
        select {'name': 0, 'at': t - t % 10000} as key, count(*) n, max((j->>'price')::double) amount
        from l group by all""",
    "q8": """
        select {'person': (l.j->>'person')::bigint, 'auction': (r.j->>'auction')::bigint} as key, 1 n, null amount
        from l join r on l.j->>'person' = r.j->>'seller' and l.t // 10000 = r.t // 10000""",
}  # fmt: skip


def by_duckdb(asked: Work, folder: Path) -> dict[Key, tuple[int, float | None]]:
    """What the bytes come to."""
    files = [(folder / name).open("wb") for name in ("l", "r")]
    for number, time in enumerate(TIMES.tolist()):
        stream, value = asked.message(number, time)
        files[stream].write(value + b"\n")
    for file in files:
        file.close()
    connection = duckdb.connect(str(folder / "database"))
    for name in ("l", "r")[: len(asked.streams)]:
        read = connection.read_json(str(folder / name), format="newline_delimited", records="false")
        read.project("json j, (json->>'event_time')::bigint t").create(name)
    rows = connection.execute(QUERIES[asked.name]).fetchall()
    return {_key(key): (n, amount) for key, n, amount in rows}


def _key(key: Any) -> Key:
    return tuple(key.values()) if isinstance(key, dict) else int(key)


def by_us(asked: Work, times: Floats = TIMES) -> dict[Key, tuple[int, float | None]]:
    found = {}
    for key, numbers in asked.expected(times).items():
        amount = asked.amount(numbers, times)
        found[key] = (len(numbers), None if np.isnan(amount) else amount)
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_expected_is_what_duckdb_makes_of_the_bytes(name: str, tmp_path: Path) -> None:
    asked = workloads.ALL[name]
    ours, theirs = by_us(asked), by_duckdb(asked, tmp_path)

    assert {key: n for key, (n, _) in ours.items()} == {key: n for key, (n, _) in theirs.items()}
    assert len(ours) > 2
    for key, (_, amount) in ours.items():
        assert amount is None or amount == pytest.approx(theirs[key][1], rel=1e-12)


def test_moods_are_what_the_function_says_of_each_text() -> None:
    asked, right = workloads.ALL["moods"], Counter[Key]()
    for number, time in enumerate(TIMES.tolist()):
        event = json.loads(asked.message(number, time)[1])
        for word in event["text"].split(" "):
            if word.startswith("#"):
                right[word, event["posted_at"] // 60_000 * 60_000] += moods.score(event)["score"]
    ours = {key: asked.amount(numbers, TIMES) * len(numbers) for key, numbers in asked.expected(TIMES).items()}

    assert ours == pytest.approx(dict(right))


def test_tolls_follow_from_the_means_of_minutes() -> None:
    asked, times = workloads.ALL["tolls"], events.START_MS / 1000 + np.arange(COUNT) / 20.0
    speeds: dict[Key, dict[int, list[int]]] = {}
    for number, time in enumerate(times.tolist()):
        kind, _, _, speed, _, _, direction, segment, _ = map(int, asked.message(number, time)[1].split(b","))
        if kind == 0:
            minute = int(time * 1000) // 60_000
            speeds.setdefault((direction, segment), {}).setdefault(minute, []).append(speed)
    expected = asked.expected(times)

    for key, numbers in list(expected.items())[:50]:
        of_segment, start = cast(tuple[Key, int], key)
        minutes = [of for minute, of in speeds[of_segment].items() if start // 60_000 <= minute < start // 60_000 + 5]
        assert len(numbers) == sum(map(len, minutes))
        assert asked.amount(numbers, times) == pytest.approx(np.mean([np.mean(of) for of in minutes]))


@pytest.mark.parametrize("name", workloads.ALL)
def test_messages_are_the_same_whoever_asks_and_of_the_streams_that_there_are(name: str) -> None:
    asked = workloads.ALL[name]
    some = [asked.message(number, TIMES[number]) for number in range(0, COUNT, 37)]

    assert some == [workloads.found(name).message(number, TIMES[number]) for number in range(0, COUNT, 37)]
    assert {stream for stream, _ in some} == set(range(len(asked.streams)))


@pytest.mark.parametrize("name", workloads.ALL)
def test_the_job_of_a_workload_is_accepted_and_reads_its_streams(name: str) -> None:
    asked = workloads.ALL[name]
    job = jobs.job(asked.case, "localhost:9092", "run", "in")

    assert [stream.name for stream in job.spec.streams] == list(asked.streams)
    assert [stream.topic for stream in job.spec.streams] == jobs.topics("in", asked.streams)
    assert asked.head in asked.case.segments
    assert {name for some in asked.case.segments.values() for name in some} == {o.name for o in job.spec.operators}


@pytest.mark.parametrize("name", [name for name, asked in workloads.ALL.items() if asked.keyed])
def test_keys_are_drawn_as_they_are_asked_for(name: str) -> None:
    usual, one, zipf = (workloads.found(name, keys).expected(TIMES) for keys in (Keys.USUAL, Keys.ONE, Keys.ZIPF))

    def of(expected: Mapping[Key, Any]) -> set[Any]:
        return {key[0] if isinstance(key, tuple) else key for key in expected}

    if name != "q2":  # its keys are bids
        assert len(of(one)) == 1 < len(of(usual))
        counts = sorted((len(numbers) for numbers in zipf.values()), reverse=True)
        assert counts[0] > 5 * counts[len(counts) // 2]


def test_keys_that_are_what_a_workload_is_about_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="'pairs'"):
        workloads.found("pairs", Keys.ONE)


def test_half_of_the_bids_are_for_a_hot_auction_and_three_of_four_auctions_of_a_hot_seller() -> None:
    numbers = np.arange(40_000)

    assert np.mean(nexmark.auctions(Keys.USUAL, numbers) % nexmark.HOT == 0) == pytest.approx(0.5, abs=0.02)
    assert np.mean(nexmark.sellers(Keys.USUAL, numbers) % nexmark.HOT == 0) == pytest.approx(0.75, abs=0.02)


def test_half_of_the_ads_have_a_partner_at_every_rate() -> None:
    for rate in (500.0, 5_000.0):
        times = events.START_MS / 1000 + np.arange(COUNT) / rate
        assert len(sessions.PAIRS.expected(times)) / (COUNT / 2) == pytest.approx(0.5, abs=0.05)


def test_a_window_that_begins_before_a_time_and_ends_after_it_has_it() -> None:
    at = np.array([0, 3_999, 4_000, 12_345])

    starts = work.Windows(8_000, 4_000).starts(at)

    assert len(starts) == 2
    assert all(((start <= at) & (at < start + 8_000)).all() for start in starts)


@pytest.mark.parametrize("name", [name for name, port in engines.others.PORTS.items() if port.works])
def test_an_adapter_knows_only_workloads_that_there_are(name: str) -> None:
    assert set(engines.others.PORTS[name].works) <= {*workloads.ALL, "words", "orders"}


def test_a_result_without_a_count_is_one_of_its_messages() -> None:
    told = sessions.PAIRS.read(msgspec.json.encode({"session": 1, "ad": 2, "longer": 3.5, "difference": 1.0}))

    assert told.key == (1, 2, 3.5, 1.0)
    assert told.n == 0
