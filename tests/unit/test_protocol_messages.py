"""Messages of the control log: what is written is read as the same; what can't be is said, and never a crash."""

from __future__ import annotations

import pytest

from spillway.controllers.protocol import messages, wire
from spillway.controllers.protocol.messages import Assign, Cancel, Intent, Join, Lead, Plan, Prepared, Segment
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, ProtocolError, Range
from spillway.model.operators import Paradigm

PLACE = Partition("views", 3)
W0 = Owner("w0", 7)
SEGMENT = Segment("views", ("views", "fields"), "ab12", Paradigm.BATCH, 8, 2, 15, (("fields", 0.002),))
PLAN = Plan(1, 4, "{}", 16, (SEGMENT,), (("ads:enrich", "f00"),))
ASSIGN = Assign(leader=2, partition=PLACE, epoch=5, owner=W0, program="ab12", start=900, takeover=True)


@pytest.mark.parametrize(
    "message",
    [
        Lead(1, "driver-0.a"),
        Join("w0", "w0.x"),
        Join("w0", "w0.y", "a commit came to nothing"),
        PLAN,
        ASSIGN,
        Prepared(PLACE, 6, W0, "no such function: ads.enrich"),
        Intent(1, 1, Owner(ENGINE, 1), "ab12", (Range(PLACE, 0, 10),), combined=True),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_written_is_read_as_the_same(message: messages.Any) -> None:
    assert wire.decode(wire.encode(message)) == message


def test_a_message_can_be_read_without_this_program() -> None:
    assert wire.encode(Lead(1, "d1")) == b'{"version":1,"message":{"kind":"lead","leader":1,"driver":"d1"}}'


def test_a_message_tells_itself_in_one_line() -> None:
    assert str(ASSIGN) == (
        "Assign(leader 2, partition views/3, epoch 5, owner w0#7, program ab12, start 900, takeover True)"
    )


TEXT = wire.encode(ASSIGN)


@pytest.mark.parametrize(
    ("text", "says"),
    {
        "nothing": (b"", "truncated"),
        "half a message": (TEXT[:50], "truncated"),
        "no JSON": (b"\xff\xfe", "malformed"),
        "no envelope": (b"[]", "Expected `object`"),
        "a newer version": (TEXT.replace(b'"version":1', b'"version":2'), "this process reads version 1"),
        "an unknown kind": (TEXT.replace(b'"assign"', b'"assing"'), "Invalid value 'assing'"),
        "an unknown field": (TEXT.replace(b'"start"', b'"begin"'), "unknown field `begin`"),
        "a field that is missing": (TEXT.replace(b',"takeover":true', b""), "missing required field `takeover`"),
        "a negative epoch": (TEXT.replace(b'"epoch":5', b'"epoch":-5'), ">= 0"),
        "an epoch no double holds": (TEXT.replace(b'"epoch":5', b'"epoch":9007199254740993'), "<= 9007199254740992"),
        "an epoch beyond all": (TEXT.replace(b'"epoch":5', b'"epoch":1e999'), "out of range"),
        "a fraction of an epoch": (TEXT.replace(b'"epoch":5', b'"epoch":5.5'), "Expected `int`"),
        "a name without letters": (TEXT.replace(b'"ab12"', b'""'), "length >= 1"),
        "depth without end": (TEXT.replace(b'"ab12"', b"[" * 100_000), "can't be read"),
    }.values(),
)  # fmt: skip
def test_what_is_no_message_is_said(text: bytes, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        wire.decode(text)


def test_what_is_too_large_is_not_even_looked_at() -> None:
    with pytest.raises(ProtocolError, match="no more than 1000000"):
        wire.decode(b" " * 1_000_001)


@pytest.mark.parametrize(
    "message",
    [
        Cancel(1, PLACE, 6, reason=""),
        Lead(-1, "d1"),
        Prepared(PLACE, 6, W0, "x" * 2_000_000),
        Prepared(PLACE, 6, W0, "\ud800"),
    ],
    ids=["without a reason", "a negative leader", "too large", "no text"],
)
def test_what_nobody_could_read_is_not_written(message: messages.Any) -> None:
    with pytest.raises(ProtocolError):
        wire.encode(message)
