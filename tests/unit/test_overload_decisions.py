"""Which messages are processed first when not all can be on time, by the ages of what is at hand."""

from __future__ import annotations

from spillway.controllers import overload
from spillway.controllers.overload import Passed


def _pass_over(*ages: float, on: bool = False, until: float = overload.FRESH) -> Passed:
    return overload.pass_over(ages, lambda age: age, on=on, until=until)


def test_what_can_be_on_time_is_not_passed_over() -> None:
    assert _pass_over(0.79, 0.5, 0.1) == (0, False)


def test_from_the_first_late_message_on_all_is_passed_over_up_to_a_fresh_one() -> None:
    assert _pass_over(0.9, 0.6, 0.3, 0.2, 0.1) == (3, False)


def test_it_goes_on_with_the_messages_that_come_next() -> None:
    assert _pass_over(2.0, 0.9, 0.6) == (3, True)
    assert _pass_over(0.5, 0.4, on=True) == (2, True)
    assert _pass_over(0.1, on=True) == (0, False)


def test_for_good_only_that_is_left_out_which_is_late() -> None:
    assert _pass_over(2.0, 0.9, 0.79, 0.3, until=overload.LATE) == (2, False)


def test_the_oldest_partition_is_put_off_when_all_together_are_too_much() -> None:
    assert overload.put_off({"a": 0.6, "b": 0.7, "c": 0.1}, 3, since=1.0, least=0.1) == "b"


def test_no_partition_is_put_off_while_all_can_be_on_time() -> None:
    assert overload.put_off({"a": 0.3, "b": 0.4}, 2, since=1.0, least=0.1) is None


def test_another_one_is_put_off_only_when_the_others_have_had_time_to_recover() -> None:
    assert overload.put_off({"a": 0.6, "b": 0.7}, 2, since=0.1, least=0.1) is None


def test_while_queues_shrink_no_partition_is_put_off() -> None:
    assert overload.put_off({"a": 0.6, "b": 0.7}, 2, since=1.0, least=0.7) is None


def test_partitions_that_are_late_anyhow_are_put_off_so_that_one_of_them_is_on_time_sooner() -> None:
    assert overload.put_off({"a": 5.0, "b": 7.0}, 2, since=1.0, least=7.0) == "b"


def test_the_last_partition_stays() -> None:
    assert overload.put_off({"a": 9.0}, 1, since=1.0, least=0.1) is None


def test_batches_begin_with_partitions_whose_heads_can_be_on_time() -> None:
    assert overload.ranges_first({"a": 5, "b": 7, "c": 0}, {"a": False, "b": True, "c": True}) == {"b"}


def test_batches_have_late_partitions_when_nothing_else_waits() -> None:
    assert overload.ranges_first({"a": 5, "b": 7, "c": 0}, {"a": False, "b": False, "c": True}) == {"a", "b"}
