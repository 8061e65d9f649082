"""How old results were: counts of workers, and their differences."""

from __future__ import annotations

from spillway.cli.story import meter
from spillway.cli.story.meter import Ages

TEXT = """\
# TYPE spillway_within_bound_total counter
spillway_within_bound_total{output="result"} 97.0
# TYPE spillway_latency_seconds histogram
spillway_latency_seconds_bucket{output="result",le="0.128"} 60.0
spillway_latency_seconds_bucket{output="result",le="0.512"} 98.0
spillway_latency_seconds_bucket{output="result",le="+Inf"} 100.0
spillway_latency_seconds_count{output="result"} 100.0
spillway_latency_seconds_sum{output="result"} 20.0
# TYPE spillway_slot_ready gauge
spillway_slot_ready{slot="w0.0"} 1.0
"""


def test_counts_are_read_from_metrics() -> None:
    found = meter.read(TEXT)

    assert (found.within, found.count, found.share) == (97, 100, 0.97)
    assert found.quantile(0.5) == 128.0
    assert found.quantile(0.97) == 512.0


def test_beyond_the_last_bucket_nobody_knows() -> None:
    assert meter.read(TEXT).quantile(0.99) is None


def test_nothing_has_no_share_and_no_quantile() -> None:
    assert (Ages().share, Ages().quantile(0.5)) == (None, None)


def test_what_came_since_is_the_difference() -> None:
    before = Ages(10, ((0.1, 5), (0.5, 10), (float("inf"), 10)))
    after = Ages(14, ((0.1, 5), (0.5, 18), (float("inf"), 20)))

    found = after.since(before)

    assert (found.within, found.count) == (4, 10)
    assert found.below == ((0.1, 0), (0.5, 8), (float("inf"), 10))


def test_workers_add_up_whatever_buckets_they_have() -> None:
    found = Ages(1, ((0.1, 1), (float("inf"), 1))).plus(Ages()).plus(Ages(1, ((0.1, 0), (float("inf"), 2))))

    assert (found.within, found.count) == (2, 3)


def test_a_worker_that_does_not_answer_keeps_what_it_told() -> None:
    assert meter.Meter().look(["127.0.0.1:1", ""]).count == 0
