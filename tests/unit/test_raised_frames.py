"""Lines 21 to 25 of Algorithm 3: whose frames grow when those that come in are too small."""

from __future__ import annotations

import pytest

import flows
from spillway.controllers.costmodel import bottlenecks, resources
from spillway.controllers.costmodel.flow import Flow, Slot


def _frames(flow: Flow, workload: dict[str, float]) -> dict[str, int | None]:
    settings = resources.minimise(flow, workload).settings
    assert {setting.parallelism for setting in settings.values()} == {1}
    return {name: setting.frame for name, setting in settings.items()}


# A source that gets one record a second, and spends n seconds on a frame, has frames of n records.
MIXTURES = {
    "3 and 6 are 4 together, which is enough": (1.9, {"p": 6, "q": 3}),
    "4 are not enough, so the smaller becomes 5": (2.4, {"p": 6, "q": 5}),
    "7 are needed, so both become 7": (3.4, {"p": 7, "q": 7}),
}


@pytest.mark.parametrize(("fetch", "frames"), MIXTURES.values(), ids=MIXTURES)
def test_the_smallest_frames_grow_until_it_is_enough(fetch: float, frames: dict[str, int]) -> None:
    # v gets 2 a second and has half a second for each, so it needs frames of floor(2·c_fetch) + 1.
    flow = Flow([flows.free("p", emit=6.0), flows.free("q", emit=3.0), flows.free("v", "p", "q", fetch=fetch)])

    assert _frames(flow, {"p": 1.0, "q": 1.0}) == frames | {"v": None}


def test_who_sends_nothing_keeps_small_frames() -> None:
    flow = Flow([flows.free("idle"), flows.free("q", emit=3.0), flows.free("v", "idle", "q", fetch=3.4)])

    assert _frames(flow, {"idle": 0.0, "q": 1.0}) == {"idle": 1, "q": 4, "v": None}


@pytest.mark.parametrize("inputs", [("a", "b", "c"), ("c", "b", "a")])
def test_of_equal_frames_those_of_the_first_name_grow(inputs: tuple[str, ...]) -> None:
    # floor(3·1.4) + 1 = 5 are needed; 3, 3 and 100 are 4.4 together, and 5, 3 and 100 are 5.5.
    producers = [flows.free("a", emit=3.0), flows.free("b", emit=3.0), flows.free("c", emit=100.0)]
    flow = Flow([*producers, flows.free("v", *inputs, fetch=1.4)])

    assert _frames(flow, dict.fromkeys("abc", 1.0)) == {"a": 5, "b": 3, "c": 100, "v": None}


def test_both_edges_of_a_self_join_have_the_frames_of_their_producer() -> None:
    flow = Flow([flows.free("p"), flows.free("join", "p", "p", fetch=1.4)])

    assert _frames(flow, {"p": 1.0}) == {"p": 3, "join": None}  # floor(2·1.4) + 1


@pytest.mark.parametrize(
    ("slot", "capacity"),
    [(Slot(), 0.2), (Slot(network=8.0), 0.1)],
    ids=["as if the smallest frames came", "as if the largest records came"],
)
def test_an_idle_node_can_do_as_much_as_in_the_worst_case(slot: Slot, capacity: float) -> None:
    producers = [flows.free("p", emit=1.0, record_size=10), flows.free("q", record_size=1)]
    flow = Flow([*producers, flows.free("v", "p", "q", fetch=10.0)])
    settings = flows.of({"p": (1, 2), "q": (1, 4), "v": (1, None)})
    (load,) = (load for load in bottlenecks.detect(flow, settings, {"p": 0.0, "q": 0.0}, slot) if load.name == "v")

    assert load.capacity == capacity
    assert not load.bottleneck
