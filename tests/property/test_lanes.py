"""Whatever is done out of turn: each record is processed once, whoever dies, and in order where that is needed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import laned
from laned import Slot, Stored
from spillway.controllers import ahead
from spillway.controllers.protocol.values import Partition
from spillway.model.execution import Overload, Policy
from spillway.model.streamjob import Spec
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import lanes

KEEP = Policy()
MOST = Policy(overload=Overload.MOST_IN_TIME)
DROP = Policy(overload=Overload.MOST_IN_TIME, drop=True)


def _programs(*names: str) -> list[Program]:
    """`free` writes an output, and so does `other`; `counted` writes an edge."""
    return [program for program in _cut(*names) if program.name in names]


def _cut(*names: str) -> list[Program]:
    """Of `counted` with the reader of its edge, which counts."""
    operators: dict[str, dict[str, Any]] = {
        "free": {"name": "free", "input": "numbers", "filter": "n > 0"},
        "other": {"name": "other", "input": "numbers", "filter": "n > 1"},
        "counted": {"name": "counted", "input": "numbers", "filter": "n > 2"},
        "counts": {"name": "counts", "input": "counted", "aggregate": {"by": ["n"], "values": ["count(*) as c"]}},
    }
    ends = {"free": "free", "other": "other", "counted": "counts"}
    used = [operators[end] for name in names for end in dict.fromkeys((name, ends[name]))]
    spec = Spec.model_validate_json(
        json.dumps(
            {
                "kafka": {"bootstrapServers": ["k:9092"]},
                "latency": {"bound": "500ms"},
                "streams": [{"name": "numbers", "topic": "in", "columns": "n bigint"}],
                "operators": used,
                "outputs": [{"name": f"out-{name}", "input": ends[name], "topic": f"out-{name}"} for name in names],
            }
        )
    )
    return list(cutting.cut(spec, {one["name"]: (one["name"],) for one in used}, {}))


FREE, COUNTED = _programs("free"), _programs("counted")
WITH_READER = _cut("counted")
SHARED, BOTH_FREE = _programs("free", "counted"), _programs("free", "other")


def _chaos(slot: Slot, steps: int, *, deaths: float = 0.02, policies: tuple[Policy, ...] = ()) -> None:
    """Load that is now too much and now little, commits, deaths, moves, and changes of the policy."""
    dice = slot.dice
    for _ in range(steps):
        if dice.random() < 0.6:
            slot.feed(dice.randrange(3), dice.choice((0, 1, 2, 5, 30)))
        slot.step()
        slot.now += dice.choice((0.0, 0.0, 5.0, 400.0))
        if dice.random() < 0.1:
            slot.commit()
        if dice.random() < deaths:
            slot.live()
        if dice.random() < deaths:
            slot.move(dice.choice(slot.places))
        if policies and dice.random() < 0.02:
            slot.obey(dice.choice(policies))
    slot.finish()


def _wrong(slot: Slot) -> list[str]:
    """What was not processed just once."""
    found = []
    for place in slot.places:
        right = [message.offset() for message in slot.logs[place.where].messages]
        came = slot.offsets(place.partition)
        if sorted(came) != right:
            found.append(f"{place.partition}: {sorted(set(right) - set(came))} missing, {len(came)} of {len(right)}")
    return found


@fuzzing.cases(100)
@given(st.integers(0, 10**6), st.sampled_from([FREE, COUNTED, SHARED, BOTH_FREE, WITH_READER]), st.integers(1, 3))
def test_each_record_is_processed_once_whoever_dies(seed: int, programs: list[Program], partitions: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(programs, MOST, partitions, random.Random(seed), patch)  # noqa: S311 - dice of a test
        _chaos(slot, 300, policies=(KEEP, MOST))

        assert _wrong(slot) == []


@pytest.mark.parametrize("leaves", [None, 0, 1])
def test_two_that_read_the_same_and_have_set_aside_different_stretches_each_get_theirs(leaves: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(BOTH_FREE, MOST, 1, random.Random(1), patch)  # noqa: S311
        slot.feed(0, 100)
        offsets = [message.offset() for message in slot.logs["in", 0].messages]
        for name, position, done in (("free", 40, (60, 80)), ("other", 10, (20, 90))):
            outputs = [(at, 0.0) for at in offsets if at < position or done[0] <= at < done[1]]
            slot.stored[Partition(name, 0)] = Stored(position, ahead.write(position, [done]), outputs)
        slot.live()
        for _ in range(4):
            slot.step()
        if leaves is not None:
            slot.move(slot.places[leaves])
        slot.finish()

        assert _wrong(slot) == []


@fuzzing.cases(30)
@given(st.integers(0, 10**6))
def test_where_an_edge_is_written_each_partition_keeps_its_order(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(COUNTED, MOST, 3, random.Random(seed), patch)  # noqa: S311
        _chaos(slot, 300)

        for place in slot.places:
            came = slot.offsets(place.partition)
            assert came == sorted(came)


@fuzzing.cases(30)
@given(st.integers(0, 10**6))
def test_what_is_not_left_out_is_processed_once_and_what_is_was_late(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(SHARED, DROP, 2, random.Random(seed), patch)  # noqa: S311
        _chaos(slot, 300, deaths=0.0)

        came = [slot.offsets(place.partition) for place in slot.places]
        assert all(offsets == sorted(set(offsets)) for offsets in came)
        wanted = sum(len(slot.logs[place.where].messages) for place in slot.places)
        assert sum(map(len, came)) + slot.dropped == wanted


def _overloaded(policy: Policy, load: float, programs: list[Program], partitions: int = 1) -> tuple[Slot, float]:
    """A minute at so many times the capacity; the share that was in time."""
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(programs, policy, partitions, random.Random(1), patch)  # noqa: S311
        start, fed = slot.now, 0
        while slot.now < start + 60_000:
            due = int((slot.now - start) * load / laned.COST)
            while fed < due:
                slot.feed(fed % partitions, 1)
                fed += 1
            if not slot.step():
                slot.now += 1
        slot.commit()
        return slot, slot.in_time() / fed


@pytest.mark.parametrize("load", [1.36, 1.8])
def test_in_overload_nearly_as_many_are_in_time_as_can_be(load: float) -> None:
    slot, share = _overloaded(MOST, load, FREE)
    assert share >= 0.95 / load
    assert not _overloaded_rest(slot)

    _, kept = _overloaded(KEEP, load, FREE)
    assert kept < 0.1


def _overloaded_rest(slot: Slot) -> list[str]:
    slot.finish()
    return _wrong(slot)


@pytest.mark.parametrize(("load", "on_time"), [(1.36, 5), (1.8, 4)])
def test_with_order_kept_some_partitions_are_in_time_and_the_others_wait(load: float, on_time: int) -> None:
    slot, share = _overloaded(MOST, load, COUNTED, 8)

    assert share >= 0.95 * on_time / 8
    assert not _overloaded_rest(slot)


@pytest.mark.parametrize(("load", "on_time"), [(1.36, 5), (1.8, 4)])
def test_rows_of_edges_go_first_so_as_many_are_in_time_behind_an_edge(load: float, on_time: int) -> None:
    """By when they came into the stream: rows that are late are late for all partitions."""
    slot, _ = _overloaded(MOST, load, WITH_READER, 8)
    counts = [place.partition for place in slot.places if place.task.topic == laned.EDGE]

    fed = sum(len(slot.logs[laned.STREAM, number].messages) for number in range(8))
    assert slot.in_time(counts) / fed >= 0.95 * on_time / 8
    assert not _overloaded_rest(slot)


def test_without_overload_all_are_in_time_whatever_the_policy() -> None:
    for programs, partitions in ((FREE, 1), (COUNTED, 8)):
        for policy in (KEEP, MOST, DROP):
            assert _overloaded(policy, 0.8, programs, partitions)[1] >= 0.99


def test_an_owner_that_does_not_know_what_was_done_ahead_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "read", lambda *_: ())

    assert any(_after_chaos(seed) for seed in range(5))


def test_a_program_with_an_edge_whose_late_records_were_set_aside_would_lose_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "needs_order", lambda _: "")
    slot, _ = _overloaded(MOST, 1.8, COUNTED)
    slot.finish()

    came = slot.offsets(slot.places[0].partition)
    assert came != sorted(came)


def _after_chaos(seed: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        slot = Slot(FREE, MOST, 2, random.Random(seed), patch)  # noqa: S311
        _chaos(slot, 300)
        return _wrong(slot)
