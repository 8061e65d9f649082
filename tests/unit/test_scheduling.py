"""Which record is next: by deadline while all can be on time, and as many as possible when not."""

from __future__ import annotations

import pytest

from spillway.controllers.deadlines import DeadlineTree, Entry
from spillway.controllers.scheduling import BatchScheduler, CostGroups, Grain, Item, Reason, RecordScheduler
from spillway.model.quantities import Duration


def _rest(scheduler: RecordScheduler | BatchScheduler, now: int = 0) -> list[tuple[int, str]]:
    """Payloads and reasons, when every item takes what it says."""
    found = []
    while (chosen := scheduler.next(now)).item is not None:
        found.append((chosen.item.payload, chosen.reason.value))
        now += chosen.item.cost
    return found


def test_with_nothing_to_do_it_says_so() -> None:
    assert RecordScheduler().next(0) == (Reason.IDLE, None)
    assert BatchScheduler().next(0) == (Reason.IDLE, None)


def test_the_earliest_deadline_is_first_and_of_equal_ones_the_oldest() -> None:
    scheduler = RecordScheduler()
    for payload, deadline in enumerate([30, 10, 20, 10]):
        scheduler.insert(Item(deadline, 1, payload))

    assert _rest(scheduler) == [(1, "OnTime"), (3, "OnTime"), (2, "OnTime"), (0, "OnTime")]


def test_one_costly_record_is_put_off_for_two_cheap_ones() -> None:
    scheduler = RecordScheduler()
    costly = Item(10, 10, 0)
    for item in (costly, Item(11, 5, 1), Item(12, 5, 2)):
        scheduler.insert(item)

    assert scheduler.put_off(now=0) == [costly]

    assert scheduler.late == 1
    assert _rest(scheduler) == [(1, "OnTime"), (2, "OnTime"), (0, "Late")]


def test_what_is_late_already_harms_nobody_and_is_served_last_in_order_of_arrival() -> None:
    scheduler = RecordScheduler()
    for payload, deadline in enumerate([5, 90, 3, 100]):
        scheduler.insert(Item(deadline, 10, payload))

    assert _rest(scheduler, 20) == [(1, "OnTime"), (3, "OnTime"), (0, "Late"), (2, "Late")]


def test_of_equal_costs_the_latest_deadline_is_put_off_and_of_equal_deadlines_the_newest() -> None:
    scheduler = RecordScheduler()
    for payload, deadline in enumerate([10, 11, 11]):
        scheduler.insert(Item(deadline, 5, payload))

    assert _rest(scheduler) == [(0, "OnTime"), (1, "OnTime"), (2, "Late")]


def test_time_that_was_lost_is_noticed_before_the_next_is_chosen() -> None:
    scheduler = RecordScheduler()
    scheduler.insert(Item(20, 15, 0))
    scheduler.insert(Item(30, 5, 1))

    assert scheduler.next(now=10).item == Item(30, 5, 1)
    assert scheduler.next(now=15) == (Reason.LATE, Item(20, 15, 0))


def test_late_ones_are_given_up_only_when_asked() -> None:
    scheduler = RecordScheduler()
    for payload in range(3):
        scheduler.insert(Item(payload, 5, payload))
    scheduler.insert(Item(100, 5, 3))

    assert [item.payload for item in scheduler.give_up(now=50)] == [0, 1, 2]
    assert (len(scheduler), scheduler.late) == (1, 0)


def test_everything_can_be_taken_out_in_order_of_arrival() -> None:
    scheduler = RecordScheduler(key_order=True)
    for payload, deadline in enumerate([90, 1, 50, 70]):
        scheduler.insert(Item(deadline, 5, payload, key="k"))

    assert [item.payload for item in scheduler.clear()] == [0, 1, 2, 3]
    assert len(scheduler) == 0
    assert scheduler.next(0) == (Reason.IDLE, None)
    scheduler.insert(Item(90, 5, 9, key="k"))
    assert scheduler.next(0).reason is Reason.ON_TIME


def test_a_record_that_is_due_earlier_pulls_the_older_ones_of_its_key_forward() -> None:
    scheduler = RecordScheduler(key_order=True)
    scheduler.insert(Item(100, 5, 0, key="a"))
    scheduler.insert(Item(50, 5, 1, key="b"))
    scheduler.insert(Item(10, 5, 2, key="a"))

    assert _rest(scheduler) == [(0, "OnTime"), (2, "OnTime"), (1, "OnTime")]


def test_what_is_put_off_takes_the_younger_ones_of_its_key_with_it() -> None:
    scheduler = RecordScheduler(key_order=True)
    scheduler.insert(Item(20, 15, 0, key="a"))
    scheduler.insert(Item(90, 1, 1, key="a"))
    scheduler.insert(Item(20, 10, 2, key="b"))
    put_off = scheduler.put_off(now=0)

    assert [item.payload for item in put_off] == [0, 1]
    scheduler.insert(Item(99, 1, 3, key="a"))
    assert _rest(scheduler) == [(2, "OnTime"), (0, "Late"), (1, "Late"), (3, "Late")]


def test_when_the_late_ones_of_a_key_are_done_new_ones_can_be_on_time_again() -> None:
    scheduler = RecordScheduler(key_order=True)
    scheduler.insert(Item(1, 5, 0, key="a"))
    assert scheduler.next(10).reason is Reason.LATE

    scheduler.insert(Item(90, 5, 1, key="a"))

    assert scheduler.next(15).reason is Reason.ON_TIME


def test_without_key_order_or_without_a_key_nothing_waits_for_its_key() -> None:
    for scheduler, key in ((RecordScheduler(), "a"), (RecordScheduler(key_order=True), None)):
        scheduler.insert(Item(1, 5, 0, key=key))
        scheduler.insert(Item(90, 5, 1, key=key))
        assert _rest(scheduler, 10) == [(1, "OnTime"), (0, "Late")]


def test_coarse_deadlines_are_rounded_down_so_that_a_promise_is_never_stretched() -> None:
    grain = Grain.of_promise(Duration.parse("500ms"))

    assert grain.unit == 50_000_000
    assert [grain.due(d) for d in (0, 49_999_999, 50_000_000, 99_999_999)] == [0, 0, 50_000_000, 50_000_000]


def test_records_within_one_unit_are_served_in_order_of_arrival() -> None:
    scheduler = RecordScheduler(Grain(unit=10))
    for payload, deadline in enumerate([39, 31, 35, 29]):
        scheduler.insert(Item(deadline, 1, payload))

    assert [payload for payload, _ in _rest(scheduler)] == [3, 0, 1, 2]


@pytest.mark.parametrize(
    ("samples", "count", "cost", "estimate"),
    {
        "memory and disk are told apart": ([2, 2, 3, 90, 100], 2, 3, 2),
        "the dear group has its own mean": ([2, 2, 3, 90, 100], 2, 100, 95),
        "a cost between the groups is that of the dearer": ([2, 2, 3, 90, 100], 2, 40, 95),
        "dearer than all before is as dear as it is": ([2, 2, 3, 90, 100], 2, 1000, 1000),
        "one group is the mean of all": ([10, 20, 30], 1, 12, 20),
        "without samples a cost is what it is": ([], 4, 12, 12),
        "no groups are no groups": ([10, 20], 0, 12, 12),
        "equal samples are one group": ([7, 7, 7], 3, 5, 7),
        "a negative cost counts as none": ([], 1, -5, 0),
    }.values(),
)
def test_costs_count_as_the_mean_of_their_group(samples: list[int], count: int, cost: int, estimate: int) -> None:
    assert Grain(groups=CostGroups.of(samples, count)).cost(cost) == estimate


def test_batches_go_by_deadline_and_a_batch_is_late_when_its_first_record_would_be() -> None:
    scheduler = BatchScheduler()
    for payload, deadline in enumerate([30, 9, 20, 8]):
        scheduler.insert(Item(deadline, 2, payload))

    assert _rest(scheduler, now=8) == [(2, "OnTime"), (0, "OnTime"), (1, "Late"), (3, "Late")]


def test_late_batches_are_given_up_only_when_asked() -> None:
    scheduler = BatchScheduler()
    for payload, deadline in enumerate([3, 2, 30]):
        scheduler.insert(Item(deadline, 2, payload))

    assert scheduler.next(10).item == Item(30, 2, 2)
    assert [item.payload for item in scheduler.give_up()] == [0, 1]
    assert len(scheduler) == 0


def test_the_tree_knows_the_latest_start_and_what_to_put_off_after_it() -> None:
    # The deadlines of LAT Fig. 5: φ = min(10 - 4, 15 - (4 + 5), 20 - (4 + 5 + 6)) = 5.
    tree = DeadlineTree[str]()
    for order, (due, cost) in enumerate([(10, 4), (15, 3), (15, 2), (20, 6)]):
        tree.insert(Entry("", order, due, cost))

    assert (tree.schedulable(5), tree.schedulable(6)) == (True, False)
    assert tree.overloaded(5) is None
    assert tree.overloaded(6) == 20
    assert tree.overloaded(7) == 10
    most = tree.costliest(15)
    assert most is not None
    assert (most.due, most.cost) == (10, 4)


def test_what_is_not_in_the_tree_cannot_be_removed() -> None:
    tree, entry = DeadlineTree[str](), Entry("", 1, 10, 1)
    tree.insert(entry)
    tree.remove(entry)

    with pytest.raises(KeyError, match="no entry 1 with deadline 10 waits here"):
        tree.remove(entry)
