"""A row that a batch can't add up has the letter that its reader would have written, and goes back as that would."""

from __future__ import annotations

from typing import Any

import programs
import ranged
from lone_job import LoneJob
from programs import messages
from ranged import RangedJob
from spillway.controllers.topics import Names
from spillway.runtime import frames, keys, letters
from spillway.runtime.batch.ranges import Range
from spillway.runtime.letters import Letter
from spillway.runtime.replays import routes
from spillway.runtime.replays.routes import Reason
from spillway.runtime.replays.works import Works

SPEC = """
streams: [{name: events, topic: events, columns: "k string, a bigint"}]
operators:
  - {name: known, input: events, filter: "k is not null"}
  - {name: counts, input: known, aggregate: {by: [k], values: ["sum(100 div a) as total"]}}
outputs: [{name: out, input: counts, topic: out}]
"""
SEGMENTS = {"known": ("known",), "counts": ("counts",)}
EVENTS = [{"k": f"k{n % 7}", "a": n % 5} for n in range(40)]
CONTENT = {"events": {1: messages(EVENTS)}}


def _read(found: list[bytes | None]) -> list[Letter]:
    read = [letters.decode(data or b"") for data in found]
    return [letter for letter in read if isinstance(letter, Letter)]


def _of_batch(job: RangedJob) -> list[Letter]:
    order = job.order("known", combine=True)
    sends, result = ranged.worked(
        order, job.loops["known"], Range(1, 0, 40, 1), CONTENT["events"][1], programs.seeded(1)
    )
    found = _read([send.value for send in sends if send.topic == order.names.dead])
    assert len(found) == result.letters == 8
    return found


def _of_records() -> list[Letter]:
    job = LoneJob(programs.spec(SPEC), SEGMENTS, CONTENT)
    job.run(programs.seeded(1))
    return _read([data for _, data in job.logs["test.job.dead", 0]])


def _said(letter: Letter) -> Any:
    return letter.operator, letter.error, letter.timestamp, letter.columns, letter.row


def test_the_letter_says_what_that_of_the_reader_says() -> None:
    found = _of_batch(RangedJob(programs.spec(SPEC), SEGMENTS, CONTENT))

    assert sorted(map(_said, found)) == sorted(map(_said, _of_records()))
    assert {(letter.program, letter.topic, letter.partition) for letter in found} == {("known", "events", 1)}
    assert sorted(letter.offset for letter in found) == list(range(0, 40, 5))


def test_it_goes_back_to_the_partition_of_its_key_on_the_edge() -> None:
    job = RangedJob(programs.spec(SPEC), SEGMENTS, CONTENT)
    made = [loop.program for loop in job.loops.values()]
    works = Works(Names("test.job."), job.width, "x", lambda _: None, lambda *_: None)  # type: ignore[arg-type, return-value]
    for letter in _of_batch(job):
        route = routes.route(letter, made)
        assert route.reason is Reason.EDGE
        (send,) = works.again(letter, 7, route, frames.Position(3, 0), 0)
        key = letter.values()["k"]
        assert (send.topic, send.partition) == ("test.job.edge.counts", keys.partition(keys.encode((key,)), job.width))
