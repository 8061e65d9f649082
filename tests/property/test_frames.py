"""Frames carry any rows there and back, are cut without losing one, and nothing that is no frame passes for one."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fuzzing import cases
from row_values import rows, same, schemas, values
from spillway.model import types
from spillway.runtime import frames
from spillway.runtime.frames import FrameError, Layout, Origin, Position, Sender


@st.composite
def sendings(draw: st.DrawFn) -> tuple[Layout, list[tuple[Any, ...]]]:
    schema = draw(schemas())
    updates = draw(st.booleans())
    row = rows(schema)
    carried = st.tuples(st.none() | row, st.none() | row) if updates else row
    positions = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=12))
    found = [(*position, draw(values(types.BIGINT)) or 0, *draw(carried)) for position in sorted(positions)]
    return Layout(schema, updates=updates), found


@cases(60)
@given(sendings(), st.integers(60, 400))
def test_rows_come_back_as_they_were_from_however_many_frames(sending: Any, most: int) -> None:
    layout, sent = sending
    sender = Sender(layout, Origin("a-b", 7, "p"), 2)
    whole = [frames.read(data) for data in sender.frames(sent, 3)]
    cut = None
    with contextlib.suppress(FrameError):
        cut = [frames.read(data) for data in sender.frames(sent, 3, most=most)]

    assert same([row for frame in whole for row in layout.rows(frame)], sent)
    if cut is not None:
        assert same([row for frame in cut for row in layout.rows(frame)], sent)
        assert all(one.last < other.first for one, other in itertools.pairwise(cut))


@cases(50)
@given(sendings(), st.tuples(st.integers(-1, 6), st.integers(-1, 3)))
def test_what_is_skipped_and_what_is_left_is_everything(sending: Any, at: tuple[int, int]) -> None:
    sent = sending[1]
    left = frames.after(sent, Position(*at))

    assert same(left, [row for row in sent if row[:2] > at])


@cases(150)
@given(st.binary(max_size=60))
def test_bytes_are_a_frame_or_an_error(data: bytes) -> None:
    with contextlib.suppress(FrameError):
        frames.read(data)


@cases(60)
@given(sendings(), st.data())
def test_a_frame_with_changed_bytes_is_read_or_refused(sending: Any, data: st.DataObject) -> None:
    layout, sent = sending
    sender = Sender(layout, Origin("a", 0, "p"), 2)
    broken = bytearray((sender.frames(sent, 3) or [sender.marker()])[0])
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FrameError):
        found = layout.rows(frames.read(bytes(broken)))
        assert all(len(row) == (5 if layout.updates else 3 + len(layout.schema)) for row in found)
