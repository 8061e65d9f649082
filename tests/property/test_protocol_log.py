"""The control log under whatever comes: garbage is refused, snapshots change nothing, and what counts is consistent."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.controllers.protocol import log, messages, wire
from spillway.controllers.protocol.messages import (
    Assign,
    Cancel,
    Done,
    Fenced,
    Intent,
    Join,
    Lead,
    Plan,
    Prepare,
    Prepared,
    Release,
    Released,
    Segment,
)
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, ProtocolError, Range
from spillway.model.operators import Paradigm

PLACES = st.builds(Partition, st.sampled_from("st"), st.integers(0, 1))
OWNERS = st.builds(Owner, st.sampled_from(["w0", "w1", ENGINE]), st.integers(1, 2))
LEADERS = st.integers(1, 2)
EPOCHS = st.integers(1, 5)
OFFSETS = st.integers(0, 3)
RANGES = st.builds(Range, PLACES, OFFSETS, OFFSETS)
PROGRAMS = st.sampled_from("AB")
SEGMENTS = st.builds(Segment, st.just("s"), st.just(("s",)), PROGRAMS, st.just(Paradigm.RECORD), OFFSETS, OFFSETS)
MESSAGES = st.one_of(
    st.builds(Lead, st.integers(1, 3), st.sampled_from(["d1", "d2"])),
    st.builds(Join, st.sampled_from(["w0", "w1"]), st.sampled_from("xyz")),
    st.builds(Fenced, LEADERS, OWNERS),
    st.builds(Plan, LEADERS, st.integers(1, 3), st.just("{}"), st.just(8), st.tuples(SEGMENTS)),
    st.builds(Prepare, LEADERS, PLACES, EPOCHS, st.none() | OWNERS, PROGRAMS),
    st.builds(Prepared, PLACES, EPOCHS, OWNERS, st.sampled_from(["", "no"])),
    st.builds(Release, LEADERS, PLACES, EPOCHS),
    st.builds(Released, PLACES, EPOCHS, OWNERS, OFFSETS),
    st.builds(Cancel, LEADERS, PLACES, EPOCHS, st.just("Unwanted")),
    st.builds(Assign, LEADERS, PLACES, EPOCHS, OWNERS, PROGRAMS, OFFSETS, st.booleans()),
    st.builds(Intent, LEADERS, st.integers(1, 3), OWNERS, PROGRAMS, st.tuples(RANGES), st.booleans()),
    st.builds(Done, LEADERS, st.integers(1, 3)),
)  # fmt: skip
LOGS = st.lists(MESSAGES, max_size=40).map(lambda rest: [Lead(1, "d1"), *rest])


@pytest.mark.fuzz
@fuzzing.cases(100)
@given(st.binary(max_size=200))
def test_garbage_is_an_error_and_never_a_crash(text: bytes) -> None:
    with pytest.raises(ProtocolError):
        wire.decode(text)


@pytest.mark.fuzz
@fuzzing.cases(120)
@given(MESSAGES, st.data())
def test_a_damaged_message_is_read_or_refused(message: messages.Any, data: st.DataObject) -> None:
    text = bytearray(wire.encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 4))] = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"9" * 30, b"[", b'"'])
        )
        if not text:
            break

    with contextlib.suppress(ProtocolError):
        again = wire.decode(bytes(text))
        assert wire.decode(wire.encode(again)) == again


@pytest.mark.fuzz
@fuzzing.cases(100)
@given(
    st.recursive(st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5), st.lists, max_leaves=9)
)
def test_a_message_of_any_other_shape_is_refused(value: object) -> None:
    text = msgspec.json.encode({"version": 1, "message": {"kind": "assign", "leader": value}})

    with pytest.raises(ProtocolError):
        wire.decode(text)


@pytest.mark.fuzz
@fuzzing.cases(100)
@given(LOGS)
def test_every_message_is_read_as_it_was_written(written: list[messages.Any]) -> None:
    assert [wire.decode(wire.encode(message)) for message in written] == written


@pytest.mark.fuzz
@fuzzing.cases(120)
@given(LOGS, st.data())
def test_a_snapshot_and_what_it_doesnt_cover_say_the_same_as_the_whole_log(
    written: list[messages.Any], data: st.DataObject
) -> None:
    upto = data.draw(st.integers(0, len(written)), label="covered")
    stands = data.draw(st.integers(upto, len(written)), label="stands at")
    begins = data.draw(st.integers(0, upto), label="deleted up to")
    snapshot = wire.decode(wire.encode(log.snapshot(log.folded(written[:upto]), upto)))
    left = [*written[:stands], snapshot, *written[stands:]]

    assert log.restored(list(enumerate(left))[begins:]) == log.folded(written)


@pytest.mark.fuzz
@fuzzing.cases(120)
@given(LOGS)
def test_epochs_only_grow_and_a_cut_ends_only_in_an_assignment(written: list[messages.Any]) -> None:
    state = log.State()
    for message in written:
        after, counted = log.read(state, message)
        assert counted or after == state
        assert (after.leader, after.intent) >= (state.leader, state.intent)
        for place, before in state.holdings.items():
            now = after.holdings[place]
            assert now.last >= now.epoch >= before.epoch
            assert now.owner == before.owner or now.epoch > before.epoch
            if before.move and before.move.cut is not None and now != before:
                assert isinstance(message, Assign)
        state = after
