"""As many records on time as any order could have, nothing lost, and keys in order."""

from __future__ import annotations

import itertools
import math

from hypothesis import example, given, settings
from hypothesis import strategies as st

from spillway.controllers.deadlines import DeadlineTree, Entry
from spillway.controllers.scheduling import Grain, Item, Reason, RecordScheduler

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)
KEYED = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.sampled_from("abc")), max_size=25)


def _most_on_time(pairs: list[tuple[int, int]], now: int) -> int:
    """The size of the largest subset that is on time when served by deadline, by trying all subsets."""
    pairs = sorted(pairs)
    for size in range(len(pairs), 0, -1):
        for subset in itertools.combinations(pairs, size):
            done = list(itertools.accumulate((cost for _, cost in subset), initial=now))[1:]
            if all(end <= due for end, (due, _) in zip(done, subset, strict=True)):
                return size
    return 0


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.integers(0, 20))
@example([(8, 2), (9, 2), (7, 1)], 6)  # put off at each arrival, only one would be on time
def test_as_many_are_on_time_as_in_the_best_of_all_subsets(pairs: list[tuple[int, int]], now: int) -> None:
    scheduler = RecordScheduler()
    for payload, (due, cost) in enumerate(pairs):
        scheduler.insert(Item(due, cost, payload))
    most, on_time = _most_on_time(pairs, now), 0

    while (chosen := scheduler.next(now)).reason is Reason.ON_TIME and chosen.item:
        now += chosen.item.cost
        on_time += now <= chosen.item.deadline

    assert on_time == most


@given(PAIRS, st.integers(0, 20), st.integers(1, 10))
def test_with_coarse_deadlines_whatever_is_called_on_time_is_on_time(
    pairs: list[tuple[int, int]], now: int, unit: int
) -> None:
    scheduler = RecordScheduler(Grain(unit))
    for payload, (due, cost) in enumerate(pairs):
        scheduler.insert(Item(due, cost, payload))

    while (chosen := scheduler.next(now)).reason is Reason.ON_TIME and chosen.item:
        now += chosen.item.cost
        assert now <= chosen.item.deadline


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9), st.booleans()), max_size=40), st.integers(1, 10))
def test_nothing_is_lost_or_served_twice_however_inserting_and_serving_alternate(
    steps: list[tuple[int, int, bool]], unit: int
) -> None:
    scheduler, now, served = RecordScheduler(Grain(unit), key_order=True), 0, []
    for payload, (due, cost, serve) in enumerate(steps):
        scheduler.insert(Item(now + due, cost, payload, key=payload % 4 or None))
        if serve and (item := scheduler.next(now).item):
            served.append(item.payload)
            now += item.cost
        assert len(served) + len(scheduler) == payload + 1

    while item := scheduler.next(now).item:
        served.append(item.payload)
    assert sorted(served) == list(range(len(steps)))


@given(PAIRS)
def test_while_all_can_be_on_time_it_is_earliest_deadline_first_and_nothing_is_put_off(
    pairs: list[tuple[int, int]],
) -> None:
    behind = sum(cost for _, cost in pairs)
    items = [Item(behind + due, cost, payload) for payload, (due, cost) in enumerate(pairs)]
    scheduler, now, served = RecordScheduler(), 0, []
    for item in items:
        scheduler.insert(item)
        assert not scheduler.put_off(0)

    while chosen := scheduler.next(now).item:
        served.append(chosen)
        now += chosen.cost

    assert served == sorted(items, key=lambda item: item.deadline)


@given(KEYED, st.integers(1, 8), st.integers(0, 3))
def test_records_of_one_key_are_served_in_order_of_arrival_and_on_time_ones_are(
    records: list[tuple[int, int, str]], unit: int, every: int
) -> None:
    scheduler, now, served = RecordScheduler(Grain(unit), key_order=True), 0, []

    def serve() -> bool:
        nonlocal now
        reason, item = scheduler.next(now)
        if item is None:
            return False
        now += item.cost
        served.append(item)
        assert reason is Reason.LATE or now <= item.deadline
        return True

    for payload, (due, cost, key) in enumerate(records):
        scheduler.insert(Item(now + due, cost, payload, key))
        if every and payload % every == 0:
            serve()
    while serve():
        pass

    assert len(served) == len(records)
    for key in "abc":
        payloads = [item.payload for item in served if item.key == key]
        assert payloads == sorted(payloads)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=60), st.data())
def test_the_tree_answers_like_a_list(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    tree = DeadlineTree[None](seed=1)
    entries = [Entry[None](None, order, due, cost) for order, (due, cost) in enumerate(pairs)]
    for entry in entries:
        tree.insert(entry)
    gone = data.draw(st.sets(st.sampled_from(range(len(entries))))) if entries else set()
    for order in gone:
        tree.remove(entries[order])
    left = sorted((e for e in entries if e.order not in gone), key=lambda e: (e.due, e.order))
    now, until = data.draw(st.integers(0, 200)), data.draw(st.integers(0, 200))

    dues = sorted({e.due for e in left})
    beyond = [due for due in dues if now + sum(e.cost for e in left if e.due <= due) > due]
    inside = [e for e in left if e.due <= until]
    assert len(tree) == len(left)
    assert tree.overloaded(now) == (beyond[0] if beyond else None)
    assert tree.schedulable(now) == (not beyond)
    assert tree.costliest(until) is max(inside, key=lambda e: (e.cost, e.due, e.order), default=None)
    assert [tree.pop() for _ in range(len(left) + 1)] == [*left, None]


def test_the_tree_stays_shallow_for_deadlines_in_order() -> None:
    tree = DeadlineTree[None]()
    for order in range(4096):
        tree.insert(Entry(None, order, order * 1000, 1))

    level, depth = [tree._root], 0  # noqa: SLF001 - depth has no other witness
    while level := [child for node in level if node for child in (node.left, node.right) if child]:
        depth += 1
    # A random tree of n nodes is about 3 log2 n deep at its deepest; 5 is far out, a list would be 4096.
    assert depth <= 5 * math.log2(4096)
