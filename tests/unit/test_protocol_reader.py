"""What the reader of an edge skips, applies, and refuses to guess."""

from __future__ import annotations

import pytest

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.reader import NOTHING, Combined, Frame, Position, Seen, Source, Verdict
from spillway.controllers.protocol.values import Partition, ProtocolError

P, Q = Partition("s", 0), Partition("s", 1)


def frame(first: int, last: int, epoch: int = 2, program: str = "A") -> Frame:
    return Frame(P, epoch, program, Position(first, 0), Position(last, 3), 4)


def part(number: int, start: int, stop: int, epoch: int = 2, *others: Source) -> Combined:
    return Combined((Source(P, epoch, start, stop), *others), "A", number, 3)


HALF = Seen(2, "A", Position(4, -1), stop=9, part=1)  # the first of three parts of 4 to 9 was applied


@pytest.mark.parametrize(
    ("seen", "arrives", "verdict"),
    {
        "the first of all": (None, frame(0, 3), Verdict.APPLY),
        "what follows": (Seen(2, "A", Position(3, 3)), frame(4, 7), Verdict.APPLY),
        "what it has": (Seen(2, "A", Position(7, 3)), frame(4, 7), Verdict.SKIP),
        "what it has in part": (Seen(2, "A", Position(5, 0)), frame(4, 7), Verdict.REST),
        "an older epoch": (Seen(3, "A", Position(3, 3)), frame(4, 7), Verdict.SKIP),
        "a newer epoch": (Seen(1, "A", Position(3, 3)), frame(4, 7), Verdict.APPLY),
        "a newer epoch that repeats": (Seen(1, "A", Position(7, 3)), frame(4, 7), Verdict.SKIP),
        "another program, with positions of its own": (Seen(1, "Z", Position(99, 3)), frame(4, 7), Verdict.APPLY),
        "a range": (Seen(2, "A", Position(3, 3)), part(0, 4, 9), Verdict.APPLY),
        "a range that follows one": (Seen(2, "A", Position(4, -1)), part(0, 4, 9), Verdict.APPLY),
        "records behind a range": (Seen(2, "A", Position(4, -1)), frame(4, 7), Verdict.APPLY),
        "the next part": (HALF, part(1, 4, 9), Verdict.APPLY),
        "a part again": (HALF, part(0, 4, 9), Verdict.SKIP),
        "a part of a range that it has": (Seen(2, "A", Position(9, -1)), part(2, 4, 9), Verdict.SKIP),
        "a part of an older epoch": (HALF, part(1, 4, 9, 1), Verdict.SKIP),
    }.values(),
)
def test_what_it_makes_of_a_frame(seen: Seen | None, arrives: Frame | Combined, verdict: Verdict) -> None:
    assert reader.read({P: seen} if seen else {}, arrives).verdict is verdict


@pytest.mark.parametrize(
    ("seen", "arrives"),
    {
        "a range of which single records were applied": (Seen(2, "A", Position(5, 0)), part(0, 4, 9)),
        "records amid the parts of a range": (HALF, frame(4, 7)),
        "another range amid the parts of one": (HALF, part(1, 4, 8)),
        "a part that is ahead": (HALF, part(2, 4, 9)),
    }.values(),
)
def test_what_no_owner_can_send_is_an_error(seen: Seen, arrives: Frame | Combined) -> None:
    with pytest.raises(ProtocolError):
        reader.read({P: seen}, arrives)


def test_a_part_is_an_error_if_some_of_its_ranges_have_it_and_others_not() -> None:
    table = {P: Seen(2, "A", Position(9, -1)), Q: Seen(5, "A", Position(0, -1))}

    with pytest.raises(ProtocolError, match="for some of the ranges"):
        reader.read(table, part(0, 4, 9, 2, Source(Q, 5, 0, 3)))


def test_a_part_of_which_one_range_has_an_old_epoch_is_skipped_and_changes_nothing() -> None:
    table = {P: Seen(2, "A", Position(4, -1)), Q: Seen(6, "A", Position(0, -1))}

    reading = reader.read(table, part(0, 4, 9, 2, Source(Q, 5, 0, 3)))

    assert (reading.verdict, reading.seen) == (Verdict.SKIP, ())


def test_a_marker_changes_the_epoch_and_nothing_else() -> None:
    reading = reader.read({P: HALF}, Frame(P, 4, "A"))

    assert (reading.verdict, reading.seen) == (Verdict.SKIP, ((P, HALF._replace(epoch=4)),))


def test_the_rest_of_a_frame_is_what_lies_above_what_was_applied() -> None:
    reading = reader.read({P: Seen(2, "A", Position(5, 1))}, frame(4, 7))

    assert (reading.above, dict(reading.seen)[P].upto) == (Position(5, 1), Position(7, 3))


def test_with_its_last_part_a_range_is_applied() -> None:
    seen = HALF._replace(part=2)

    assert dict(reader.read({P: seen}, part(2, 4, 9)).seen)[P] == Seen(2, "A", Position(9, -1))


def test_nothing_is_below_all_positions() -> None:
    assert min(NOTHING, Position(0, 0)) == NOTHING
