"""What a plan promises, against a simulation of it, and case by case."""
# ruff: noqa: RUF003, S311 - Greek letters are those of the papers; simulations need a seed and no secrets

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from typing import Any

import pytest

from flows import free
from spillway.controllers.costmodel.flow import Flow, Output, Setting, Settings, Slot
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.moments import Moments
from spillway.controllers.latency.phases import Phase
from spillway.controllers.latency.prediction import Prediction, predict
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.latency.windows import Window
from spillway.model.operators import Paradigm

PIPE = Flow([free("read", cpu=0.004), free("count", "read", cpu=0.005, fetch=0.004)])
ONE_EACH: Settings = {"read": Setting(1, 10), "count": Setting(1)}
ENGINE = Engine(1.0, Moments(0.1, 0.0004))
BATCH = Paradigm.BATCH


def simulated_pipe(rate: float, frame: int, deadline: float, records: int) -> list[float]:
    """PIPE record by record, costs exponential and a frame's fetch constant; frames leave on time or when full."""
    chance = random.Random(31)
    arrival, free_at, frames = 0.0, 0.0, [list[tuple[float, float]]()]
    for _ in range(records):
        arrival += chance.expovariate(rate)
        free_at = max(free_at, arrival) + chance.expovariate(1 / 0.004)
        if len(frames[-1]) == frame or (frames[-1] and free_at - frames[-1][0][1] > deadline):
            frames.append([])
        frames[-1].append((arrival, free_at))
    latencies: list[float] = []
    free_at = 0.0
    for content in frames[:-1]:
        leaves = content[-1][1] if len(content) == frame else content[0][1] + deadline
        free_at = max(free_at, leaves) + 0.004
        for arrival, _ in content:
            free_at += chance.expovariate(1 / 0.005)
            latencies.append(free_at - arrival)
    return latencies


@pytest.mark.parametrize(
    ("rate", "frame", "deadline", "within"),
    [
        (20.0, 10, 0.05, 0.2),  # what LAT reports for quantiles of its own model
        (100.0, 10, 0.05, 0.2),
        (100.0, 10, 10.0, 0.2),
        (150.0, 10, 0.1, 0.2),
        (50.0, 1, 1.0, 0.25),
        (150.0, 5, 0.02, 0.4),  # 0.92 of a slot: queues have a longer tail than the normal distribution
    ],
)
def test_a_pipe_of_two_takes_as_long_as_simulated(rate: float, frame: int, deadline: float, within: float) -> None:
    seen = sorted(simulated_pipe(rate, frame, deadline, 40_000))
    mean, p95, p99 = statistics.fmean(seen), seen[len(seen) * 95 // 100], seen[len(seen) * 99 // 100]
    settings = {"read": Setting(1, frame), "count": Setting(1)}
    found = predict(PIPE, settings, {"read": rate}, deadlines={"read": deadline}, observed=True)
    bound = predict(PIPE, settings, {"read": rate}, deadlines={"read": deadline})

    assert found.mean == pytest.approx(mean, rel=0.15)
    assert found.p95 == pytest.approx(p95, rel=within)
    assert found.p99 == pytest.approx(p99, rel=within)
    assert bound.p95 > p95
    assert bound.p99 > p99


def test_a_single_slot_with_single_records_is_a_queue_of_the_textbook() -> None:
    flow = Flow([free("read", cpu=0.01)])
    found = predict(flow, {"read": Setting(1)}, {"read": 80.0})

    assert found.mean == pytest.approx(0.01 / (1 - 0.8))  # S/(1-ρ) waiting and being served, and its square
    assert found.variance == pytest.approx((0.01 / (1 - 0.8)) ** 2)
    assert found.path == ("read",)


def test_the_deadline_cuts_the_wait_and_the_frame() -> None:
    slow = {"read": 5.0}
    without = predict(PIPE, ONE_EACH, slow)
    with_one = predict(PIPE, ONE_EACH, slow, deadlines={"read": 0.1})

    assert without.phases[Phase.WAIT].mean == pytest.approx(9 / 2 / 5)
    assert with_one.phases[Phase.WAIT].mean < 0.1
    assert with_one.segments["count"][Phase.CPU].mean < without.segments["count"][Phase.CPU].mean


def test_frames_cut_by_their_deadline_cost_their_reader_more() -> None:
    flow = Flow([free("read"), free("count", "read", fetch=0.03)])
    at = {"read": 40.0}  # 0.03·40/10 = 0.12 of a slot in full frames, 1.2 in frames of one

    assert math.isfinite(predict(flow, ONE_EACH, at).mean)
    assert predict(flow, ONE_EACH, at, deadlines={"read": 0.001}).mean == math.inf


def test_frames_cut_by_their_deadline_cost_their_sender_more() -> None:
    flow = Flow([free("read", emit=0.1), free("count", "read")])
    at = {"read": 50.0}  # 0.5 of a slot in full frames, 5 in frames of one

    assert math.isfinite(predict(flow, ONE_EACH, at).mean)
    assert predict(flow, ONE_EACH, at, deadlines={"read": 0.001}).mean == math.inf


def test_what_a_frame_costs_whatever_its_size_does_not_vary() -> None:
    flow = Flow([free("read"), free("count", "read", fetch=0.01)])
    variability = {"count": Variability(arrival=1.0)}
    found = predict(flow, {"read": Setting(1, 1), "count": Setting(1)}, {"read": 60.0}, variability=variability)

    assert found.segments["count"][Phase.QUEUE].mean == pytest.approx(0.01 * 0.6 / (2 * 0.4))  # M/D/1


def test_of_equal_ways_the_first_by_name_is_the_worst() -> None:
    flow = Flow([free("a", cpu=0.01), free("c", "a"), free("b", "a"), free("z", "c", "b")])

    assert predict(flow, {n: Setting(1, 1) for n in "abcz"}, {"a": 1.0}).path == ("a", "b", "z")


def test_every_pair_of_partitions_has_a_frame_of_its_own() -> None:
    one = predict(PIPE, ONE_EACH, {"read": 100.0})
    six = predict(PIPE, ONE_EACH, {"read": 100.0}, partitions={"read": 2, "count": 3})

    assert six.phases[Phase.WAIT].mean == pytest.approx(6 * one.phases[Phase.WAIT].mean)


def test_a_batch_waits_half_an_interval_and_for_all_of_itself() -> None:
    found = predict(PIPE, ONE_EACH, {"read": 100.0}, paradigms={"count": BATCH}, engines={"count": ENGINE})
    last = found.segments["count"]

    # V·T/P_O = 100·0.005, and one fetch of 0.004 for all of the batch
    assert last[Phase.BATCH].mean == pytest.approx(0.5 + 0.504)
    assert last[Phase.SCHEDULE] == ENGINE.schedule
    assert last[Phase.QUEUE].mean == last[Phase.CPU].mean == 0
    assert found.segments["read"][Phase.WAIT].mean > 0


def test_a_batch_writes_what_it_has_and_its_reader_gets_it_all_at_once() -> None:
    found = predict(PIPE, ONE_EACH, {"read": 100.0}, paradigms={"read": BATCH}, engines={"read": ENGINE})

    assert found.phases[Phase.WAIT].mean == 0
    # 0.54 of a second's work at once: half of it is before a record, on average.
    assert found.segments["count"][Phase.QUEUE].mean == pytest.approx(0.54 / 2)


def test_records_and_batches_together_can_be_too_much_at_the_pace_that_others_leave() -> None:
    flow = Flow([free("a"), free("b"), free("both", "a", "b", cpu=0.006)])
    settings = {name: Setting(1, 1) for name in ("a", "b", "both")}

    def mean(cores: int) -> float:
        slot, at = Slot(sharing=2), {"a": 60.0, "b": 60.0}  # 0.72 of a slot, 0.36 of the average one in workers
        batch, engines = {"a": BATCH}, {"a": Engine(0.1)}
        return predict(flow, settings, at, paradigms=batch, engines=engines, slot=slot, cores=cores).mean

    assert math.isfinite(mean(2))
    assert mean(1) == math.inf  # the other leaves 0.64 of the core: enough for 0.36 of either kind, not for both


def simulated_bulks(alone: float, share: float, interval: float, each: float) -> tuple[float, float]:
    """Mean waits of records that come at random and of those that come once per interval, behind one another."""
    chance = random.Random(5)
    bulk = [(k * interval, True) for k in range(2000) for _ in range(round(share * interval / each))]
    at, single = 0.0, list[tuple[float, bool]]()
    while at < 2000 * interval:
        at += chance.expovariate(alone / each)
        single.append((at, False))
    waits: dict[bool, list[float]] = {True: [], False: []}
    free_at = 0.0
    for at, of_bulk in sorted(bulk + single):
        waits[of_bulk].append(max(0.0, free_at - at))
        free_at = max(free_at, at) + chance.expovariate(1 / each)
    return statistics.fmean(waits[False]), statistics.fmean(waits[True])


def test_records_among_batches_wait_as_long_as_simulated() -> None:
    flow = Flow([free("batch"), free("single"), free("both", "batch", "single", cpu=0.01)])
    settings = {name: Setting(1, 1) for name in ("batch", "single", "both")}
    workload = {"batch": 40.0, "single": 30.0}
    found = predict(flow, settings, workload, paradigms={"batch": BATCH}, engines={"batch": Engine(1.0)})
    of_single, of_bulk = simulated_bulks(0.3, 0.4, 1.0, 0.01)

    assert found.segments["both"][Phase.QUEUE].mean == pytest.approx(of_bulk, rel=0.05)
    assert of_single < of_bulk


def test_faster_batches_do_what_slots_can_not() -> None:
    both, at = {"count": BATCH, "read": BATCH}, {"read": 300.0}

    def mean(engine: Engine) -> float:
        return predict(PIPE, ONE_EACH, at, paradigms=both, engines=dict.fromkeys(both, engine)).mean

    assert predict(PIPE, ONE_EACH, at).mean == math.inf
    assert mean(Engine(1.0, speedup=4.0)) < 5
    assert mean(Engine(1.0)) == math.inf


def test_slots_that_share_cores_are_slower_when_others_leave_less_than_one() -> None:
    flow = Flow([free("read", cpu=0.01)])

    def of(sharing: int, cores: int) -> Prediction:
        return predict(flow, {"read": Setting(1)}, {"read": 40.0}, slot=Slot(sharing=sharing), cores=cores)

    assert of(2, 2).phases[Phase.CPU].mean == pytest.approx(0.01)
    assert of(2, 1).phases[Phase.CPU].mean == pytest.approx(0.01 / 0.6)  # the other slot takes 0.4 of the core
    assert of(3, 1).mean == math.inf  # two others take 0.8 of it, and 0.2 are not enough for 0.4
    assert of(9, 1).phases[Phase.CPU].mean == math.inf  # nothing is left


def test_a_frame_goes_over_the_network_twice_and_through_the_log() -> None:
    flow = Flow([free("read", record_size=125.0), free("count", "read")])
    settings = {"read": Setting(1, 10), "count": Setting(1)}
    found = predict(flow, settings, {"read": 100.0}, slot=Slot(network=1e6), hop=Moments(0.003, 1e-6))

    assert found.phases[Phase.NETWORK].mean == pytest.approx(0.003 + 2 * 10 * 125 * 8 / 1e6)
    assert found.phases[Phase.NETWORK].variance == pytest.approx(1e-6)
    assert found.segments["read"][Phase.QUEUE].mean > 0  # records cost nothing, so these are the queues of the network
    assert found.segments["count"][Phase.QUEUE].mean > 0
    assert predict(flow, settings, {"read": 1000.0}, slot=Slot(network=1e6)).mean == math.inf


def simulated_turns(rates: tuple[float, float], times: tuple[float, float], records: int) -> tuple[float, float]:
    """Mean time of the records of two segments on one slot, which takes them in the order in which they come."""
    chance = random.Random(3)
    coming = []
    for kind in (0, 1):
        at = 0.0
        for _ in range(round(records * rates[kind])):
            at += chance.expovariate(rates[kind])
            coming.append((at, kind))
    seen: tuple[list[float], list[float]] = ([], [])
    free_at = 0.0
    for at, kind in sorted(coming):
        free_at = max(free_at, at) + chance.expovariate(1 / times[kind])
        seen[kind].append(free_at - at)
    return statistics.fmean(seen[0]), statistics.fmean(seen[1])


def test_segments_that_share_a_slot_take_turns_as_simulated() -> None:
    flow = Flow([free("short", cpu=0.001), free("long", cpu=0.02)])
    settings, workload = {"short": Setting(1), "long": Setting(1)}, {"short": 300.0, "long": 20.0}
    alone = predict(flow, settings, workload)
    found = predict(flow, settings, workload, shared=[("short", "long")])
    short, long = simulated_turns((300.0, 20.0), (0.001, 0.02), 2000)

    means = {way.path[0]: way.moments.mean for way in (*found.ways,)}
    assert means["long"] == pytest.approx(long, rel=0.1)
    assert found.segments["long"][Phase.QUEUE].mean + 0.001 == pytest.approx(short, rel=0.1)
    assert found.mean > alone.mean


def test_too_much_for_one_slot_is_not_too_much_for_two() -> None:
    flow = Flow([free("a", cpu=0.01), free("b", cpu=0.01)])
    settings, workload = {"a": Setting(1), "b": Setting(1)}, {"a": 60.0, "b": 50.0}

    assert math.isfinite(predict(flow, settings, workload).mean)
    assert predict(flow, settings, workload, shared=[("a", "b")]).mean == math.inf


def test_a_source_brings_no_load_to_the_network_of_the_slot_that_it_shares() -> None:
    flow = Flow([free("read", record_size=100.0), free("count", "read")])
    settings, slot = {"read": Setting(1, 10), "count": Setting(1)}, Slot(network=1e6)

    assert math.isfinite(predict(flow, settings, {"read": 700.0}, slot=slot, shared=[("read", "count")]).mean)


def test_records_of_a_topic_come_one_by_one_and_wait_for_no_frame() -> None:
    topic = dataclasses.replace(free("topic"), outputs=(Output("topic", framed=False),))
    flow = Flow([topic, free("count", "topic", cpu=0.005, fetch=0.004)])
    settings: Settings = {"topic": Setting(1, 1000), "count": Setting(1)}
    found = predict(flow, settings, {"topic": 100.0})

    assert found.phases[Phase.WAIT].mean == 0
    assert found.phases[Phase.CPU].mean == pytest.approx(0.005)  # and no fetch
    assert found.phases[Phase.QUEUE].mean == pytest.approx(0.005)  # M/M/1 at a half


def test_a_window_waits_for_the_slowest_of_its_senders_and_for_its_turn() -> None:
    flow = Flow([free("read", cpu=0.001), free("count", "read", cpu=0.001), free("show", "count")])
    settings = {"read": Setting(4, 1), "count": Setting(2, 1), "show": Setting(1)}

    def of(window: Window | None, **other: Any) -> Prediction:
        return predict(flow, settings, {"read": 400.0}, windows={"count": window} if window else {}, **other)

    records, two, four = of(None), of(Window(1, senders=2)), of(Window(1))
    deviation = math.sqrt(records.variance)
    assert two.mean == pytest.approx(records.mean + deviation / math.sqrt(math.pi))
    assert two.variance == pytest.approx(records.variance * (1 - 1 / math.pi))
    assert two.mean < four.mean < of(Window(1, senders=5)).mean  # by default all 4 slots of its producer
    assert of(Window(10, 0.002)).mean == pytest.approx(four.mean + 0.02 * 1.1 / 2)
    assert four.phases.moments.variance == pytest.approx(four.variance)
    assert four.segments["count"][Phase.WINDOW].mean > 0


def test_the_worst_way_is_named() -> None:
    flow = Flow([free("a"), free("fast", "a", cpu=0.001), free("slow", "a", cpu=0.01), free("z", "fast", "slow")])
    settings = {name: Setting(1, 1) for name in ("a", "fast", "slow", "z")}

    assert predict(flow, settings, {"a": 10.0}).path == ("a", "slow", "z")


def test_the_worst_way_for_a_quantile_may_not_be_the_one_for_the_mean() -> None:
    flow = Flow([free("steady", cpu=0.02), free("varied", cpu=0.01)])
    settings = {"steady": Setting(1), "varied": Setting(1)}
    workload = {"steady": 0.001, "varied": 0.001}
    variability = {"steady": Variability(service=0.0), "varied": Variability(service=9.0)}

    tail = predict(flow, settings, workload, variability=variability)
    middle = predict(flow, settings, workload, variability=variability, observed=True, at=0.5)
    assert (tail.path, middle.path) == (("varied",), ("steady",))
    assert tail.p99 == max(way.moments.quantile(0.99, observed=False) for way in (*tail.ways, *middle.ways))
    assert tail.p99 == predict(flow, settings, workload, variability=variability, at=0.5).p99


def test_an_output_that_nobody_reads_is_an_end_even_when_another_is_read() -> None:
    flow = Flow([free("a", cpu=0.01)])

    assert predict(flow, {"a": Setting(1)}, {"a": 0.0}).mean == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"deadlines": {"reed": 1.0}}, "deadlines are given for reed"),
        ({"paradigms": {"reed": BATCH}}, "paradigms are given for reed"),
        ({"windows": {"reed": Window(1)}}, "windows are given for reed"),
        ({"deadlines": {"read": -1.0}}, "0 seconds or more"),
        ({"deadlines": {"read": math.nan}}, "0 seconds or more"),
        ({"paradigms": {"read": Paradigm.AUTO}}, "decide it"),
        ({"paradigms": {"read": BATCH}}, "pass it in `engines`"),
        ({"partitions": {"read": 0}}, "0 partitions for 1 slots"),
        ({"cores": 0}, "at least 1"),
        ({"shared": [("reed",)]}, "share a slot are given for reed"),
        ({"shared": [("read", "count"), ("read",)]}, "can't share a slot"),
        ({"at": 0.3}, "from the median"),
        ({"at": 1.0}, "from the median"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        predict(PIPE, ONE_EACH, {"read": 1.0}, **given)


@pytest.mark.parametrize("workload", [{}, {"read": -1.0}, {"read": math.nan}, {"read": 1.0, "other": 1.0}])
def test_a_workload_that_makes_no_sense_is_refused(workload: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="rate"):
        predict(PIPE, ONE_EACH, workload)


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="needs 1 group"):
        Window(0)
    with pytest.raises(ValueError, match="needs 1 or more"):
        Window(1, senders=0)


def test_without_a_key_a_frame_fills_from_all_records_of_a_partition() -> None:
    # 4 partitions of the producer at 40/s each; by key each of them goes to 8, with 5/s.
    def waits(*, keyed: bool) -> float:
        reader = dataclasses.replace(free("count", "read", cpu=0.001), keyed=keyed)
        settings = {"read": Setting(4, 5), "count": Setting(4)}
        found = predict(
            Flow([free("read", cpu=0.001), reader]), settings, {"read": 160.0},
            deadlines={"read": 10.0}, partitions={"read": 4, "count": 8},
        )  # fmt: skip
        return found.phases[Phase.WAIT].mean

    assert waits(keyed=False) == pytest.approx(2 / 40, rel=0.01)
    assert waits(keyed=True) == pytest.approx(2 / 5, rel=0.01)


@pytest.mark.parametrize(("load", "within"), [(0.3, 0.1), (0.6, 0.16), (0.8, 0.15)])
def test_what_leaves_a_slot_in_step_waits_less_for_the_next(load: float, within: float) -> None:
    """Two slots in a row, without a key between them, that take as long for each record."""
    chance, took = random.Random(5), 0.01
    arrival = first = second = 0.0
    latencies = []
    for _ in range(100_000):
        arrival += chance.expovariate(load / took)
        first = max(first, arrival) + took
        second = max(second, first) + took
        latencies.append(second - arrival)
    nodes = [free("read", cpu=took), dataclasses.replace(free("tail", "read", cpu=took), keyed=False)]
    fixed = dict.fromkeys(("read", "tail"), Variability(service=0.0))
    settings = {"read": Setting(1, 1), "tail": Setting(1)}
    found = predict(Flow(nodes), settings, {"read": load / took}, variability=fixed)
    random_ = predict(
        Flow([nodes[0], free("tail", "read", cpu=took)]), settings, {"read": load / took}, variability=fixed
    )

    # It does not wait at all: each comes when the one before it has gone. The model comes near, and from above.
    truth = statistics.fmean(latencies)
    assert truth <= found.mean <= (1 + within) * truth
    assert random_.mean > found.mean
