"""Which operators switch together: the paper's example, and what a graph adds to its chain."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from spillway.controllers.switching import ranges
from spillway.controllers.switching.measurements import Costs, Measurement, Node, Observation
from spillway.model.operators import Paradigm


def graph(*nodes: Node) -> Observation:
    return Observation(nodes, {})


def chain(*selectivities: float | None) -> Observation:
    nodes = [
        Node(str(i), (str(i - 1),) if i > 1 else ("s",), None, selectivity=s) for i, s in enumerate(selectivities, 1)
    ]
    return graph(*nodes)


def test_the_example_of_figure_7_gives_operators_2_3_and_4() -> None:
    assert ranges.switch_range(chain(8, 0.625, 1, 0.1, 1), "2") == ("2", "3", "4")


CHAINS = {
    "the whole rest, when the volume never falls": (chain(2, 1, 1, 1), "2", ("2", "3", "4")),
    "the point alone, when it takes away what its input added": (chain(2, 0.4, 1), "2", ("2",)),
    "a volume of exactly 1 goes on": (chain(2, 0.5, 0.9, 1), "2", ("2", "3")),
    "in front of the point a stream multiplies nothing": (chain(1, 1, 0.5, 1), "1", ("1", "2", "3")),
    "an operator of unknown selectivity is the last": (chain(8, 1, None, 1), "2", ("2", "3")),
    "what isn't a number is unknown": (chain(8, 1, float("nan"), 1), "2", ("2", "3")),
    "an operator that drops everything is the last": (chain(8, 0, 1), "2", ("2",)),
}


@pytest.mark.parametrize(("observation", "point", "expected"), CHAINS.values(), ids=CHAINS)
def test_on_a_chain_it_ends_with_the_first_operator_whose_product_is_less_than_one(
    observation: Observation, point: str, expected: tuple[str, ...]
) -> None:
    assert ranges.switch_range(observation, point) == expected


def test_each_branch_ends_by_itself() -> None:
    observation = graph(
        Node("p", ("s",), selectivity=3),
        Node("small", ("p",), selectivity=0.1),
        Node("after-small", ("small",), selectivity=1),
        Node("large", ("p",), selectivity=1),
        Node("after-large", ("large",), selectivity=1),
    )
    assert ranges.switch_range(observation, "p") == ("p", "small", "large", "after-large")


def test_where_small_branches_meet_they_add_up() -> None:
    branches = (
        Node("p", ("s",), selectivity=1),
        Node("a", ("p",), selectivity=0.6),
        Node("b", ("p",), selectivity=0.6),
    )
    both = graph(*branches, Node("union", ("a", "b"), selectivity=1))
    one = graph(*branches, Node("union", ("a",), selectivity=1))

    assert ranges.switch_range(both, "p") == ("p", "a", "b", "union")
    assert ranges.switch_range(one, "p") == ("p", "a", "b")


def test_it_goes_around_what_may_not_run_in_batches_and_not_beyond_it() -> None:
    observation = graph(
        Node("p", ("s",), selectivity=2),
        Node("merge", ("p",), batchable=False, selectivity=1),
        Node("after", ("merge",), selectivity=1),
        Node("pinned", ("p",), pinned=Paradigm.RECORD, selectivity=1),
        Node("free", ("p",), selectivity=1),
    )
    assert ranges.switch_range(observation, "p") == ("p", "free")


def test_it_starts_at_the_head_of_the_segment_because_the_queue_stands_there() -> None:
    observation = graph(
        Node("other", ("s",), "other", selectivity=1),
        Node("head", ("other",), "head", selectivity=8),
        Node("aside", ("head",), "head", selectivity=0.1),
        Node("point", ("head",), "head", selectivity=0.01),
        Node("after", ("point",), "after", selectivity=1),
    )
    assert ranges.switch_range(observation, "point") == ("head", "point")


def test_there_is_none_when_the_point_or_its_head_may_not_run_in_batches() -> None:
    observation = graph(Node("head", ("s",), "head", batchable=False), Node("point", ("head",), "head", selectivity=1))
    assert ranges.switch_range(observation, "head") == ()
    assert ranges.switch_range(observation, "point") == ()


def test_ranges_that_run_are_found_again_from_what_is_observed() -> None:
    batch = Paradigm.BATCH
    observation = graph(
        Node("a", ("s",), paradigm=batch),
        Node("b", ("a",), paradigm=batch),
        Node("c", ("b",)),
        Node("d", ("c",), paradigm=batch),
        Node("e", ("s",), paradigm=batch),
        Node("f", ("e", "b"), paradigm=batch),
        Node("g", ("d",), paradigm=batch, pinned=batch),
    )
    assert ranges.running(observation) == (("a", "b", "e", "f"), ("d",))


def measured(rate: float, **capacities: float) -> Observation:
    """The chain of figure 7 with what its operators can do, and so much that comes to the second."""
    nodes = chain(8, 0.625, 1, 0.1, 1).nodes
    costs = Costs(datetime.timedelta(seconds=0.1), datetime.timedelta(seconds=0.03))
    now, span = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=1)
    known = {"o2": 100.0, **capacities}
    return Observation(nodes, {o[1:]: Measurement(now, span, rate, 0.0, can, costs) for o, can in known.items()})


KNOWN = {
    "who can do what comes stays, and so does all behind it": (measured(1000, o3=800, o4=5000), ("2",)),
    "who has less to spare than a tenth goes along": (measured(1000, o3=640, o4=5000), ("2", "3")),
    "of whom nothing is known goes along": (measured(1000, o4=600), ("2", "3", "4")),
    "who can do much of a small burst stays": (measured(120, o3=100), ("2",)),
}


@pytest.mark.parametrize(("observation", "expected"), KNOWN.values(), ids=KNOWN)
def test_an_operator_that_has_time_for_the_burst_is_not_taken_along(
    observation: Observation, expected: tuple[str, ...]
) -> None:
    """What comes to the third is 0.625 of what comes to the second."""
    assert ranges.switch_range(observation, "2") == expected


def test_within_a_segment_nobody_stays_because_of_time_to_spare() -> None:
    """Its queue is that of the segment, so what was measured is not of it alone."""
    seen = measured(1000, o3=5000)
    nodes = tuple(dataclasses.replace(node, head="2") if node.name == "3" else node for node in seen.nodes)
    assert ranges.switch_range(Observation(nodes, seen.measured), "2") == ("2", "3", "4")
