"""Frames: what stands in them, who may read them, and how they are cut."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition
from spillway.model import types
from spillway.runtime import frames
from spillway.runtime.frames import Combined, Frame, FrameError, Layout, Origin, Position, Sender

SCHEMA = types.parse_schema("ad_id string, price decimal(10,2), views bigint")
LAYOUT = Layout(SCHEMA, updates=False)
ORIGIN = Origin("fields", 3, "a1b2")
RANGE = reader.Source(Partition("fields", 3), 5, 100, 250)
ROWS = [
    (7, 0, 1_000, "ad-1", Decimal("1.50"), 2),
    (7, 0, 1_000, None, None, None),
    (9, 4, 2_000, "ad-2", Decimal("0.00"), -1),
]


def sent(rows: list[Any], **more: Any) -> bytes:
    (data,) = Sender(LAYOUT, ORIGIN, 5).frames(rows, 17, **more)
    return data


def test_a_frame_has_these_very_bytes_in_every_version() -> None:
    golden = (
        "9d01ce17848a7105a66669656c647303a46131623200920700920904" "0311c0"
        "93" "960700cd03e8a461642d31a4312e353002" "960700cd03e8c0c0c0" "960904cd07d0a461642d32a4302e3030ff"
    )  # fmt: skip

    assert sent(ROWS).hex() == golden


def test_a_frame_says_where_its_rows_came_from() -> None:
    frame = frames.read(sent(ROWS))

    assert frame.origin == ORIGIN
    assert (frame.epoch, frame.side, frame.count, frame.earliest) == (5, 0, 3, 17)
    assert (frame.first, frame.last) == (Position(7, 0), Position(9, 4))
    assert frame.combined is None
    assert not frame.is_marker
    assert LAYOUT.rows(frame) == ROWS


def test_a_marker_tells_of_its_epoch_alone() -> None:
    frame = frames.read(Sender(LAYOUT, ORIGIN, 6).marker())

    assert frame.is_marker
    assert frame.epoch == 6
    assert LAYOUT.rows(frame) == []


def test_a_combined_frame_has_the_range_of_its_intent_and_its_part() -> None:
    rows = [(100, 0, 5, "a", None, 1), (100, 0, 6, "b", None, 2)]

    assert frames.read(sent(rows, combined=Combined((RANGE,), 2, 3))).combined == Combined((RANGE,), 2, 3)


def test_what_the_protocol_has_to_know_stands_in_the_header() -> None:
    frame = frames.read(sent(ROWS)).head
    marker = frames.read(Sender(LAYOUT, ORIGIN, 6).marker()).head
    part = frames.read(sent([(100, 0, 5, "a", None, 1)], combined=Combined((RANGE,), 2, 3))).head

    assert frame == reader.Frame(Partition("fields", 3), 5, "a1b2", reader.Position(7, 0), reader.Position(9, 4), 3)
    assert isinstance(marker, reader.Frame)
    assert (marker.epoch, marker.count) == (6, 0)
    assert part == reader.Combined((RANGE,), "a1b2", 2, 3)


def test_a_reader_of_the_protocol_applies_a_frame_once_and_skips_what_a_dead_owner_sends_late() -> None:
    frame = frames.read(sent(ROWS)).head
    first = reader.read({}, frame)
    seen = dict(first.seen)
    newer = dict(reader.read(seen, frames.read(Sender(LAYOUT, ORIGIN, 6).marker()).head).seen)
    late = frames.read(sent([(11, 0, 3_000, "ad-3", None, 1)])).head

    assert first.verdict is reader.Verdict.APPLY
    assert reader.read(seen, frame).verdict is reader.Verdict.SKIP
    assert reader.read(seen, late).verdict is reader.Verdict.APPLY
    assert reader.read(newer, late).verdict is reader.Verdict.SKIP


def test_updates_carry_the_old_and_the_new_row() -> None:
    layout = Layout(types.parse_schema("word string, n bigint"), updates=True)
    rows = [(1, 0, 9, None, ("a", 1)), (1, 1, 9, ("a", 1), ("a", 2)), (2, 0, 9, ("a", 2), None)]
    (data,) = Sender(layout, ORIGIN, 1, side=1).frames(rows, 0)

    frame = frames.read(data)

    assert frame.side == 1
    assert layout.rows(frame) == rows


@pytest.mark.parametrize(
    ("position", "left"),
    [((6, 9), 3), ((7, 0), 1), ((8, 99), 1), ((9, 3), 1), ((9, 4), 0), ((10, 0), 0)],
)
def test_a_reader_skips_what_came_from_records_up_to_a_position(position: tuple[int, int], left: int) -> None:
    assert frames.after(ROWS, Position(*position)) == ROWS[len(ROWS) - left :]


def test_rows_that_are_too_many_for_a_message_become_several_frames_cut_between_records() -> None:
    rows = [(i // 3, 0, i, "x" * 50, None, i) for i in range(60)]

    found = [frames.read(data) for data in Sender(LAYOUT, ORIGIN, 1).frames(rows, 4, most=700)]

    assert len(found) > 1
    assert [row for frame in found for row in LAYOUT.rows(frame)] == rows
    assert all(one.last < other.first for one, other in itertools.pairwise(found))
    assert all(len(msgspec.msgpack.encode(frame)) <= 700 for frame in found)


def test_rows_of_one_record_are_never_taken_apart() -> None:
    rows = [(1, 0, 0, "x" * 50, None, i) for i in range(30)]

    with pytest.raises(FrameError, match=r"30 rows of one record take .* bytes; a message holds 700"):
        Sender(LAYOUT, ORIGIN, 1).frames(rows, 0, most=700, largest=700)


def test_a_record_that_can_not_be_sent_is_told_and_all_others_are_sent() -> None:
    rows = [(i, 0, 0, "\ud800" if i == 7 else "x" * (900 if i == 3 else 5), None, i) for i in range(12)]
    told: list[tuple[str, int, int]] = []

    found = Sender(LAYOUT, ORIGIN, 1).frames(
        rows, 0, most=700, largest=700, refused=lambda error, offset, index: told.append((str(error), offset, index))
    )

    sent = [row[0] for data in found for row in LAYOUT.rows(frames.read(data))]
    assert sent == [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert [(offset, index) for _, offset, index in told] == [(3, 0), (7, 0)]
    assert "a message holds 700" in told[0][0]
    assert "surrogates not allowed" in told[1][0]


def test_no_rows_make_no_frame() -> None:
    assert Sender(LAYOUT, ORIGIN, 1).frames([], 0) == []


def test_a_text_that_has_no_bytes_makes_no_frame() -> None:
    with pytest.raises(FrameError, match="can't be written"):
        Sender(LAYOUT, ORIGIN, 1).frames([(1, 0, 0, "\ud800", None, 1)], 0)


def test_columns_that_the_reader_does_not_expect_are_refused() -> None:
    other = Layout(types.parse_schema("ad_id string, price decimal(10,2), views int"), updates=False)

    with pytest.raises(FrameError, match="other columns"):
        other.rows(frames.read(sent(ROWS)))


def changed(**fields: Any) -> bytes:
    frame = frames.read(sent(ROWS))
    values = {name: getattr(frame, name) for name in frame.__struct_fields__} | fields
    return msgspec.msgpack.encode(Frame(**values))


@pytest.mark.parametrize(
    "fields",
    [
        {"count": 2},
        {"first": Position(7, 1)},
        {"last": Position(9, 5)},
        {"rows": msgspec.Raw(msgspec.msgpack.encode([]))},
    ],
)
def test_a_header_that_does_not_fit_its_rows_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(FrameError, match="other rows than its header says"):
        LAYOUT.rows(frames.read(changed(**fields)))


@pytest.mark.parametrize(
    "rows",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode([[1, 0, 0]]),
        msgspec.msgpack.encode([[1, 0, 0, 5, None, 1]]),
        b"\x91" * 100_000,
    ],
)
def test_rows_that_are_none_are_refused(rows: bytes) -> None:
    good = sent(ROWS)
    body = msgspec.msgpack.encode([list(row) for row in frames.Layout(SCHEMA, updates=False).rows(frames.read(good))])
    assert good.endswith(body)

    with pytest.raises(FrameError):
        LAYOUT.rows(frames.read(good[: -len(body)] + rows))


def test_an_unchanged_frame_passes_the_same_checks() -> None:
    assert LAYOUT.rows(frames.read(changed())) == ROWS


def test_another_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(FrameError, match=r"version 2 .* update the readers"):
        frames.read(changed(version=2))


@pytest.mark.parametrize("data", [b"", b"{}", b"\x90", b"\xff" * 40, b"\xdd\xff\xff\xff\xff", b'{"a":1}'])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError, match="is no frame"):
        frames.read(data)


def test_layouts_differ_where_rows_would() -> None:
    texts = ["a int", "b int", "a bigint", "a int, b int", "b int, a int"]
    numbers = {Layout(types.parse_schema(text), updates=updates).number for text in texts for updates in (True, False)}

    assert len(numbers) == 2 * len(texts)


def test_a_sender_keeps_what_all_its_frames_share() -> None:
    senders = [Sender(LAYOUT, ORIGIN, epoch, side=side) for epoch in (1, 2) for side in (0, 1)]

    found = [frames.read(sender.frames(ROWS, 0)[0]) for sender in senders]

    assert [(frame.epoch, frame.side) for frame in found] == [(1, 0), (1, 1), (2, 0), (2, 1)]
