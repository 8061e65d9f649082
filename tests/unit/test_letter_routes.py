"""Where a dead letter goes back to, and which can't and why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import programs
from programs import messages
from replayed import NAMES, LetterJob
from spillway.controllers.protocol import reader
from spillway.controllers.protocol.reader import Verdict
from spillway.controllers.protocol.values import Partition
from spillway.runtime import frames, letters
from spillway.runtime.frames import Position
from spillway.runtime.letters import Letter
from spillway.runtime.programs import cutting
from spillway.runtime.replays import routes
from spillway.runtime.replays.routes import Reason
from spillway.runtime.replays.works import Works
from spillway.runtime.slots import trimming

STREAM = """
streams: [{name: events, topic: in, columns: "k string, a bigint, b bigint"}]
operators:
  - {name: divided, input: events, select: ["k", "100 div a as q", "b"]}
  - {name: counts, input: divided, aggregate: {by: ["100 div b as g"], values: ["sum(100 div (q - 50)) as s"]}}
  - {name: shown, input: counts, select: ["g", "100 div (s - 7) as t"]}
outputs:
  - {name: out, input: shown, topic: out}
  - {name: raw, input: divided, topic: raw}
"""
TABLE = """
streams: [{name: events, topic: in, columns: "k string"}]
tables: [{name: sizes, topic: sizes, key: [k], columns: "k string, n int"}]
operators:
  - {name: sized, input: events, join: {table: sizes, by: [k]}}
  - {name: doubled, input: sized, select: ["100 div n as m"]}
outputs: [{name: out, input: doubled, topic: out}]
"""


def _job(text: str, topics: dict[str, list[Any]], *segments: tuple[str, ...]) -> LetterJob:
    spec = programs.spec(text)
    cut = {names[0]: names for names in segments} or cutting.alone(spec)
    return LetterJob(spec, cut).run({name: messages(found) for name, found in topics.items()})  # type: ignore[return-value]


def _routed(job: LetterJob) -> dict[str, Reason]:
    return {letter.operator: route.reason for letter, route in job.routed()}


def _works(job: LetterJob) -> Works:
    return Works(NAMES, 1, "identity", lambda _: pytest.fail("no function"), job._fill)  # noqa: SLF001


BAD = [b"{", {"k": "x", "a": 0, "b": 1}, {"k": "x", "a": 1, "b": 0}, {"k": "x", "a": 2, "b": 1}]


def test_a_message_an_operator_inside_and_an_edge_are_run_again_and_a_head_gets_a_frame() -> None:
    together = _job(STREAM, {"in": BAD}, ("divided",), ("counts", "shown"))
    apart = _job(STREAM, {"in": BAD}, ("events",), ("divided",), ("counts",), ("shown",))

    inside = {"events": Reason.HERE, "divided": Reason.HERE, "counts.main": Reason.HERE, "counts": Reason.EDGE}
    assert _routed(together) == inside
    assert _routed(apart) == {**inside, "divided": Reason.EDGE}


def test_what_fails_again_is_a_letter_that_says_so_and_has_the_same_origin() -> None:
    job = _job(STREAM, {"in": BAD}, ("divided",), ("counts", "shown"))
    first = job.read()
    sends = job.replay(lambda _: pytest.fail("no function"))
    again = [letters.decode(send.value or b"") for send in sends if send.topic == "dead"]

    assert [one.operator for one in again if isinstance(one, Letter)] == ["events", "divided", "counts.main"]
    for number, (one, new) in enumerate(zip(first, again, strict=False)):
        assert isinstance(new, Letter)
        assert new == msgspec.structs.replace(one, again=number, made=new.made, line=new.line)


def test_only_what_failed_and_is_behind_it_sees_the_row() -> None:
    job = _job(STREAM, {"in": BAD}, ("divided",), ("counts", "shown"))
    letter, route = next(pair for pair in job.routed() if pair[0].operator == "counts.main")
    mended = msgspec.structs.replace(letter, row=(100, 4))
    assert [name for name, _ in letter.columns] == ["q", "b"]

    sends = _works(job).again(mended, 9, route, Position(30, 2), 77)

    (send,) = sends  # nothing to the topic `raw`, which has the record already
    frame = frames.read(send.value or b"")
    assert (send.topic, frame.origin, frame.first, frame.last) == (
        "edge.counts",
        ("dead", 0, "identity"),
        (30, 2),
        (30, 2),
    )
    assert (frame.earliest, frame.count) == (77, 1)


def test_a_frame_that_comes_twice_is_skipped_and_so_it_is_not_after_the_topic_was_made_anew() -> None:
    job = _job(STREAM, {"in": BAD}, ("divided",), ("counts",), ("shown",))
    letter, route = next(pair for pair in job.routed() if pair[0].operator == "counts")
    verdicts = []
    seen: dict[Any, Any] = {}
    for identity, at in (("one", 30), ("one", 30), ("one", 31), ("other", 2)):
        works = Works(NAMES, 1, identity, lambda _: pytest.fail("no function"), job._fill)  # noqa: SLF001
        (send,) = works.again(letter, 9, route, Position(at, 0), 0)
        reading = reader.read(seen, frames.read(send.value or b"").head)
        seen.update(reading.seen)
        verdicts.append(reading.verdict)

    assert verdicts == [Verdict.APPLY, Verdict.SKIP, Verdict.APPLY, Verdict.APPLY]


def test_what_was_replayed_holds_no_frames_back() -> None:
    def free(origin: str) -> bool:
        seen = reader.Seen(1, "identity", reader.Position(4, 0))
        return trimming.free(trimming.Read("edge.counts", 0, 9, {Partition(origin, 0): seen}), {})

    assert free(letters.ORIGIN)
    assert not free("divided<in")  # whose owner has committed nothing


def test_a_row_of_a_table_never_goes_back() -> None:
    table = _job(TABLE, {"sizes": [{"k": "x", "n": "no"}], "in": [{"k": "x"}]}, ("sized", "doubled"))

    assert _routed(table) == {"sized.other": Reason.TABLE}
    (pair,) = table.routed()
    assert "write the row into its topic again" in pair[1].sentence


def test_a_row_of_a_derived_table_does_not_go_back_either() -> None:
    text = STREAM.replace("sum(100 div (q - 50)) as s", "count(*) as s")
    seven = [{"a": 1, "b": 1}] * 7
    for segments in ((("divided",), ("counts", "shown")), (("divided",), ("counts",), ("shown",))):
        assert _routed(_job(text, {"in": seven}, *segments)) == {"shown": Reason.TABLE}


def test_a_look_up_inside_meets_the_rows_of_the_table_when_it_is_run_again() -> None:
    job = _job(TABLE, {"sizes": [{"k": "x", "n": 0}], "in": [{"k": "x"}]}, ("sized", "doubled"))
    assert _routed(job) == {"doubled": Reason.HERE}
    (letter,) = job.read()
    at_join = msgspec.structs.replace(letter, operator="sized", columns=(("k", "string"),), row=("x",))
    job.topics["sizes"] = {0: messages([{"k": "x", "n": 4}])}
    route = routes.route(at_join, job.programs)

    (send,) = _works(job).again(at_join, 1, route, Position(1, 0), 0)
    assert (send.topic, send.value) == ("out", b'{"m":25}')


MESSAGE = (("key", "binary"), ("value", "binary"))
CHANGED: dict[str, tuple[dict[str, Any], Reason]] = {
    "an operator that is gone": ({"operator": "gone"}, Reason.GONE),
    "a segment that reads a message no more": (
        {"operator": "events", "port": "events", "program": "gone", "columns": MESSAGE, "row": (None, None)},
        Reason.GONE,
    ),
    "a row that was too large": ({"row": None, "cut": "the letter took 9 bytes"}, Reason.INCOMPLETE),
    "a value that was cut": ({"row": ({"cut": "xxx", "bytes": 9}, 1, 2)}, Reason.INCOMPLETE),
    "another type": ({"columns": (("k", "string"), ("a", "int"), ("b", "bigint"))}, Reason.COLUMNS),
    "a column too few": ({"columns": (("k", "string"), ("b", "bigint")), "row": ("x", 1)}, Reason.COLUMNS),
    "no event time": ({"timestamp": None}, Reason.COLUMNS),
    "states of a batch": ({"columns": (("key", ""), ("states", "")), "row": ([1], [2])}, Reason.COMBINED),
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_does_not_fit_any_more_stays_with_its_reason(change: str) -> None:
    job = _job(STREAM, {"in": BAD[1:2]}, ("divided",), ("counts", "shown"))
    (letter,) = job.read()
    fields, reason = CHANGED[change]
    route = routes.route(msgspec.structs.replace(letter, **fields), job.programs)

    assert (route.reason, route.leads) == (reason, False)
    assert route.sentence


def test_a_message_that_an_output_can_not_hold_goes_to_that_output_alone() -> None:
    text = """
streams: [{name: events, topic: in, columns: "k string, n int"}]
operators: [{name: long, input: events, select: ["repeat(k, n) as k"]}]
outputs: [{name: out, input: long, topic: out}, {name: more, input: long, topic: more}]
"""
    job = _job(text, {"in": [{"k": "x", "n": 1_000_000}]}, ("long",))
    assert _routed(job) == {"out.output": Reason.HERE, "more.output": Reason.HERE}
    letter, route = next(pair for pair in job.routed() if pair[0].operator == "more.output")
    (send,) = _works(job).again(msgspec.structs.replace(letter, row=("x",)), 1, route, Position(1, 0), 0)

    assert (send.topic, send.value) == ("more", b'{"k":"x"}')


def test_a_row_that_is_not_what_its_columns_say_reaches_nobody() -> None:
    job = _job(STREAM, {"in": BAD}, ("divided",), ("counts",), ("shown",))
    letter, route = next(pair for pair in job.routed() if pair[0].operator == "counts")
    wrong = msgspec.structs.replace(letter, row=tuple("text" for _ in letter.columns))

    with pytest.raises(frames.FrameError):
        _works(job).again(wrong, 1, route, Position(1, 0), 0)
